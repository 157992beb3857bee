"""CUDA arrays: memory that programs reach by handles, and kernels through objects."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from warplens.driver.machine import Driver
from warplens.driver.memory import DEVICE
from warplens.driver.status import DriverError, Status
from warplens.execute.textures import objects as tx

LAYERED, SURFACE, CUBE, GATHER = 1, 2, 4, 8
FORMATS = {1: (tx.UNSIGNED, 1), 2: (tx.UNSIGNED, 2), 3: (tx.UNSIGNED, 4), 8: (tx.SIGNED, 1),
           9: (tx.SIGNED, 2), 10: (tx.SIGNED, 4), 16: (tx.FLOAT, 2), 32: (tx.FLOAT, 4)}  # fmt: skip
_FACES = 6


@dataclass(frozen=True, slots=True)
class Shape:
    """CUDA_ARRAY3D_DESCRIPTOR: sizes are 0 where there is no such dimension."""

    width: int
    height: int
    depth: int
    format: int
    channels: int
    flags: int

    def packed(self) -> bytes:
        """As programs see it."""
        return struct.pack("<QQQiII4x", self.width, self.height, self.depth, self.format,
                           self.channels, self.flags)  # fmt: skip

    @property
    def element(self) -> int:
        """Bytes of a texel."""
        return FORMATS[self.format][1] * self.channels

    @property
    def is_layered(self) -> bool:
        """Whether the third size counts layers; a cube's faces are none."""
        return bool(self.flags & LAYERED)

    @property
    def rank(self) -> int:
        """1, 2 or 3."""
        if self.height == 0:
            return 1
        return 3 if self.depth and not self.flags & (LAYERED | CUBE) else 2

    @property
    def slices(self) -> int:
        """Planes, layers or faces."""
        return max(self.depth, 1)

    @property
    def nbytes(self) -> int:
        """All of it."""
        return self.width * self.element * max(self.height, 1) * self.slices

    def level(self, number: int) -> Shape:
        """The shape of a level of a mipmap."""
        def half(size: int) -> int:
            return max(size >> number, 1) if size else 0

        depth = half(self.depth) if self.rank == 3 else self.depth
        return Shape(half(self.width), half(self.height), depth, self.format, self.channels,
                     self.flags)  # fmt: skip


@dataclass(slots=True, eq=False)
class CudaArray:
    """An array, or a level of a mipmapped one."""

    shape: Shape
    address: int
    device: int
    is_level: bool = False

    @property
    def row(self) -> int:
        """Bytes from one row to the next."""
        return self.shape.width * self.shape.element

    @property
    def slice(self) -> int:
        """Bytes from one plane or layer to the next."""
        return self.row * max(self.shape.height, 1)

    def image(self) -> tx.Level:
        """What the texture unit reads."""
        shape = self.shape
        depth = shape.depth if shape.rank == 3 else 1
        height = max(shape.height, 1)
        return tx.Level(self.address, shape.width, height, depth, self.row, self.slice)


@dataclass(slots=True, eq=False)
class MipmappedArray:
    """Levels in one allocation."""

    address: int
    device: int
    levels: list[CudaArray]
    handles: dict[int, int] = field(default_factory=dict)


def checked_shape(data: bytes) -> Shape:
    """A descriptor that can be made.

    Raises:
        DriverError: sizes or formats that do not fit, or are not served.
    """
    shape = Shape(*struct.unpack("<QQQiII", data[:36]))
    if shape.format not in FORMATS or shape.flags & ~(LAYERED | SURFACE | CUBE | GATHER):
        what = f"arrays of format {shape.format} with flags {shape.flags:#x}"
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, what)
    faces = shape.depth % _FACES if shape.flags & CUBE else 0
    is_cube = shape.flags & CUBE and shape.width == shape.height
    wrong_cube = bool(shape.flags & CUBE) and not (is_cube and shape.depth and not faces)
    no_layers = shape.is_layered and not shape.depth
    flat = shape.depth and not shape.height and not shape.is_layered
    if not shape.width or shape.channels not in (1, 2, 4) or wrong_cube or no_layers or flat:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"an array of {shape}")
    return shape


def _place(driver: Driver, nbytes: int) -> tuple[int, int]:
    context = driver.context()
    gpu = context.gpu
    if gpu.used_bytes + nbytes > gpu.spec.dram_size_bytes:
        raise DriverError(Status.CUDA_ERROR_OUT_OF_MEMORY, f"an array of {nbytes} bytes")
    address = driver.memory.allocate(
        nbytes, kind=DEVICE, device=gpu.index, context=context.number
    )
    gpu.used_bytes += nbytes
    return address, gpu.index


def made(driver: Driver, shape: Shape) -> int:
    """The handle of a new array."""
    address, device = _place(driver, shape.nbytes)
    return driver.handle(CudaArray(shape, address, device))


def made_mipmap(driver: Driver, shape: Shape, count: int) -> int:
    """The handle of a new mipmapped array; too many levels become as many as there can be."""
    most = max(shape.width, shape.height, shape.depth if shape.rank == 3 else 0).bit_length()
    shapes = [shape.level(k) for k in range(min(max(count, 1), most))]
    starts = [sum(s.nbytes + 255 & ~255 for s in shapes[:k]) for k in range(len(shapes) + 1)]
    address, device = _place(driver, starts[-1])
    levels = [
        CudaArray(one, address + start, device, is_level=True)
        for one, start in zip(shapes, starts, strict=False)
    ]
    return driver.handle(MipmappedArray(address, device, levels))


def ended(driver: Driver, address: int) -> None:
    """Gives an array's memory back."""
    freed = driver.memory.free(address, DEVICE)
    driver.gpus[freed.device].used_bytes -= freed.nbytes
