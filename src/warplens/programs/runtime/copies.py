"""Copies between any two places, and filling memory."""

from __future__ import annotations

import struct
from collections.abc import Callable

from warplens.driver.cells import get_bytes
from warplens.driver.entries import copies as driver_copies
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import Stream
from warplens.programs.program import Program, RuntimeFault
from warplens.programs.runtime.table import I32, U64, Extent, Pitched, Pointer, entry

INVALID_DIRECTION, INVALID_PITCH = 21, 12
_TO_DEVICE, _TO_HOST, _ON_DEVICE, _MOST_KIND = 1, 2, 3, 4


def _check(program: Program, target: int, source: int, kind: int) -> None:
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
        _check(program, target, source, kind)
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


def _part(program: Program, symbol: int, nbytes: int, offset: int) -> int:
    address, size = program.variable(symbol)
    if offset + nbytes > size:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "behind the variable's end")
    return address + offset


@entry("cudaMemcpyToSymbol")
def to_symbol(
    program: Program, symbol: Pointer, source: Pointer, nbytes: U64, offset: U64, kind: I32
) -> None:
    """A copy to a variable of the device."""
    _copy(program, _part(program, symbol, nbytes, offset), source, nbytes, kind)


@entry("cudaMemcpyFromSymbol")
def from_symbol(
    program: Program, target: Pointer, symbol: Pointer, nbytes: U64, offset: U64, kind: I32
) -> None:
    """A copy from a variable of the device."""
    _copy(program, target, _part(program, symbol, nbytes, offset), nbytes, kind)


@entry("cudaMemcpyToSymbolAsync", kind="work")
def to_symbol_async(
    program: Program, symbol: Pointer, source: Pointer, nbytes: U64, offset: U64, kind: I32,
    stream: Pointer,
) -> None:  # fmt: skip
    """A copy to a variable of the device in a stream's order."""
    _copy(program, _part(program, symbol, nbytes, offset), source, nbytes, kind, stream)


@entry("cudaMemcpyFromSymbolAsync", kind="work")
def from_symbol_async(
    program: Program, target: Pointer, symbol: Pointer, nbytes: U64, offset: U64, kind: I32,
    stream: Pointer,
) -> None:  # fmt: skip
    """A copy from a variable of the device in a stream's order."""
    _copy(program, target, _part(program, symbol, nbytes, offset), nbytes, kind, stream)


# --- rows ----------------------------------------------------------------------------------------


def _rows(
    program: Program, sides: tuple[int, int], steps: tuple[int, int], width: int, height: int,
    kind: int, stream: int,
) -> None:  # fmt: skip
    context = program.context()
    target, source = sides
    if width > min(steps):
        raise RuntimeFault(INVALID_PITCH, f"rows of {width} bytes, {min(steps)} bytes apart")
    if not width or not height:
        return
    _check(program, target, source, kind)
    memory, spec = program.memory, context.gpu.spec

    def work(_: Stream) -> Callable[[], float]:
        if not memory.copy_rows(target, source, width, height, steps):
            for row in range(height):
                memory.copy(target + row * steps[0], source + row * steps[1], width)
        if not program.driver.is_timed:
            return lambda: 0.0
        nanoseconds = memory.copy_nanoseconds(target, source, width * height, spec)
        return lambda: nanoseconds

    program.driver.submit(program.driver.stream(stream), work)


@entry("cudaMemcpy2D")
def copy_2d(
    program: Program, target: Pointer, target_pitch: U64, source: Pointer, source_pitch: U64,
    width: U64, height: U64, kind: I32,
) -> None:  # fmt: skip
    """A copy of rows."""
    steps = (target_pitch, source_pitch)
    _rows(program, (target, source), steps, width, height, kind, 0)


@entry("cudaMemcpy2DAsync", kind="work")
def copy_2d_async(
    program: Program, target: Pointer, target_pitch: U64, source: Pointer, source_pitch: U64,
    width: U64, height: U64, kind: I32, stream: Pointer,
) -> None:  # fmt: skip
    """A copy of rows in a stream's order."""
    steps = (target_pitch, source_pitch)
    _rows(program, (target, source), steps, width, height, kind, stream)


def _copy_3d(program: Program, description: int, stream: int) -> None:
    """Slices of rows, as a cudaMemcpy3DParms describes them."""
    words = struct.unpack("<19Qi4x", get_bytes(description, 160))
    source_array, sx, sy, sz, source, source_pitch, _, source_height = words[:8]
    target_array, tx, ty, tz, target, target_pitch, _, target_height = words[8:16]
    width, height, depth, kind = words[16:20]
    if source_array or target_array:
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "copies of CUDA arrays")
    from_here = source + sx + source_pitch * (sy + sz * source_height)
    to_here = target + tx + target_pitch * (ty + tz * target_height)
    for z in range(depth):
        sides = (
            to_here + z * target_pitch * target_height,
            from_here + z * source_pitch * source_height,
        )
        steps = (target_pitch or width, source_pitch or width)
        _rows(program, sides, steps, width, height, kind, stream)


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
