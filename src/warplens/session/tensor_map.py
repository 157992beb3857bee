"""Tensor maps: how a tensor lies in global memory and which box the TMA unit copies."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import ArgumentError
from warplens.lift import layout as at
from warplens.session.arrays import DeviceArray

_PITCHES = {"32B": 32, "64B": 64, "128B": 128}
_OF_DTYPE = {"u1": "u8", "i1": "u8", "u2": "u16", "i2": "u16", "u4": "u32", "i4": "s32",
             "u8": "u64", "i8": "s64", "f2": "f16", "f4": "f32", "f8": "f64"}  # fmt: skip


class TensorMap:
    """A tensor map (CUtensorMap) for a kernel's `const __grid_constant__` parameter of 128 bytes.

    The tensor is an array in C order; axes are given in the array's order, the last one being the
    innermost (dimension 0 of CUDA's coordinates).

    Args:
        array: a NumPy array, or an array on the device.
        box: elements that a copy takes along every axis.
        swizzle: "32B", "64B", "128B", or None.
        fill: "zero" or "nan", what loads get outside the tensor.
        steps: take every n-th element along an axis; the innermost one's must be 1.
        dtype: the element type where NumPy has none: "bf16".

    >>> TensorMap(np.zeros((64, 128), np.float16), box=(8, 64), swizzle="128B").box
    (8, 64)
    """

    def __init__(
        self,
        array: npt.NDArray[Any] | DeviceArray,
        box: Sequence[int],
        *,
        swizzle: str | None = None,
        fill: str = "zero",
        steps: Sequence[int] | None = None,
        dtype: str | None = None,
    ) -> None:
        self.array = array
        self.box = tuple(int(n) for n in box)
        self.swizzle, self.fill = swizzle, fill
        self.steps = tuple(int(n) for n in steps) if steps is not None else (1,) * len(self.box)
        self.dtype = _element_type(array, dtype)
        self._check()

    def _check(self) -> None:
        array, element = self.array, self.array.dtype.itemsize
        if isinstance(array, np.ndarray) and not array.flags.c_contiguous:
            raise ArgumentError("a tensor map needs an array in C order")
        rank = array.ndim
        if not 1 <= rank <= 5 or len(self.box) != rank or len(self.steps) != rank:
            raise ArgumentError(
                f"box {self.box} and steps {self.steps} need one number for each of 1 to 5 axes; "
                f"the array has {rank}"
            )
        if not array.size or any(not 1 <= n <= 256 for n in self.box):
            raise ArgumentError(f"box {self.box}: 1 to 256 elements along every axis of an array")
        if any(not 1 <= n <= 8 for n in self.steps) or self.steps[-1] != 1:
            raise ArgumentError(f"steps {self.steps}: 1 to 8, and 1 along the innermost axis")
        inner = self.box[-1] * element
        if inner % 16:
            raise ArgumentError(f"the box's innermost axis has {inner} bytes, no multiple of 16")
        if self.swizzle is not None and inner > _PITCHES.get(self.swizzle, 0):
            known = ", ".join(_PITCHES)
            raise ArgumentError(
                f"swizzle {self.swizzle!r} with {inner} bytes along the box's innermost axis",
                hint=f"Swizzles are {known}; the axis may have as many bytes.",
            )
        if any(n % 16 for n in array.strides[:-1]):
            raise ArgumentError(f"strides {array.strides}: must be multiples of 16 bytes")
        if self.fill not in ("zero", "nan") or (self.fill == "nan" and "f" not in self.dtype):
            raise ArgumentError(f"fill {self.fill!r}: \"zero\", or for floats \"nan\"")

    def over(self, array: npt.NDArray[Any]) -> TensorMap:
        """The same map of another array of this shape and type."""
        return TensorMap(
            array, self.box, swizzle=self.swizzle, fill=self.fill, steps=self.steps,
            dtype="bf16" if self.dtype == "bf16" else None,
        )  # fmt: skip

    def packed(self, address: int) -> bytes:
        """The 128 bytes for a tensor at a device address."""
        if address % 16:
            raise ArgumentError(f"the tensor's address {address:#x} is no multiple of 16")
        return map_bytes(
            kind=self.dtype, element=self.array.dtype.itemsize, address=address,
            sizes=self.array.shape[::-1], strides=self.array.strides[:-1][::-1],
            box=self.box[::-1], steps=self.steps[::-1],
            pitch=_PITCHES.get(self.swizzle or "", 0), fills_nan=self.fill == "nan",
        )  # fmt: skip


def map_bytes(
    *, kind: str, element: int, address: int, sizes: Sequence[int], strides: Sequence[int],
    box: Sequence[int], steps: Sequence[int], pitch: int, fills_nan: bool, mode: int = at.MAP_TILE,
    slices: int = 0,
) -> bytes:  # fmt: skip
    """The 128 bytes of a map; dimensions are in CUDA's order, the innermost first.

    The box of im2col holds channels, pixels and, for W, H and D, the corners' words.

    Args:
        kind, element: element type, out of `layout.MAP_TYPES`, and its bytes.
        strides: bytes along dimensions 1 and up; pitch: what the swizzle spans in bytes, or 0.
        slices: bytes of a pixel in a slice of interleaved channels, 16 or 32; 0: they are not.
    """
    if mode == at.MAP_TILE:
        return _tile_bytes(
            kind, address, sizes, strides, box, steps, pitch=pitch, fills_nan=fills_nan,
            slices=slices,
        )  # fmt: skip
    words = np.zeros(at.MAP_BYTES // 4, np.uint32)
    words[[at.MAP_MARK, at.MAP_RANK, at.MAP_TYPE, at.MAP_ELEMENT, at.MAP_PITCH, at.MAP_MODE]] = (
        at.MAP_MAGIC, len(sizes), at.MAP_TYPES.index(kind), slices or element, pitch, mode,
    )  # fmt: skip
    words[at.MAP_SWIZZLE] = max(pitch // 16 - 1, 0)
    words[at.MAP_FILL] = at.MAP_NAN if fills_nan else 0
    if slices:  # of which there are no steps: that of the pixels stands there
        steps = (*steps[:-2], steps[0], steps[-1])
    for word, values, form in (
        (at.MAP_ADDRESS, (address,), "Q"), (at.MAP_STRIDES, strides, "Q"),
        (at.MAP_SIZES, sizes, "I"), (at.MAP_BOX, box, "I"), (at.MAP_STEPS, steps[1:], "I"),
    ):  # fmt: skip
        data = np.frombuffer(struct.pack(f"<{len(values)}{form}", *values), np.uint32)
        words[word : word + len(data)] = data
    return words.tobytes()


def _tile_bytes(
    kind: str, address: int, sizes: Sequence[int], strides: Sequence[int], box: Sequence[int],
    steps: Sequence[int], *, pitch: int, fills_nan: bool, slices: int,
) -> bytes:  # fmt: skip
    """A map of tiles as the TMA unit reads it, with a mark where nothing was seen to stand."""
    words = np.zeros(at.MAP_BYTES // 4, np.uint32)
    is_tf32 = kind.startswith("tf32")
    number = at.TMA_TYPES.index(kind.removeprefix("t") if is_tf32 else kind)
    words[at.TMA_FLAGS] = (
        len(sizes) - 1 << at.TMA_RANK[0] | number << at.TMA_TYPE[0]
        | {0: 0, 32: 1, 64: 2, 128: 3}[pitch] << at.TMA_SWIZZLE[0]
        | slices // 16 << at.TMA_INTERLEAVE[0]
        | fills_nan << at.TMA_NAN[0] | is_tf32 << at.TMA_TF32[0]
    )  # fmt: skip
    words[at.TMA_ADDRESS : at.TMA_ADDRESS + 2] = address & 0xFFFFFFFF, address >> 32
    words[at.TMA_STEPS] = box[0] - 1 << 24
    for i, (size, step) in enumerate(zip(sizes, steps, strict=True)):
        words[at.TMA_SIZES + i] = size - 1
        words[at.TMA_STEPS] |= step - 1 << 3 * i
        if i:
            words[at.TMA_BOX] |= box[i] - 1 << 8 * (i - 1)
            words[at.TMA_STRIDES + i - 1] = strides[i - 1] >> 4 & 0xFFFFFFFF
            words[at.TMA_STRIDE_TOPS] |= strides[i - 1] >> 36 << 4 * (i - 1)
    words[at.TMA_MADE] = at.MAP_MAGIC
    return words.tobytes()


def _element_type(array: npt.NDArray[Any] | DeviceArray, dtype: str | None) -> str:
    kind = f"{array.dtype.kind}{array.dtype.itemsize}"
    if dtype is not None:
        if dtype != "bf16" or array.dtype.itemsize != 2:
            raise ArgumentError(f"dtype {dtype!r} of an array of {array.dtype}: only \"bf16\"")
        return dtype
    if kind not in _OF_DTYPE:
        raise ArgumentError(f"a tensor map of {array.dtype}: not an element type of the TMA unit")
    return _OF_DTYPE[kind]
