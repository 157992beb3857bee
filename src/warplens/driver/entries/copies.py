"""Copies between any two places, in one, two and three dimensions, and filling memory."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from warplens.driver.arrays import CudaArray
from warplens.driver.cells import get_bytes, get_u64
from warplens.driver.entries.table import U8, U16, U32, U64, Pointer, entry
from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import NodeKind, Stream, Work

COPY_3D_BYTES = 200  # CUDA_MEMCPY3D
_HOST, _ARRAY = 1, 3  # CUmemorytype; device and unified memory have one address


def copy_bytes(
    driver: Driver, target: int, source: int, nbytes: int, stream: int = 0
) -> None:
    """Copies bytes between two addresses in a stream's order."""
    queue, gpu = driver.stream(stream), driver.context().gpu

    def work(_: Stream) -> Callable[[], float]:
        driver.memory.copy(target, source, nbytes)
        if not driver.is_timed:
            return lambda: 0.0
        nanoseconds = driver.memory.copy_nanoseconds(target, source, nbytes, gpu.spec)
        return lambda: nanoseconds

    driver.submit(queue, work, NodeKind.MEMCPY)


@entry("cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2", "cuMemcpy")
def copy(driver: Driver, target: Pointer, source: Pointer, nbytes: U64) -> None:
    """A copy; which side an address is on follows from the address."""
    copy_bytes(driver, target, source, nbytes)


@entry("cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyAsync")
def copy_async(
    driver: Driver, target: Pointer, source: Pointer, nbytes: U64, stream: Pointer
) -> None:
    """A copy in a stream's order."""
    copy_bytes(driver, target, source, nbytes, stream)


@entry("cuMemcpyPeer")
def copy_peer(
    driver: Driver, target: Pointer, to: Pointer, source: Pointer, of: Pointer, nbytes: U64
) -> None:
    """A copy between GPUs."""
    copy_bytes(driver, target, source, nbytes)


@entry("cuMemcpyPeerAsync")
def copy_peer_async(
    driver: Driver, target: Pointer, to: Pointer, source: Pointer, of: Pointer, nbytes: U64,
    stream: Pointer,
) -> None:  # fmt: skip
    """A copy between GPUs in a stream's order."""
    copy_bytes(driver, target, source, nbytes, stream)


@entry("cuMemcpyWithAttributesAsync")
def copy_with_attributes(
    driver: Driver, target: Pointer, source: Pointer, nbytes: U64, attributes: Pointer,
    stream: Pointer,
) -> None:  # fmt: skip
    """A copy whose attributes are hints."""
    copy_bytes(driver, target, source, nbytes, stream)


def _batch(
    driver: Driver, targets: int, sources: int, sizes: int, count: int, stream: int
) -> None:
    for place in range(0, 8 * count, 8):
        copy_bytes(
            driver, get_u64(targets + place), get_u64(sources + place), get_u64(sizes + place),
            stream,
        )  # fmt: skip


@entry("cuMemcpyBatchAsync")
def copy_batch(
    driver: Driver, targets: Pointer, sources: Pointer, sizes: Pointer, count: U64,
    attributes: Pointer, indices: Pointer, attribute_count: U64, failed: Pointer, stream: Pointer,
) -> None:  # fmt: skip
    """Several copies."""
    _batch(driver, targets, sources, sizes, count, stream)


@entry("cuMemcpyBatchAsync_v2")
def copy_batch_v2(
    driver: Driver, targets: Pointer, sources: Pointer, sizes: Pointer, count: U64,
    attributes: Pointer, indices: Pointer, attribute_count: U64, stream: Pointer,
) -> None:  # fmt: skip
    """Several copies."""
    _batch(driver, targets, sources, sizes, count, stream)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One side of a copy of rows: its first byte and the steps between rows and slices."""

    start: int
    row: int
    slice: int


def _side(driver: Driver, fields: tuple[int, ...], heights: int, extent: tuple[int, int, int]
          ) -> _Side:  # fmt: skip
    x, y, z, kind, host, device, array, pitch = fields
    if kind == _ARRAY:
        found = driver.thing(array, CudaArray)
        sizes = found.row, max(found.shape.height, 1), found.shape.slices
        if any(a + n > size for a, n, size in zip((x, y, z), extent, sizes, strict=True)):
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "a copy beyond an array's end")
        start = found.address + z * found.slice + y * found.row + x
        return _Side(start=start, row=found.row, slice=found.slice)
    base = host if kind == _HOST else device
    return _Side(start=base + z * pitch * heights + y * pitch + x, row=pitch,
                 slice=pitch * heights)  # fmt: skip


def _rows_work(
    driver: Driver, target: _Side, source: _Side, extent: tuple[int, int, int]
) -> Work:
    width, height, depth = extent
    spec = driver.context().gpu.spec

    def work(_: Stream) -> Callable[[], float]:
        for z in range(depth):
            for y in range(height):
                driver.memory.copy(
                    target.start + z * target.slice + y * target.row,
                    source.start + z * source.slice + y * source.row,
                    width,
                )
        moved = width * height * depth
        nanoseconds = driver.memory.copy_nanoseconds(target.start, source.start, moved, spec)
        return lambda: nanoseconds

    return work


def _copy_rows(
    driver: Driver, target: _Side, source: _Side, extent: tuple[int, int, int], stream: int
) -> None:
    queue, work = driver.stream(stream), _rows_work(driver, target, source, extent)
    if all(extent):
        driver.submit(queue, work, NodeKind.MEMCPY)


def _copy_2d(driver: Driver, description: int, stream: int = 0) -> None:
    words = struct.unpack("<QQQQQQQQQQQQQQQQ", get_bytes(description, 128))
    sx, sy, skind, shost, sdevice, sarray, spitch = words[:7]
    dx, dy, dkind, dhost, ddevice, darray, dpitch, w, h = words[7:]
    extent = w, h, 1
    source = sx, sy, 0, skind & 0xFFFFFFFF, shost, sdevice, sarray, spitch or w
    target = dx, dy, 0, dkind & 0xFFFFFFFF, dhost, ddevice, darray, dpitch or w
    sides = [_side(driver, side, h, extent) for side in (target, source)]
    _copy_rows(driver, sides[0], sides[1], extent, stream)


@entry("cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2")
def copy_2d(driver: Driver, description: Pointer) -> None:
    """A copy of rows."""
    _copy_2d(driver, description)


@entry("cuMemcpy2DAsync_v2")
def copy_2d_async(driver: Driver, description: Pointer, stream: Pointer) -> None:
    """A copy of rows in a stream's order."""
    _copy_2d(driver, description, stream)


def copy_3d_work(driver: Driver, description: bytes) -> Work:
    """The work of a CUDA_MEMCPY3D."""
    words = struct.unpack("<25Q", description)
    sx, sy, sz, _, skind, shost, sdevice, sarray, _, spitch, sheight = words[:11]
    dx, dy, dz, _, dkind, dhost, ddevice, darray, _, dpitch, dheight = words[11:22]
    w, h, d = words[22:]
    source = (sx, sy, sz, skind & 0xFFFFFFFF, shost, sdevice, sarray, spitch or w)
    target = (dx, dy, dz, dkind & 0xFFFFFFFF, dhost, ddevice, darray, dpitch or w)
    to = _side(driver, target, dheight or h, (w, h, d))
    return _rows_work(driver, to, _side(driver, source, sheight or h, (w, h, d)), (w, h, d))


def _copy_3d(driver: Driver, description: int, stream: int = 0) -> None:
    data = get_bytes(description, COPY_3D_BYTES)
    queue, work = driver.stream(stream), copy_3d_work(driver, data)
    driver.submit(queue, work, NodeKind.MEMCPY, data)


@entry("cuMemcpy3D_v2")
def copy_3d(driver: Driver, description: Pointer) -> None:
    """A copy of slices of rows."""
    _copy_3d(driver, description)


@entry("cuMemcpy3DAsync_v2")
def copy_3d_async(driver: Driver, description: Pointer, stream: Pointer) -> None:
    """A copy of slices of rows in a stream's order."""
    _copy_3d(driver, description, stream)


# --- filling -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fill:
    """Rows of elements of one value, as in CUDA_MEMSET_NODE_PARAMS."""

    target: int
    pitch: int
    value: int
    width: int
    count: int
    rows: int

    def work(self, driver: Driver) -> Work:
        """The fill as work of a stream."""
        spec = driver.context().gpu.spec

        def work(_: Stream) -> Callable[[], float]:
            for row in range(self.rows):
                place = self.target + row * self.pitch
                driver.memory.fill(place, self.value, self.width, self.count)
            written = self.width * self.count * self.rows
            return lambda: written / spec.dram_bandwidth_bytes_per_second * 1e9

        return work


def _fill(
    driver: Driver, target: int, pitch: int, value: int, width: int, count: int, rows: int,
    stream: int,
) -> None:  # fmt: skip
    fill = Fill(target, pitch, value, width, count, rows)
    driver.submit(driver.stream(stream), fill.work(driver), NodeKind.MEMSET, fill)


@entry("cuMemsetD8_v2")
def fill_8(driver: Driver, target: Pointer, value: U8, count: U64) -> None:
    """Sets bytes."""
    _fill(driver, target, 0, value, 1, count, 1, 0)


@entry("cuMemsetD16_v2")
def fill_16(driver: Driver, target: Pointer, value: U16, count: U64) -> None:
    """Sets halves of words."""
    _fill(driver, target, 0, value, 2, count, 1, 0)


@entry("cuMemsetD32_v2")
def fill_32(driver: Driver, target: Pointer, value: U32, count: U64) -> None:
    """Sets words."""
    _fill(driver, target, 0, value, 4, count, 1, 0)


@entry("cuMemsetD8Async")
def fill_8_async(
    driver: Driver, target: Pointer, value: U8, count: U64, stream: Pointer
) -> None:
    """Sets bytes in a stream's order."""
    _fill(driver, target, 0, value, 1, count, 1, stream)


@entry("cuMemsetD16Async")
def fill_16_async(
    driver: Driver, target: Pointer, value: U16, count: U64, stream: Pointer
) -> None:
    """Sets halves of words in a stream's order."""
    _fill(driver, target, 0, value, 2, count, 1, stream)


@entry("cuMemsetD32Async")
def fill_32_async(
    driver: Driver, target: Pointer, value: U32, count: U64, stream: Pointer
) -> None:
    """Sets words in a stream's order."""
    _fill(driver, target, 0, value, 4, count, 1, stream)


@entry("cuMemsetD2D8_v2")
def fill_2d_8(
    driver: Driver, target: Pointer, pitch: U64, value: U8, width: U64, height: U64
) -> None:
    """Sets rows of bytes."""
    _fill(driver, target, pitch, value, 1, width, height, 0)


@entry("cuMemsetD2D16_v2")
def fill_2d_16(
    driver: Driver, target: Pointer, pitch: U64, value: U16, width: U64, height: U64
) -> None:
    """Sets rows of halves of words."""
    _fill(driver, target, pitch, value, 2, width, height, 0)


@entry("cuMemsetD2D32_v2")
def fill_2d_32(
    driver: Driver, target: Pointer, pitch: U64, value: U32, width: U64, height: U64
) -> None:
    """Sets rows of words."""
    _fill(driver, target, pitch, value, 4, width, height, 0)


@entry("cuMemsetD2D8Async")
def fill_2d_8_async(
    driver: Driver, target: Pointer, pitch: U64, value: U8, width: U64, height: U64,
    stream: Pointer,
) -> None:  # fmt: skip
    """Sets rows of bytes in a stream's order."""
    _fill(driver, target, pitch, value, 1, width, height, stream)


@entry("cuMemsetD2D16Async")
def fill_2d_16_async(
    driver: Driver, target: Pointer, pitch: U64, value: U16, width: U64, height: U64,
    stream: Pointer,
) -> None:  # fmt: skip
    """Sets rows of halves of words in a stream's order."""
    _fill(driver, target, pitch, value, 2, width, height, stream)


@entry("cuMemsetD2D32Async")
def fill_2d_32_async(
    driver: Driver, target: Pointer, pitch: U64, value: U32, width: U64, height: U64,
    stream: Pointer,
) -> None:  # fmt: skip
    """Sets rows of words in a stream's order."""
    _fill(driver, target, pitch, value, 4, width, height, stream)
