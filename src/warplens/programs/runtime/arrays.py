"""CUDA arrays of the runtime: made, described, and copied in rows and slices."""

from __future__ import annotations

import struct

from warplens.driver import arrays as driver_arrays
from warplens.driver.arrays import FORMATS, CudaArray, Shape, checked_shape
from warplens.driver.cells import get_bytes, put_bytes, put_u32, put_u64
from warplens.driver.entries import arrays as driver_entries
from warplens.driver.status import DriverError, Status
from warplens.execute.textures import objects as tx
from warplens.programs.program import Program
from warplens.programs.runtime.copies import copy_rows_between
from warplens.programs.runtime.table import I32, U32, U64, Extent, Pointer, entry

CHANNELS = "<5i"  # cudaChannelFormatDesc: bits of x, y, z and w, and the kind
_ON_DEVICE = 3
_KINDS = (tx.SIGNED, tx.UNSIGNED, tx.FLOAT)


def format_of(data: bytes) -> tuple[int, int]:
    """The driver's format and the number of channels of a cudaChannelFormatDesc."""
    *bits, kind = struct.unpack(CHANNELS, data)
    count = sum(size > 0 for size in bits)
    wanted = (_KINDS[kind], bits[0] // 8) if 0 <= kind < len(_KINDS) else None
    found = next((number for number, form in FORMATS.items() if form == wanted), None)
    if found is None or count not in (1, 2, 4) or set(bits[:count]) != {bits[0]}:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"channels of {bits} bits, kind {kind}")
    return found, count


def channels_of(shape: Shape) -> bytes:
    """A cudaChannelFormatDesc."""
    kind, size = FORMATS[shape.format]
    bits = [8 * size if k < shape.channels else 0 for k in range(4)]
    return struct.pack(CHANNELS, *bits, _KINDS.index(kind))


def _shape(description: int, extent: tuple[int, int, int], flags: int) -> Shape:
    kind, channels = format_of(get_bytes(description, 20))
    return checked_shape(Shape(*extent, kind, channels, flags).packed())


@entry("cudaMallocArray")
def malloc_array(
    program: Program, handle: Pointer, description: Pointer, width: U64, height: U64, flags: U32
) -> None:
    """An array of one or two dimensions."""
    program.context()
    shape = _shape(description, (width, height, 0), flags)
    put_u64(handle, driver_arrays.made(program.driver, shape))


@entry("cudaMalloc3DArray")
def malloc_3d_array(
    program: Program, handle: Pointer, description: Pointer, width: Extent, height: int,
    depth: int, flags: U32,
) -> None:  # fmt: skip
    """An array of up to three dimensions, layers or faces."""
    program.context()
    shape = _shape(description, (width, height, depth), flags)
    put_u64(handle, driver_arrays.made(program.driver, shape))


@entry("cudaMallocMipmappedArray")
def malloc_mipmap(
    program: Program, handle: Pointer, description: Pointer, width: Extent, height: int,
    depth: int, levels: U32, flags: U32,
) -> None:  # fmt: skip
    """An array with smaller versions of itself."""
    program.context()
    shape = _shape(description, (width, height, depth), flags)
    put_u64(handle, driver_arrays.made_mipmap(program.driver, shape, levels))


@entry("cudaGetMipmappedArrayLevel", kind="plain")
def mipmap_level(program: Program, handle: Pointer, mipmap: Pointer, level: U32) -> None:
    """A level as an array."""
    driver_entries.get_level(program.driver, handle, mipmap, level)


@entry("cudaFreeArray")
def free_array(program: Program, handle: Pointer) -> None:
    """Ends an array; none for a null handle."""
    program.context()
    if handle:
        driver_entries.destroy(program.driver, handle)


@entry("cudaFreeMipmappedArray")
def free_mipmap(program: Program, handle: Pointer) -> None:
    """Ends a mipmapped array."""
    program.context()
    if handle:
        driver_entries.destroy_mipmap(program.driver, handle)


@entry("cudaArrayGetInfo", kind="plain")
def array_info(
    program: Program, description: Pointer, extent: Pointer, flags: Pointer, handle: Pointer
) -> None:
    """What an array is."""
    shape = program.driver.thing(handle, CudaArray).shape
    if description:
        put_bytes(description, channels_of(shape))
    if extent:
        put_bytes(extent, struct.pack("<3Q", shape.width, shape.height, shape.depth))
    if flags:
        put_u32(flags, shape.flags)


@entry("cudaGetChannelDesc", kind="plain")
def channel_description(program: Program, description: Pointer, handle: Pointer) -> None:
    """What an array's elements are."""
    put_bytes(description, channels_of(program.driver.thing(handle, CudaArray).shape))


# --- copies --------------------------------------------------------------------------------------


def _inside(program: Program, handle: int, x: int, y: int, width: int, height: int
            ) -> tuple[int, int]:  # fmt: skip
    """The address of a part of an array, and the bytes between its rows."""
    found = program.driver.thing(handle, CudaArray)
    if x + width > found.row or y + height > max(found.shape.height, 1):
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "a copy beyond an array's end")
    return found.address + y * found.row + x, found.row


def _to(program: Program, array: int, x: int, y: int, source: int, pitch: int, width: int,
        height: int, kind: int, stream: int) -> None:  # fmt: skip
    place, row = _inside(program, array, x, y, width, height)
    copy_rows_between(program, (place, source), (row, pitch), width, height, kind, stream)


def _from(program: Program, target: int, pitch: int, array: int, x: int, y: int, width: int,
          height: int, kind: int, stream: int) -> None:  # fmt: skip
    place, row = _inside(program, array, x, y, width, height)
    copy_rows_between(program, (target, place), (pitch, row), width, height, kind, stream)


@entry("cudaMemcpy2DToArray")
def to_array(
    program: Program, array: Pointer, x: U64, y: U64, source: Pointer, pitch: U64, width: U64,
    height: U64, kind: I32,
) -> None:  # fmt: skip
    """Rows into an array."""
    _to(program, array, x, y, source, pitch, width, height, kind, 0)


@entry("cudaMemcpy2DToArrayAsync", kind="work")
def to_array_async(
    program: Program, array: Pointer, x: U64, y: U64, source: Pointer, pitch: U64, width: U64,
    height: U64, kind: I32, stream: Pointer,
) -> None:  # fmt: skip
    """Rows into an array, in a stream's order."""
    _to(program, array, x, y, source, pitch, width, height, kind, stream)


@entry("cudaMemcpy2DFromArray")
def from_array(
    program: Program, target: Pointer, pitch: U64, array: Pointer, x: U64, y: U64, width: U64,
    height: U64, kind: I32,
) -> None:  # fmt: skip
    """Rows out of an array."""
    _from(program, target, pitch, array, x, y, width, height, kind, 0)


@entry("cudaMemcpy2DFromArrayAsync", kind="work")
def from_array_async(
    program: Program, target: Pointer, pitch: U64, array: Pointer, x: U64, y: U64, width: U64,
    height: U64, kind: I32, stream: Pointer,
) -> None:  # fmt: skip
    """Rows out of an array, in a stream's order."""
    _from(program, target, pitch, array, x, y, width, height, kind, stream)


@entry("cudaMemcpy2DArrayToArray")
def between_arrays(
    program: Program, target: Pointer, x: U64, y: U64, source: Pointer, sx: U64, sy: U64,
    width: U64, height: U64, kind: I32,
) -> None:  # fmt: skip
    """Rows of an array into another one."""
    place, row = _inside(program, source, sx, sy, width, height)
    _to(program, target, x, y, place, row, width, height, _ON_DEVICE, 0)


def _linear(program: Program, array: int, x: int, y: int, nbytes: int) -> int:
    """The address from which on so many bytes of an array follow each other."""
    found = program.driver.thing(array, CudaArray)
    start = y * found.row + x
    if start + nbytes > found.shape.nbytes:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "a copy beyond an array's end")
    return found.address + start


@entry("cudaMemcpyToArray")
def bytes_to_array(
    program: Program, array: Pointer, x: U64, y: U64, source: Pointer, nbytes: U64, kind: I32
) -> None:
    """Bytes into an array, row after row."""
    place = _linear(program, array, x, y, nbytes)
    copy_rows_between(program, (place, source), (nbytes, nbytes), nbytes, 1, kind, 0)


@entry("cudaMemcpyToArrayAsync", kind="work")
def bytes_to_array_async(
    program: Program, array: Pointer, x: U64, y: U64, source: Pointer, nbytes: U64, kind: I32,
    stream: Pointer,
) -> None:  # fmt: skip
    """Bytes into an array, in a stream's order."""
    place = _linear(program, array, x, y, nbytes)
    copy_rows_between(program, (place, source), (nbytes, nbytes), nbytes, 1, kind, stream)


@entry("cudaMemcpyFromArray")
def bytes_from_array(
    program: Program, target: Pointer, array: Pointer, x: U64, y: U64, nbytes: U64, kind: I32
) -> None:
    """Bytes out of an array, row after row."""
    place = _linear(program, array, x, y, nbytes)
    copy_rows_between(program, (target, place), (nbytes, nbytes), nbytes, 1, kind, 0)


@entry("cudaMemcpyFromArrayAsync", kind="work")
def bytes_from_array_async(
    program: Program, target: Pointer, array: Pointer, x: U64, y: U64, nbytes: U64, kind: I32,
    stream: Pointer,
) -> None:  # fmt: skip
    """Bytes out of an array, in a stream's order."""
    place = _linear(program, array, x, y, nbytes)
    copy_rows_between(program, (target, place), (nbytes, nbytes), nbytes, 1, kind, stream)
