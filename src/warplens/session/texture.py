"""Texture and surface objects of NumPy arrays, for kernels launched from Python."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from warplens.errors import ArgumentError
from warplens.execute.memory import DeviceMemory
from warplens.execute.textures import objects as tx

_MODES = {"wrap": tx.WRAP, "clamp": tx.CLAMP, "mirror": tx.MIRROR, "border": tx.BORDER}
_FILTERS = {"point": tx.POINT, "linear": tx.LINEAR}
_KINDS = {"u": tx.UNSIGNED, "i": tx.SIGNED, "f": tx.FLOAT}


class _Image:
    """What textures and surfaces share: the array and how its axes count.

    Args:
        array: rows of texels in C order: (width,), (height, width) or (depth, height, width), with
            `layered` one more axis in front, with `channels` above 1 one more at the end.
    """

    use = tx.NOTHING

    def __init__(
        self, array: npt.NDArray[Any], *, channels: int = 1, layered: bool = False
    ) -> None:
        self.array, self.channels, self.layered = array, channels, layered
        self._check()

    def _check(self) -> None:
        array = self.array
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous or not array.size:
            raise ArgumentError("a texture or surface needs a NumPy array in C order")
        sizes = {"f": (2, 4)}.get(array.dtype.kind, (1, 2, 4))
        if array.dtype.kind not in _KINDS or array.dtype.itemsize not in sizes:
            raise ArgumentError(f"texels of {array.dtype}: no integers of 8 to 32 bits or floats")
        if self.channels not in (1, 2, 4):
            raise ArgumentError(f"{self.channels} channels: a texel has 1, 2 or 4")
        if self.channels > 1 and array.shape[-1] != self.channels:
            raise ArgumentError(f"the last axis of {array.shape} must be {self.channels} channels")
        if not 1 <= len(self._sizes) <= (2 if self.layered else 3):
            raise ArgumentError(f"an array of shape {array.shape} is no image")

    @property
    def _sizes(self) -> tuple[int, ...]:
        """Width, height and depth, as many as there are."""
        shape = self.array.shape[: -1 if self.channels > 1 else None]
        return shape[1:][::-1] if self.layered else shape[::-1]

    def _plain(self, address: int, **options: Any) -> tx.TextureObject:
        width, height, depth = (*self._sizes, 1, 1)[:3]
        element = self.array.dtype.itemsize * self.channels
        row = width * element
        return tx.TextureObject(
            use=self.use, rank=len(self._sizes), kind=_KINDS[self.array.dtype.kind],
            levels=(tx.Level(address, width, height, depth, row, row * height),),
            size=self.array.dtype.itemsize, channels=self.channels, is_layered=self.layered,
            layers=self.array.shape[0] if self.layered else 1, **options,
        )  # fmt: skip

    def over(self, array: npt.NDArray[Any]) -> Self:
        """The same of another array of this shape and type."""
        other = copy(self)
        other.array = array
        return other

    def described(self, address: int) -> tx.TextureObject:
        """The object of texels at a device address."""
        return self._plain(address)

    def placed(self, memory: DeviceMemory, address: int) -> int:
        """The number of a new object of texels at a device address."""
        return memory.textures.add(self.described(address))


class Surface(_Image):
    """A surface for a kernel's cudaSurfaceObject_t: reads and writes go to the array in place."""

    use = tx.SURFACE


class Texture(_Image):
    """A texture for a kernel's cudaTextureObject_t.

    Args:
        array, channels, layered: the texels.
        filter: "point" or "linear".
        address: "wrap", "clamp", "mirror" or "border", one for all axes or one each, x first.
        normalized: coordinates run from 0 to 1.
        read: "element", or "normalized_float" for integers of 8 and 16 bits.
        border: the colour beside the image.
        linear_memory: plain memory for tex1Dfetch.

    >>> Texture(np.zeros((4, 8), np.float32), filter="linear").filter
    'linear'
    """

    use = tx.TEXTURE

    def __init__(
        self, array: npt.NDArray[Any], *, channels: int = 1, layered: bool = False,
        filter: str = "point", address: str | Sequence[str] = "clamp", normalized: bool = False,
        read: str = "element", border: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
        linear_memory: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(array, channels=channels, layered=layered)
        named = [address] * 3 if isinstance(address, str) else [*address, "clamp", "clamp"][:3]
        if filter not in _FILTERS or any(mode not in _MODES for mode in named):
            raise ArgumentError(f"filter {filter!r}, address {address!r}: not known")
        if read not in ("element", "normalized_float") or len(border) != 4:
            raise ArgumentError(f"read {read!r} with a border of {len(border)} numbers")
        is_small = array.dtype.kind != "f" and array.dtype.itemsize < 4
        self.filter, self.border, self.linear_memory = filter, tuple(border), linear_memory
        self.normalized, self.promotes = normalized, read != "element" and is_small
        if filter == "linear" and array.dtype.kind != "f" and not self.promotes:
            raise ArgumentError("a linear filter needs floats, or read=\"normalized_float\"")
        modes = [_MODES[mode] for mode in named]
        if not normalized:  # as the chip has it: only a border is possible then
            modes = [mode if mode == tx.BORDER else tx.CLAMP for mode in modes]
        self.modes = (modes[0], modes[1], modes[2])

    def described(self, address: int) -> tx.TextureObject:
        """The object of texels at a device address."""
        a, b, c, d = (float(part) for part in self.border)
        return self._plain(
            address, promotes=self.promotes, is_normalised=self.normalized, modes=self.modes,
            filter=_FILTERS[self.filter], border=(a, b, c, d), is_memory=self.linear_memory,
        )  # fmt: skip
