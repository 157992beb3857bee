"""What Triton's kernels are given: tensors in the host's memory, scalars, tensor descriptors."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.driver.cells import host_view
from warplens.driver.launching import Shape
from warplens.driver.machine import Driver
from warplens.driver.tensor_maps import encoded
from warplens.errors import ArgumentError, Unsupported
from warplens.execute.memory import DeviceMemory
from warplens.frontends.torch_memory import LASTING, host_pointer, place

DESCRIPTOR = "nvTmaDesc"
# Triton's numbers of element types that differ from CUtensorMapDataType's.
_ELEMENT_TYPES = {8: 10, 9: 8, 10: 9}
_FLOATS = {"fp16": "e", "fp32": "f", "f32": "f", "fp64": "d"}
_INTEGER_BYTES = {"1": 1, "8": 1, "16": 2, "32": 4, "64": 8}


class HostArray:
    """A NumPy array as a kernel's argument, in place: what Triton asks of a tensor."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        if not array.flags.c_contiguous:
            raise ArgumentError("a Triton kernel's array is not contiguous")
        self.array = array
        self.dtype = array.dtype
        self.shape = array.shape

    def data_ptr(self) -> int:
        """Where the elements are."""
        return int(self.array.ctypes.data)

    def stride(self, axis: int) -> int:
        """The step along an axis, in elements."""
        return self.array.strides[axis] // self.array.itemsize

    def storage(self) -> tuple[int, int]:
        """First address and bytes."""
        return self.data_ptr(), self.array.nbytes


def array(source: npt.NDArray[Any]) -> HostArray:
    """A NumPy array for Triton kernels, without PyTorch."""
    return HostArray(source)


@dataclass(frozen=True, slots=True)
class TensorDescriptor:
    """A descriptor that the host made, and how its kernel was compiled to see it."""

    value: Any
    layout: Mapping[str, Any]

    def packed(self, address: int) -> bytes:
        """The tensor map for a tensor at a device address."""
        layout, value = self.layout, self.value
        if layout.get("is_im2col") or value.round_f32_to_tf32:
            raise Unsupported("Triton's tensor descriptors of images (im2col) or rounded to tf32")
        kind = _ELEMENT_TYPES.get(layout["elem_type"], layout["elem_type"])
        sizes = list(value.shape)
        if layout["fp4_padded"]:
            sizes[-1] *= 2
        return encoded(
            kind=kind, address=address, sizes=sizes[::-1],
            strides=[layout["elem_size"] * step for step in value.strides[:-1]][::-1],
            box=list(layout["block_size"])[::-1], steps=[1] * len(sizes), interleave=0,
            swizzle=layout["swizzle"], fill=int(value.padding == "nan"),
        )  # fmt: skip


def storage_of(value: Any) -> tuple[int, int]:
    """First address and bytes of the memory behind a tensor."""
    value = getattr(value, "base", value) if not hasattr(value, "untyped_storage") else value
    if isinstance(value, HostArray):
        return value.storage()
    if hasattr(value, "untyped_storage"):
        found = value.untyped_storage()
        return int(found.data_ptr()), int(found.nbytes())
    raise ArgumentError(
        f"{type(value).__name__} does not say where its memory begins and ends",
        hint="Pass a PyTorch tensor, or warplens.frontends.triton.array(numpy_array).",
    )


def is_reachable(value: Any) -> bool:
    """Whether a GPU reaches a tensor's memory: PyTorch's on "cuda" or pinned, other arrays."""
    value = getattr(value, "base", value) if not hasattr(value, "untyped_storage") else value
    return not hasattr(value, "untyped_storage") or bool(place(value))


@dataclass(slots=True)
class Mapped:
    """Host memory that kernels of one launch see, by its first address.

    `driver` is whose device memory is used as it is, where that is the memory of the launch.
    """

    memory: DeviceMemory
    driver: Driver | None = None
    is_lasting: bool = False  # tensors stay where kernels see them
    known: dict[int, int] = field(default_factory=dict)

    def address(self, value: Any, name: str = "") -> int:
        """The device address of a pointer argument."""
        if value is None or isinstance(value, int):
            return value or 0
        if not is_reachable(value):
            raise ValueError(
                f"Pointer argument {name!r} cannot be accessed from Triton (cpu tensor?)"
            )
        pointer = host_pointer(value)
        if pointer == 0 or (self.driver is not None and self.driver.memory.find(pointer)):
            return pointer
        if self.is_lasting and self.driver is not None and hasattr(value, "untyped_storage"):
            LASTING.address(self.driver, value)
        start, nbytes = storage_of(value)
        if self.driver is not None and start in LASTING.addresses:
            segment = self.memory.find(LASTING.addresses[start])
            if segment is not None and name:
                segment.name = f"tensor {name}"
            return LASTING.addresses[start] + pointer - start
        if start not in self.known:
            self.known[start] = self.memory.map_host(
                host_view(start, nbytes), writable=True, name=f"tensor {name}".rstrip()
            )
        return self.known[start] + pointer - start

    def packed(self, kind: str, value: Any, name: str) -> bytes:
        """An argument's bytes."""
        if kind == DESCRIPTOR:
            return bytes(value.packed(self.address(value.value.base, name)))
        if kind.startswith("*"):
            return struct.pack("<Q", self.address(value, name))
        return scalar(kind, value)

    def release(self) -> None:
        """Takes the memory away from the GPU again."""
        for address in self.known.values():
            self.memory.free(address)


class Scratch:
    """Memory that a kernel needs besides its arguments, for one launch."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory, self._addresses = memory, list[int]()

    def allocate(self, nbytes: int) -> int:
        """So many bytes, or a null pointer for none."""
        if not nbytes:
            return 0
        address = self._memory.allocate(nbytes, name="Triton's scratch memory")
        self._addresses.append(address)
        return address

    def release(self) -> None:
        """Gives it back."""
        for address in self._addresses:
            self._memory.free(address)


def scalar(kind: str, value: Any) -> bytes:
    if kind in _FLOATS:
        return struct.pack("<" + _FLOATS[kind], value)
    if kind == "bf16":
        bits = int(np.float32(value).view(np.uint32))
        return struct.pack("<H", bits + 0x7FFF + (bits >> 16 & 1) >> 16)
    nbytes = _INTEGER_BYTES.get(kind[1:]) if kind[:1] in "iu" else None
    if nbytes is None:
        raise Unsupported(f"a Triton argument of type {kind}")
    return (int(value) & (1 << 8 * nbytes) - 1).to_bytes(nbytes, "little")


def pairs(
    signature: Iterable[Any], values: Sequence[Any], names: Sequence[str] = ()
) -> Iterator[tuple[str, Any, str]]:
    """Types, values and names of the arguments that reach the machine code, tuples taken apart."""
    for index, (kind, value) in enumerate(zip(signature, values, strict=True)):
        name = names[index] if index < len(names) else ""
        if isinstance(kind, tuple):
            yield from pairs(kind, value, [name] * len(kind))
        elif kind != "constexpr":
            yield kind, value, name


class Arguments:
    """The arguments of one compiled kernel, as bytes for a launch."""

    def __init__(self, source: Any, metadata: Any, backend: Any) -> None:
        self._metadata = metadata
        descriptors = getattr(metadata, "tensordesc_meta", None)
        signature = dict(source.signature.items())
        self._signature = tuple(
            backend.expand_signature(signature.values(), descriptors, DESCRIPTOR)
        )
        # Where a descriptor stands for several arguments, places and names no longer agree.
        is_plain = not descriptors and len(signature) == len(self._signature)
        self._names = tuple(map(str, signature)) if is_plain else ()
        self._taken = backend.wrap_handle_tensordesc_impl(
            lambda values: values, signature, descriptors, self._descriptor(backend)
        )

    @staticmethod
    def _descriptor(backend: Any) -> Any:
        def arguments(value: Any, metadata: Any, _: Any) -> Any:
            if metadata is None:
                return backend.decompose_descriptor(value)
            return [TensorDescriptor(value, metadata), *value.shape, *value.strides]

        return arguments

    def packed(
        self, values: Sequence[Any], blocks: int, mapped: Mapped, scratch: Scratch
    ) -> tuple[bytes, ...]:
        """Every parameter's bytes, those of scratch memory for so many blocks included."""
        found = [
            mapped.packed(kind, value, name)
            for kind, value, name in pairs(self._signature, self._taken(values), self._names)
        ]
        metadata = self._metadata
        for nbytes in (metadata.global_scratch_size, metadata.profile_scratch_size):
            found.append(struct.pack("<Q", scratch.allocate(nbytes * blocks)))
        return tuple(found)

    def shape(self, grid: tuple[int, int, int]) -> Shape:
        """Grid, block and cluster of a launch."""
        metadata = self._metadata
        return Shape(
            grid=(grid[0] * metadata.num_ctas, grid[1], grid[2]),
            block=(32 * metadata.num_warps, 1, 1),
            shared=metadata.shared,
            cluster=(metadata.num_ctas, 1, 1) if metadata.num_ctas > 1 else None,
            is_cooperative=metadata.launch_cooperative_grid,
        )
