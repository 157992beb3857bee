"""CUDA arrays and mipmapped arrays, and plain copies of their bytes."""

from __future__ import annotations

import struct

from warplens.driver.arrays import (
    CudaArray,
    MipmappedArray,
    Shape,
    checked_shape,
    ended,
    made,
    made_mipmap,
)
from warplens.driver.cells import get_bytes, put_bytes, put_u64
from warplens.driver.entries.copies import copy_bytes
from warplens.driver.entries.table import U32, U64, Pointer, entry
from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status

_BOX_BYTES, _FLAT_BYTES = 36, 24


@entry("cuArrayCreate_v2")
def create(driver: Driver, handle: Pointer, description: Pointer) -> None:
    """An array of one or two dimensions."""
    width, height, kind, channels = struct.unpack("<QQiI", get_bytes(description, _FLAT_BYTES))
    data = Shape(width, height, 0, kind, channels, 0).packed()
    put_u64(handle, made(driver, checked_shape(data)))


@entry("cuArray3DCreate_v2")
def create_3d(driver: Driver, handle: Pointer, description: Pointer) -> None:
    """An array of up to three dimensions, layers or faces."""
    put_u64(handle, made(driver, checked_shape(get_bytes(description, _BOX_BYTES))))


@entry("cuArrayDestroy")
def destroy(driver: Driver, handle: Pointer) -> None:
    """Ends an array."""
    driver.context()
    found = driver.thing(handle, CudaArray)
    if found.is_level:
        raise DriverError(Status.CUDA_ERROR_INVALID_HANDLE, "a level of a mipmapped array")
    driver.forget(handle, CudaArray)
    ended(driver, found.address)


@entry("cuArrayGetDescriptor_v2")
def get_descriptor(driver: Driver, description: Pointer, handle: Pointer) -> None:
    """What an array is."""
    shape = driver.thing(handle, CudaArray).shape
    put_bytes(description, struct.pack("<QQiI", shape.width, shape.height, shape.format,
                                       shape.channels))  # fmt: skip


@entry("cuArray3DGetDescriptor_v2")
def get_descriptor_3d(driver: Driver, description: Pointer, handle: Pointer) -> None:
    """What an array is, layers and flags included."""
    put_bytes(description, driver.thing(handle, CudaArray).shape.packed())


@entry("cuMipmappedArrayCreate")
def create_mipmap(driver: Driver, handle: Pointer, description: Pointer, levels: U32) -> None:
    """An array with smaller versions of itself."""
    shape = checked_shape(get_bytes(description, _BOX_BYTES))
    put_u64(handle, made_mipmap(driver, shape, levels))


@entry("cuMipmappedArrayGetLevel")
def get_level(driver: Driver, handle: Pointer, mipmap: Pointer, level: U32) -> None:
    """A level as an array."""
    found = driver.thing(mipmap, MipmappedArray)
    if level >= len(found.levels):
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"level {level}")
    if level not in found.handles:
        found.handles[level] = driver.handle(found.levels[level])
    put_u64(handle, found.handles[level])


@entry("cuMipmappedArrayDestroy")
def destroy_mipmap(driver: Driver, handle: Pointer) -> None:
    """Ends a mipmapped array and its levels."""
    driver.context()
    found = driver.forget(handle, MipmappedArray)
    for number in found.handles.values():
        driver.forget(number, CudaArray)
    ended(driver, found.address)


# --- copies of bytes from an offset on -----------------------------------------------------------


def _inside(driver: Driver, handle: int, offset: int, nbytes: int) -> int:
    found = driver.thing(handle, CudaArray)
    if offset + nbytes > found.shape.nbytes:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{nbytes} bytes at {offset}")
    return found.address + offset


@entry("cuMemcpyHtoA_v2", "cuMemcpyDtoA_v2")
def to_array(driver: Driver, array: Pointer, offset: U64, source: Pointer, nbytes: U64) -> None:
    """Into an array."""
    copy_bytes(driver, _inside(driver, array, offset, nbytes), source, nbytes)


@entry("cuMemcpyAtoH_v2", "cuMemcpyAtoD_v2")
def from_array(driver: Driver, target: Pointer, array: Pointer, offset: U64, nbytes: U64) -> None:
    """Out of an array."""
    copy_bytes(driver, target, _inside(driver, array, offset, nbytes), nbytes)


@entry("cuMemcpyAtoA_v2")
def between_arrays(
    driver: Driver, target: Pointer, to: U64, source: Pointer, of: U64, nbytes: U64
) -> None:
    """From array to array."""
    place = _inside(driver, target, to, nbytes)
    copy_bytes(driver, place, _inside(driver, source, of, nbytes), nbytes)


@entry("cuMemcpyHtoAAsync_v2")
def to_array_async(
    driver: Driver, array: Pointer, offset: U64, source: Pointer, nbytes: U64, stream: Pointer
) -> None:
    """Into an array, in a stream's order."""
    copy_bytes(driver, _inside(driver, array, offset, nbytes), source, nbytes, stream)


@entry("cuMemcpyAtoHAsync_v2")
def from_array_async(
    driver: Driver, target: Pointer, array: Pointer, offset: U64, nbytes: U64, stream: Pointer
) -> None:
    """Out of an array, in a stream's order."""
    copy_bytes(driver, target, _inside(driver, array, offset, nbytes), nbytes, stream)
