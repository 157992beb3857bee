"""Sparse products of 8-, 6- and 4-bit floats (sm_89, sm_120), with scales for blocks of k or not.

A's registers hold two of four bytes each; a byte is a number of 8, 6 or 4 bits or a pair of 4 bits
(OMMA), of which pairs are kept. Metadata lie as those of sparse bytes (isa/sparse.py), scales as
those of dense matrices (isa/scaled_matrix.py), for twice as many steps of k. So CUTLASS lays them
out, and so the compiler's own code for sm_90 has it, which does sparse products of 8-bit floats by
others. No chip that has such products was at hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warplens.isa import quick_sums
from warplens.isa.accumulate import F16, Split, accumulate, split_a, split_b
from warplens.isa.float16 import pack
from warplens.isa.lanes import Lanes, Value
from warplens.isa.pack_float import decode_fp8
from warplens.isa.scaled_matrix import (
    TYPES,
    halves_of,
    packed,
    raises,
    scaled,
    selected,
    target_of,
    times,
)
from warplens.isa.sparse import beside, parts
from warplens.isa.table import Modifiers, op

Words = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class _Given:
    """The operands; `scales`: those of A and B, as for selectors of zero, or none."""

    a: Words
    b: Words
    metadata: Value
    c: Words
    scales: Words

    def flat(self) -> Words:
        return (*self.a, *self.b, self.metadata, *self.c, *self.scales)


def _of(words: Words) -> _Given:
    return _Given(words[:4], words[4:8], words[8], words[9:13], words[13:])


def _blocks(m: Modifiers) -> int:
    """Into how many blocks scales divide k."""
    return 4 if m.has("4X") else 2 if m.has("168128") else 1


def _dense(x: Lanes, a: Words, metadata: Value) -> tuple[list[list[Value]], Value]:
    """The words of rows g and g + 8 with their zeros, and where a place is named twice."""
    lane = x.lane_id()
    first, own = x.and_(lane, x.u32(28)), x.shl(x.and_(lane, x.u32(3)), x.u32(3))
    rows: list[list[Value]] = [[], []]
    unclear = x.false()
    for n, register in enumerate(a):  # rows take turns, in A's registers and in lanes
        bits = x.lshr(x.gather_lane(metadata, x.add(first, x.u32(n))), own)
        for half in range(2):
            low, high = (
                x.and_(x.lshr(bits, x.u32(4 * half + shift)), x.u32(3)) for shift in (0, 2)
            )
            unclear = x.por(unclear, x.icmp("eq", low, high))
            pair = x.lshr(register, x.u32(16 * half))
            one, other = x.and_(pair, x.u32(255)), x.and_(x.lshr(pair, x.u32(8)), x.u32(255))
            places = (x.shl(place, x.u32(3)) for place in (low, high))
            word = x.or_(*(x.shl(v, p) for v, p in zip((one, other), places, strict=True)))
            rows[n % 2].append(word)
    return rows, unclear


def _product(x: Lanes, m: Modifiers, words: Words) -> Words:
    """D's four elements."""
    given = _of(words)
    kinds, is_packed = [name for name in m if name in TYPES], m.has("168128")
    dense, unclear = _dense(x, given.a, given.metadata)
    rows = [packed(x, kinds[0], tuple(row), is_packed) for row in dense]
    columns = packed(x, kinds[-1], tuple(beside(x, given.b)), is_packed)
    raised = None
    if m.has("UE4M3"):
        first = x.and_(x.lane_id(), x.u32(28))
        rows = [
            times(x, row, x.gather_lane(given.scales[0], x.add(first, x.u32(n))))
            for n, row in enumerate(rows)
        ]
        columns = times(x, columns, x.gather_lane(given.scales[1], first))
    elif given.scales:
        raised, is_nan = raises(x, given.scales[0], given.scales[1], _blocks(m))
        unclear = x.por(unclear, is_nan)

    def anyhow(inner: Lanes, *every: Value) -> Words:
        return _any_product(inner, m, every)

    return quick_sums.product(
        x, F16, rows, columns, list(given.c), target_of(m),
        lambda: x.shared(".".join(("sparse.any", *m)), anyhow, *words),
        raised=raised, unclear=unclear,
    )  # fmt: skip


def _factors(x: Lanes, halves: list[Value], scales: Value) -> list[Value]:
    """Halves of a row or column times their scales of E4M3 without a sign, exactly."""
    found, per = [], len(halves) // 4
    for k, half in enumerate(halves):
        code = x.and_(x.lshr(scales, x.u32(8 * (k // per))), x.u32(0x7F))
        wide = (x.float_to_float(x.bits_to_f16(bits), "f32")
                for bits in (half, decode_fp8(x, "E4M3", code)))  # fmt: skip
        found.append(x.raw_bits(x.float_to_float(x.fmul(*wide), "f16")))
    return found


def _any_product(x: Lanes, m: Modifiers, words: Words) -> Words:
    """The same, whatever the numbers are: sums of kept numbers alone."""
    given, lane = _of(words), x.lane_id()
    kinds, is_packed = [name for name in m if name in TYPES], m.has("168128")
    first_row, first_column = x.and_(lane, x.u32(28)), x.shl(x.and_(lane, x.u32(3)), x.u32(3))
    each = 2 if is_packed else 1

    def line(kind: str, bytes_: list[Value], split: Any, side: int, holder: Value) -> list[Split]:
        halves = [h for byte in bytes_ for h in halves_of(x, kind, byte, is_packed)[:each]]
        scales = x.gather_lane(given.scales[side], holder) if given.scales else None
        if scales is not None and m.has("UE4M3"):
            return [split(x, F16, half) for half in _factors(x, halves, scales)]
        found = [split(x, F16, half) for half in halves]
        return found if scales is None else scaled(x, found, scales, _blocks(m))

    sums = []
    for row, (numbers, columns) in enumerate(parts(x, given.a, given.b, given.metadata, 0, 8)):
        left = line(kinds[0], numbers, split_a, 0, x.add(first_row, x.u32(row)))
        for n, column in enumerate(columns):
            right = line(kinds[-1], column, split_b, 1, x.add(first_column, x.u32(4 * n)))
            start = given.c[2 * row + n]
            sums.append(accumulate(x, F16, left, right, start, target_of(m)))
    return tuple(sums)


def _shared(x: Lanes, m: Modifiers, given: _Given, is_quick: bool = True) -> Words:
    def flat(inner: Lanes, *words: Value) -> Words:
        return (_product if is_quick else _any_product)(inner, m, words)

    result: Words = x.shared(".".join(("sparse.floats", *m)), flat, *given.flat())
    return result


_QMMA = {"mods": "E4M3 E5M2 E3M2 E2M3 E2M1", "pipe": "tensor", "category": "fp16",
         "marks": "none", "latency": "hmma_16816"}  # fmt: skip
_SCALED = {**_QMMA, "sig": "r4 <- r4 r4 r4 r2 r r i"}


@op("QMMA", sig="r4 <- r4 r4 r4 r i", requires="SP 16864 F32", **_QMMA)
def sparse_product(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, e: Value, selector: int,
                   ) -> Words:  # fmt: skip
    """D = A * B + C in f32, A's kept numbers at the places that metadata name."""
    return _shared(x, m, _Given(a, b, e, c, ()))


@op("QMMA", sig="r2 <- r4 r4 r2 r i", requires="SP 16864 F16", **_QMMA)
def sparse_product_f16(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, e: Value,
                       selector: int) -> Words:  # fmt: skip
    """D = A * B + C in packed halves, A's kept numbers at the places that metadata name."""
    halves = tuple(x.lshr(word, x.u32(shift)) for word in c for shift in (0, 16))
    d = _shared(x, m, _Given(a, b, e, halves, ()))
    return pack(x, d[0], d[1]), pack(x, d[2], d[3])


def _scaled(x: Lanes, m: Modifiers, words: tuple[Words, Words, Words], beside_a: Words,
            scale_b: Value, selectors: Value, is_quick: bool = True) -> Words:  # fmt: skip
    a, b, c = words
    metadata, scale_a = beside_a  # in one pair of registers
    scales = selected(x, scale_a, scale_b, selectors)
    return _shared(x, m, _Given(a, b, metadata, c, scales), is_quick)


@op("QMMA", requires="SF SP 16864 F32 E8", **_SCALED)
@op("OMMA", requires="SF SP 168128 F32 E8", **_SCALED)
@op("OMMA", requires="SF SP 168128 F32 UE4M3 4X", **_SCALED)
def sparse_scaled(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, beside_a: Words,
                  scale_b: Value, selectors: Value, selector: int) -> Words:  # fmt: skip
    """D = A * B + C in f32, A's kept numbers at the places that metadata name, blocks of 64 or 32
    steps of k scaled by powers of two or E4M3 without a sign."""
    return _scaled(x, m, (a, b, c), beside_a, scale_b, selectors)


@op("OMMA", requires="SF SP 168128 F32 E8 4X", **_SCALED)
def sparse_scaled_powers(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, beside_a: Words,
                         scale_b: Value, selectors: Value, selector: int) -> Words:  # fmt: skip
    """D = A * B + C in f32, A's kept numbers at the places that metadata name, blocks of 32 steps
    of k scaled by powers of two."""
    return _scaled(x, m, (a, b, c), beside_a, scale_b, selectors, is_quick=False)
