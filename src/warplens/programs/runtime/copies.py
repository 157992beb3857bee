"""Copies between any two places, and filling memory."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from warplens.driver.arrays import CudaArray
from warplens.driver.cells import get_bytes
from warplens.driver.entries import copies as driver_copies
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import NodeKind, Stream, Work
from warplens.programs.program import Program, RuntimeFault
from warplens.programs.runtime.table import I32, U64, Extent, Pitched, Pointer, entry

INVALID_DIRECTION, INVALID_PITCH = 21, 12
_TO_DEVICE, _TO_HOST, _ON_DEVICE, _MOST_KIND = 1, 2, 3, 4


def check_direction(program: Program, target: int, source: int, kind: int) -> None:
    """Refuses what the runtime refuses: a direction that the pointers contradict."""
    if not 0 <= kind <= _MOST_KIND:
        raise RuntimeFault(INVALID_DIRECTION, f"{kind} is no direction of a copy")
    memory = program.memory
    is_known = [memory.find(place) is not None for place in (target, source)]
    wrong = (
        (kind in (_TO_DEVICE, _ON_DEVICE) and not is_known[0])
        or (kind in (_TO_HOST, _ON_DEVICE) and not is_known[1])
        or (kind == _TO_DEVICE and memory.is_device_only(source))
        or (kind == _TO_HOST and memory.is_device_only(target))
    )
    if wrong:
        raise DriverError(
            Status.CUDA_ERROR_INVALID_VALUE,
            f"a copy of kind {kind} from {source:#x} to {target:#x}: {memory.words(source)} to "
            f"{memory.words(target)}",
        )


def _copy(
    program: Program, target: int, source: int, nbytes: int, kind: int, stream: int = 0
) -> None:
    program.context()
    if nbytes:
        check_direction(program, target, source, kind)
        driver_copies.copy_async(program.driver, target, source, nbytes, stream)


@entry("cudaMemcpy")
def copy(program: Program, target: Pointer, source: Pointer, nbytes: U64, kind: I32) -> None:
    """A copy."""
    _copy(program, target, source, nbytes, kind)


@entry("cudaMemcpyAsync", kind="work")
def copy_async(
    program: Program, target: Pointer, source: Pointer, nbytes: U64, kind: I32, stream: Pointer
) -> None:
    """A copy in a stream's order."""
    _copy(program, target, source, nbytes, kind, stream)


# --- symbols -------------------------------------------------------------------------------------


def part_of_symbol(program: Program, symbol: int, nbytes: int, offset: int) -> int:
    address, size = program.variable(symbol)
    if offset + nbytes > size:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "behind the variable's end")
    return address + offset


@entry("cudaMemcpyToSymbol")
def to_symbol(
    program: Program, symbol: Pointer, source: Pointer, nbytes: U64, offset: U64, kind: I32
) -> None:
    """A copy to a variable of the device."""
    _copy(program, part_of_symbol(program, symbol, nbytes, offset), source, nbytes, kind)


@entry("cudaMemcpyFromSymbol")
def from_symbol(
    program: Program, target: Pointer, symbol: Pointer, nbytes: U64, offset: U64, kind: I32
) -> None:
    """A copy from a variable of the device."""
    _copy(program, target, part_of_symbol(program, symbol, nbytes, offset), nbytes, kind)


@entry("cudaMemcpyToSymbolAsync", kind="work")
def to_symbol_async(
    program: Program, symbol: Pointer, source: Pointer, nbytes: U64, offset: U64, kind: I32,
    stream: Pointer,
) -> None:  # fmt: skip
    """A copy to a variable of the device in a stream's order."""
    _copy(program, part_of_symbol(program, symbol, nbytes, offset), source, nbytes, kind, stream)


@entry("cudaMemcpyFromSymbolAsync", kind="work")
def from_symbol_async(
    program: Program, target: Pointer, symbol: Pointer, nbytes: U64, offset: U64, kind: I32,
    stream: Pointer,
) -> None:  # fmt: skip
    """A copy from a variable of the device in a stream's order."""
    _copy(program, target, part_of_symbol(program, symbol, nbytes, offset), nbytes, kind, stream)


# --- rows ----------------------------------------------------------------------------------------


def rows_work(
    program: Program, sides: tuple[int, int], steps: tuple[int, int], width: int, height: int,
) -> Work:  # fmt: skip
    """A copy of rows as work of a stream."""
    memory, spec = program.memory, program.gpu().spec
    target, source = sides

    def work(_: Stream) -> Callable[[], float]:
        if height == 1 or not memory.copy_rows(target, source, width, height, steps):
            for row in range(height):
                memory.copy(target + row * steps[0], source + row * steps[1], width)
        if not program.driver.is_timed:
            return lambda: 0.0
        nanoseconds = memory.copy_nanoseconds(target, source, width * height, spec)
        return lambda: nanoseconds

    return work


def copy_rows_between(
    program: Program, sides: tuple[int, int], steps: tuple[int, int], width: int, height: int,
    kind: int, stream: int,
) -> None:  # fmt: skip
    """Copies rows in a stream's order."""
    program.context()
    if width > min(steps):
        raise RuntimeFault(INVALID_PITCH, f"rows of {width} bytes, {min(steps)} bytes apart")
    if not width or not height:
        return
    check_direction(program, *sides, kind)
    work = rows_work(program, sides, steps, width, height)
    program.driver.submit(program.driver.stream(stream), work, NodeKind.MEMCPY)


@entry("cudaMemcpy2D")
def copy_2d(
    program: Program, target: Pointer, target_pitch: U64, source: Pointer, source_pitch: U64,
    width: U64, height: U64, kind: I32,
) -> None:  # fmt: skip
    """A copy of rows."""
    steps = (target_pitch, source_pitch)
    copy_rows_between(program, (target, source), steps, width, height, kind, 0)


@entry("cudaMemcpy2DAsync", kind="work")
def copy_2d_async(
    program: Program, target: Pointer, target_pitch: U64, source: Pointer, source_pitch: U64,
    width: U64, height: U64, kind: I32, stream: Pointer,
) -> None:  # fmt: skip
    """A copy of rows in a stream's order."""
    steps = (target_pitch, source_pitch)
    copy_rows_between(program, (target, source), steps, width, height, kind, stream)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """Slices of rows, as a cudaMemcpy3DParms describes them."""

    sides: tuple[int, int]
    pitches: tuple[int, int]
    heights: tuple[int, int]
    extent: tuple[int, int, int]
    kind: int

    def each(self) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """The addresses of each slice, target and source, and the steps between its rows."""
        width, _, depth = self.extent
        for z in range(depth):
            steps = [pitch * height for pitch, height in zip(self.pitches, self.heights,
                                                             strict=True)]  # fmt: skip
            sides = (self.sides[0] + z * steps[0], self.sides[1] + z * steps[1])
            yield sides, (self.pitches[0] or width, self.pitches[1] or width)


def _with_arrays(
    arrays: list[CudaArray | None], places: tuple[tuple[int, ...], ...],
    extent: tuple[int, int, int], kind: int,
) -> Slices:  # fmt: skip
    """A copy with arrays: their places, and the extent, count elements."""
    element = next(array.shape.element for array in arrays if array is not None)
    starts, pitches, heights = [], [], []
    width, height, depth = extent[0] * element, extent[1], extent[2]
    for array, (pointer, x, y, z, pitch, rows) in zip(arrays, places, strict=True):
        if array is None:
            starts.append(pointer + x + pitch * (y + z * rows))
            pitches.append(pitch)
            heights.append(rows)
            continue
        high = max(array.shape.height, 1)
        x *= array.shape.element
        if x + width > array.row or y + height > high or z + depth > array.shape.slices:
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "a copy beyond an array's end")
        starts.append(array.address + z * array.slice + y * array.row + x)
        pitches.append(array.row)
        heights.append(high)
    return Slices(
        sides=(starts[0], starts[1]), pitches=(pitches[0], pitches[1]),
        heights=(heights[0], heights[1]), extent=(width, height, depth), kind=kind,
    )  # fmt: skip


def slices_at(program: Program, address: int) -> Slices:
    """A cudaMemcpy3DParms."""
    words = struct.unpack("<19Qi4x", get_bytes(address, 160))
    source_array, sx, sy, sz, source, source_pitch, _, source_height = words[:8]
    target_array, tx, ty, tz, target, target_pitch, _, target_height = words[8:16]
    arrays = [program.driver.thing(number, CudaArray) if number else None
              for number in (target_array, source_array)]  # fmt: skip
    if any(arrays):
        places = ((target, tx, ty, tz, target_pitch, target_height),
                  (source, sx, sy, sz, source_pitch, source_height))  # fmt: skip
        return _with_arrays(arrays, places, (words[16], words[17], words[18]), words[19])
    return Slices(
        sides=(target + tx + target_pitch * (ty + tz * target_height),
               source + sx + source_pitch * (sy + sz * source_height)),
        pitches=(target_pitch, source_pitch), heights=(target_height, source_height),
        extent=(words[16], words[17], words[18]), kind=words[19],
    )  # fmt: skip


def _copy_3d(program: Program, description: int, stream: int) -> None:
    found = slices_at(program, description)
    for sides, steps in found.each():
        width, height, _ = found.extent
        copy_rows_between(program, sides, steps, width, height, found.kind, stream)


@entry("cudaMemcpy3D")
def copy_3d(program: Program, description: Pointer) -> None:
    """A copy of slices of rows."""
    _copy_3d(program, description, 0)


@entry("cudaMemcpy3DAsync", kind="work")
def copy_3d_async(program: Program, description: Pointer, stream: Pointer) -> None:
    """A copy of slices of rows in a stream's order."""
    _copy_3d(program, description, stream)


# --- filling -------------------------------------------------------------------------------------


def _fill(
    program: Program, target: int, pitch: int, value: int, width: int, height: int, stream: int
) -> None:
    program.context()
    if width and height:
        driver_copies._fill(
            program.driver, target, pitch, value & 0xFF, 1, width, height, stream
        )


@entry("cudaMemset")
def fill(program: Program, target: Pointer, value: I32, nbytes: U64) -> None:
    """Sets bytes."""
    _fill(program, target, 0, value, nbytes, 1, 0)


@entry("cudaMemsetAsync", kind="work")
def fill_async(
    program: Program, target: Pointer, value: I32, nbytes: U64, stream: Pointer
) -> None:
    """Sets bytes in a stream's order."""
    _fill(program, target, 0, value, nbytes, 1, stream)


@entry("cudaMemset2D")
def fill_2d(
    program: Program, target: Pointer, pitch: U64, value: I32, width: U64, height: U64
) -> None:
    """Sets rows of bytes."""
    _fill(program, target, pitch, value, width, height, 0)


@entry("cudaMemset2DAsync", kind="work")
def fill_2d_async(
    program: Program, target: Pointer, pitch: U64, value: I32, width: U64, height: U64,
    stream: Pointer,
) -> None:  # fmt: skip
    """Sets rows of bytes in a stream's order."""
    _fill(program, target, pitch, value, width, height, stream)


@entry("cudaMemset3D")
def fill_3d(
    program: Program, pointer: Pitched, pitch: int, x: int, y: int, value: I32, width: Extent,
    height: int, depth: int,
) -> None:  # fmt: skip
    """Sets slices of rows of bytes."""
    for z in range(depth):
        _fill(program, pointer + z * pitch * y, pitch, value, width, height, 0)


@entry("cudaMemset3DAsync", kind="work")
def fill_3d_async(
    program: Program, pointer: Pitched, pitch: int, x: int, y: int, value: I32, width: Extent,
    height: int, depth: int, stream: Pointer,
) -> None:  # fmt: skip
    """Sets slices of rows of bytes in a stream's order."""
    for z in range(depth):
        _fill(program, pointer + z * pitch * y, pitch, value, width, height, stream)
