"""Sparse products of tensor memory: A's rows hold half of their numbers, metadata their places.

Four neighbouring bits stand for four logical numbers (TF32 two, 4-bit floats eight) and name two of
them (one, two pairs), two bits each. Of halves and TF32 lanes 16 r to 16 r + 7 hold the first half
of k for rows 16 r to 16 r + 15, the other eight lanes the second, rows from 16 r + 8 on in the high
half of the word; the selector is added to the column. Of narrower numbers each row has two words of
its own. Weight-stationary products of 64 and 32 rows have two and four copies, in the lanes behind
the rows', of which the first is read here. That is how CUTLASS lays them out; where the metadata of
64 rows of other products lie is not known.
"""

from __future__ import annotations

from typing import Any

from warplens.compiled import native
from warplens.execute.native import peek32
from warplens.execute.tensor_memory import faults
from warplens.execute.tensor_memory.cells import cell, check, fail, word
from warplens.execute.tensor_memory.numbers import TF32
from warplens.execute.tensor_memory.operands import NOT_KEPT
from warplens.lift import layout as at


@native
def is_sparse(descriptor: int) -> int:
    """Whether A's rows hold half of their numbers."""
    return descriptor >> 2 & 1


@native
def is_interleaved(kind: int) -> int:
    """Whether metadata of sixteen rows share lanes: halves, bfloat16 and TF32."""
    return int(kind <= TF32)


@native
def wrong_sparse(descriptor: int, form: int, kind: int) -> int:
    """Whether it is not known where a sparse product's metadata lie."""
    rows = (descriptor >> 24 & 31) << 4
    if form >> at.TM_PAIR & 1:
        rows = rows // 2
    selector = descriptor & 3
    if rows != 128 and not form >> at.TM_STATIONARY & 1:
        return 1
    return int(selector > 1 if is_interleaved(kind) else selector != 0)


@native
def metadata_of(memory: int, address: int, kind: int, row: int, part: int) -> int:
    """The bits of half a row's chunks, four for each from the lowest on: of the first half or the
    second."""
    if is_interleaved(kind):
        lane = row // 16 * 16 + row % 8 + 8 * part
        return int(peek32(cell(memory, lane, address & 0xFFFF)) >> 16 * (row // 8 % 2))
    return int(peek32(cell(memory, row, (address & 0xFFFF) + part)))


@native
def put_at(numbers: Any, exponents: Any, to: int, number: float, exponent: int) -> None:
    """A number at its place."""
    numbers[to] = number
    exponents[to] = exponent


@native
def clear(numbers: Any, exponents: Any, first: int, count: int) -> None:
    """Places of which nothing is kept."""
    for n in range(count):
        put_at(numbers, exponents, first + n, 0.0, NOT_KEPT)


@native
def spread_pairs(numbers: Any, exponents: Any, first: int, kept: int, bits: int) -> None:
    """Two of four pairs; `kept` is where the four numbers stand."""
    a, b, c, d = numbers[kept], numbers[kept + 1], numbers[kept + 2], numbers[kept + 3]
    ae, be, ce = exponents[kept], exponents[kept + 1], exponents[kept + 2]
    de = exponents[kept + 3]
    low, high = first + 2 * (bits & 3), first + 2 * (bits >> 2 & 3)
    clear(numbers, exponents, first, 8)
    put_at(numbers, exponents, low, a, ae)
    put_at(numbers, exponents, low + 1, b, be)
    put_at(numbers, exponents, high, c, ce)
    put_at(numbers, exponents, high + 1, d, de)


@native
def spread_chunk(numbers: Any, exponents: Any, row: int, kind: int, pairs: int, chunk: int,
                 bits: int) -> None:  # fmt: skip
    """A chunk's numbers at their places, zeros at the others; later chunks are done already."""
    if pairs:
        spread_pairs(numbers, exponents, row + 8 * chunk, row + 4 * chunk, bits)
        return
    if kind == TF32:
        a, ae, first = numbers[row + chunk], exponents[row + chunk], row + 2 * chunk
        clear(numbers, exponents, first, 2)
        put_at(numbers, exponents, first + (bits >> 1 & 1), a, ae)
        return
    kept, first = row + 2 * chunk, row + 4 * chunk
    a, b, ae, be = numbers[kept], numbers[kept + 1], exponents[kept], exponents[kept + 1]
    clear(numbers, exponents, first, 4)
    put_at(numbers, exponents, first + (bits & 3), a, ae)
    put_at(numbers, exponents, first + (bits >> 2 & 3), b, be)


@native
def spread(slots: Any, warp: int, memory: int, inst: int, kind: int, pairs: int, selector: int,
           rows: int, numbers: Any, exponents: Any, stride: int) -> int:  # fmt: skip
    """All numbers of A's rows, of which those that are kept have been read; 1 after a fault."""
    address = word(warp, at.TM_METADATA) + selector
    together = is_interleaved(kind)
    if check(slots, memory, inst, address, 1 if together else 2):
        return 1
    if address >> 16 != 0:
        return fail(slots, inst, address, faults.MISPLACED)
    half = 4 if together else 8  # chunks
    for row in range(rows):
        for later in range(2):
            part = 1 - later
            bits = metadata_of(memory, address, kind, row, part)
            for n in range(half):
                chunk = half - 1 - n
                spread_chunk(numbers, exponents, row * stride, kind, pairs, part * half + chunk,
                             bits >> 4 * chunk & 15)  # fmt: skip
    return 0
