"""Global memory: requests, sectors, lines and bytes of a warp's access."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError
from warplens.models.scalars import FloatLike, Numbers, integers, numbers, plain

SECTOR_BYTES = 32
LINE_BYTES = 128
LANES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The cost of one request; numbers, or arrays for arrays of patterns.

    Attributes:
        sectors: distinct 32-byte sectors touched: what is moved.
        lines: distinct 128-byte lines touched: the tag look-ups.
        bytes_used: bytes that lanes asked for, counting each once.
        bytes_moved: 32 * sectors.
        efficiency: bytes_used / bytes_moved.
    """

    sectors: Numbers
    lines: Numbers
    bytes_used: Numbers
    bytes_moved: Numbers
    efficiency: Numbers


def _distinct(cells: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Distinct values along the last axis."""
    ordered = np.sort(cells, axis=-1)
    changes: npt.NDArray[np.int64] = (np.diff(ordered, axis=-1) != 0).sum(axis=-1) + 1
    return changes


def warp_access(addresses: npt.ArrayLike, width: int = 4) -> Access:
    """The cost of a warp's access to any addresses.

    Inputs: byte addresses along the last axis, one per active lane, each a multiple of `width`;
    width in bytes (1, 2, 4, 8, 16).
    Formula: sectors = |{a div 32}|, lines = |{a div 128}|; an aligned element never straddles.
    Source: CUDA C++ Programming Guide, global memory; the engine counts the same (tests/models).

    >>> warp_access(64 * np.arange(32)).sectors, warp_access(64 * np.arange(32)).lines
    (32, 16)
    """
    where = integers("addresses", addresses, 0)
    if width not in (1, 2, 4, 8, 16):
        raise InputError(f"width = {width} is not one of 1, 2, 4, 8, 16 bytes")
    if where.ndim == 0 or bool((where % width).any()):
        raise InputError(f"addresses must be one per lane and multiples of {width}")
    sectors = _distinct(where // SECTOR_BYTES)
    lines = _distinct(where // LINE_BYTES)
    used = _distinct(where) * width
    return Access(
        sectors=plain(sectors),
        lines=plain(lines),
        bytes_used=plain(used),
        bytes_moved=plain(sectors * SECTOR_BYTES),
        efficiency=plain(used / (sectors * SECTOR_BYTES)),
    )


def strided_access(
    stride: npt.ArrayLike, width: int = 4, offset: npt.ArrayLike = 0, lanes: int = LANES
) -> Access:
    """The cost of lane i reading element offset + stride * i of an aligned array.

    Inputs: stride and offset in elements (arrays broadcast); element width in bytes; active lanes.
    Formula: addresses width * (offset + stride * i), counted as `warp_access`.
    Source: as `warp_access`.

    >>> strided_access(1).sectors, strided_access(16).sectors, strided_access(16).lines
    (4, 32, 16)
    >>> strided_access([1, 2, 8]).efficiency.tolist(), strided_access(1, offset=1).sectors
    ([1.0, 0.5, 0.125], 5)
    >>> strided_access(1, lanes=8).sectors
    1
    """
    steps, start = integers("stride", stride), integers("offset", offset)
    if not 1 <= lanes <= LANES:
        raise InputError(f"lanes = {lanes} is outside 1 to {LANES}")
    steps, start = np.broadcast_arrays(steps, start)
    elements = start[..., None] + steps[..., None] * np.arange(lanes)
    # Negative strides run backwards from the offset; a whole number of lines changes nothing.
    low = np.minimum(elements.min(axis=-1, keepdims=True), 0)
    shift = -(low // LINE_BYTES) * LINE_BYTES
    return warp_access((elements + shift) * width, width)


def requests_and_sectors(threads: int, block: int, width: int = 4) -> tuple[int, int]:
    """Requests and sectors of a kernel in which thread i reads element i.

    Inputs: threads in all; threads per block (a partial warp is a request of its own); width.
    Formula: requests = warps of all blocks; sectors = sum over warps of ceil(active * width / 32).
    Source: counted for consecutive, aligned elements.

    >>> requests_and_sectors(100_000_000, 8), requests_and_sectors(100_000_000, 32)
    ((12500000, 12500000), (3125000, 12500000))
    """
    total, size = int(integers("threads", threads, 1)), int(integers("block", block, 1))
    full, rest = divmod(total, size)

    def of_block(start: int, count: int) -> tuple[int, int]:
        warps = range(start, start + count, LANES)
        cells = 0
        for first in warps:
            last = min(first + LANES, start + count) - 1
            begin, end = first * width // SECTOR_BYTES, (last * width + width - 1) // SECTOR_BYTES
            cells += end - begin + 1
        return len(warps), cells

    # Where blocks begin within a sector repeats; one period of blocks tells all of them.
    period = SECTOR_BYTES // int(np.gcd(SECTOR_BYTES, size * width))
    shapes = [of_block(phase * size, size) for phase in range(period)]
    requests = sum(shapes[b % period][0] for b in range(period)) * (full // period)
    sectors = sum(shapes[b % period][1] for b in range(period)) * (full // period)
    for phase in range(full % period):
        requests, sectors = requests + shapes[phase][0], sectors + shapes[phase][1]
    if rest:
        tail = of_block(full * size, rest)
        requests, sectors = requests + tail[0], sectors + tail[1]
    return requests, sectors


def implied_peak(bytes_moved: FloatLike, seconds: FloatLike, fraction: FloatLike) -> Numbers:
    """The peak bandwidth that a duration and a fraction of peak imply.

    Inputs: bytes moved; duration in seconds; fraction of peak reported for the same run.
    Formula: bytes / seconds / fraction, in bytes per second.
    Source: definition of the fraction; runs on one card must agree.

    >>> [round(float(implied_peak(400e6, t * 1e-3, f)) / 1e9)
    ...  for t, f in ((14.39, 0.1069), (4.59, 0.3271), (1.46, 0.9805), (1.52, 0.9804))]
    [260, 266, 279, 268]
    """
    rate = numbers("bytes_moved", bytes_moved, 0) / numbers("seconds", seconds, 1e-15)
    return plain(rate / numbers("fraction", fraction, 1e-9, 1))
