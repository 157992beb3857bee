"""Sparse matrix products (mma.sp): of four numbers of A's row two are kept, of tf32 one of two,
of 4 bits two of four pairs, which lie as bytes do.

A's registers hold the kept ones; metadata name their places, two bits each (tf32: a nibble), in the
words of some of a row's four lanes, which the selector names: a word's low half belongs to row g,
its high half to row g + 8; with bytes the words of even lanes belong to row g, of odd ones to row
g + 8, as recorded on an H200 (`validation/data/hopper_sm90.npz`). A column of B is read at those
places. Products with zeros do not change a tensor core's sum, so what remains is the sum of
isa/accumulate.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from warplens.isa import quick_sums
from warplens.isa.accumulate import (
    BF16,
    F16,
    F32,
    TF32,
    Layout,
    Split,
    accumulate,
    split_a,
    split_b,
)
from warplens.isa.float16 import pack
from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

Words = tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How a row's kept numbers lie in registers and their places in metadata."""

    bits: int  # of a number
    kept: int  # numbers of a row in A's registers

    @property
    def per_word(self) -> int:
        """Numbers in a register."""
        return 32 // self.bits

    @property
    def lanes(self) -> int:
        """Lanes of a row whose metadata count."""
        place_bits = 4 if self.bits == 32 else 2
        return self.kept * place_bits // 16


def _form(bits: int, registers: int) -> _Form:
    return _Form(bits=bits, kept=registers // 2 * 4 * (32 // bits))


def _places(x: Lanes, form: _Form, row: int, e: Value, selector: int) -> list[Value]:
    """For each kept number its place among the four (tf32: two) that it stands for."""
    first = x.add(x.and_(x.lane_id(), x.u32(28)), x.u32(selector * form.lanes))
    found = []
    if form.bits == 8:
        for lane in range(row, form.lanes, 2):
            word = x.gather_lane(e, x.add(first, x.u32(lane)))
            found += [x.and_(x.lshr(word, x.u32(2 * n)), x.u32(3)) for n in range(16)]
        return found
    for lane in range(form.lanes):
        word = x.gather_lane(e, x.add(first, x.u32(lane)))
        if form.bits == 32:  # 0b0100 and 0b1110 are the first and the second of two
            starts, mask = [16 * row + 4 * n + 1 for n in range(4)], 1
        else:
            starts, mask = [16 * row + 2 * n for n in range(8)], 3
        found += [x.and_(x.lshr(word, x.u32(n)), x.u32(mask)) for n in starts]
    return found


def _column(x: Lanes, form: _Form, b: Words, column: int, places: list[Value]) -> list[Value]:
    """The words of column 2t + `column` that hold the numbers at the places, shifted down."""
    first = x.shl(x.and_(x.lane_id(), x.u32(3)), x.u32(3))
    first = x.add(first, x.u32(4 * column))
    found = []
    for n, place in enumerate(places):
        group = n if form.bits == 32 else n // 2  # of two numbers or of four
        start = group * (2 if form.bits == 32 else 4)
        register, inside = divmod(start // form.per_word, 4)
        if form.bits == 32:
            found.append(x.gather_lane(b[register], x.add(first, x.add(place, x.u32(inside)))))
            continue
        lane, rest = x.u32(inside), place
        if form.bits == 16:
            lane = x.add(lane, x.lshr(place, x.u32(1)))
            rest = x.and_(place, x.u32(1))
        word = x.gather_lane(b[register], x.add(first, lane))
        found.append(x.lshr(word, x.mul(rest, x.u32(form.bits))))
    return found


def _row(x: Lanes, form: _Form, a: Words, row: int) -> list[Value]:
    """The kept numbers of row g or g + 8, each at the bottom of a word."""
    first = x.and_(x.lane_id(), x.u32(28))
    found = []
    for word in a[row::2]:
        for j in range(4):
            there = x.gather_lane(word, x.add(first, x.u32(j)))
            found += [x.lshr(there, x.u32(form.bits * i)) for i in range(form.per_word)]
    return found


def parts(x: Lanes, a: Words, b: Words, e: Value, selector: int, bits: int,
           ) -> list[tuple[list[Value], list[list[Value]]]]:  # fmt: skip
    """For rows g and g + 8: A's numbers, and B's of the two columns."""
    form = _form(bits, len(a))
    found = []
    for row in range(2):
        places = _places(x, form, row, e, selector)
        columns = [_column(x, form, b, column, places) for column in range(2)]
        found.append((_row(x, form, a, row), columns))
    return found


def _layout(m: Modifiers) -> tuple[Layout, int]:
    """The format, and how far its numbers are shifted down."""
    if m.has("TF32"):
        return TF32, 13
    return (BF16 if m.has("BF16") else F16), 0


def _dense(x: Lanes, m: Modifiers, a: Words, e: Value, selector: int,
           ) -> tuple[list[list[Value]], Value]:  # fmt: skip
    """The words of rows g and g + 8 with their zeros: two for each register, whose lane holds the
    metadata's nibble t. And where a place is named twice."""
    form = _form(32 if m.has("TF32") else 16, len(a))
    lane = x.lane_id()
    first = x.add(x.and_(lane, x.u32(28)), x.u32(selector * form.lanes))
    nibble = x.shl(x.and_(lane, x.u32(3)), x.u32(2))
    rows: list[list[Value]] = [[], []]
    unclear = x.false()
    for i in range(len(a) // 2):
        word = x.lshr(x.gather_lane(e, x.add(first, x.u32(i))), nibble)
        for row in range(2):
            kept, bits = a[2 * i + row], x.lshr(word, x.u32(16 * row))
            if form.bits == 32:
                is_second = x.icmp("ne", x.and_(bits, x.u32(2)), x.u32(0))
                rows[row] += [x.select(is_second, x.u32(0), kept),
                              x.select(is_second, kept, x.u32(0))]  # fmt: skip
                continue
            low, high = x.and_(bits, x.u32(3)), x.and_(x.lshr(bits, x.u32(2)), x.u32(3))
            unclear = x.por(unclear, x.icmp("eq", low, high))
            both = x.or_(
                x.shl(x.zext64(x.and_(kept, x.u32(0xFFFF))), x.zext64(x.shl(low, x.u32(4)))),
                x.shl(x.zext64(x.lshr(kept, x.u32(16))), x.zext64(x.shl(high, x.u32(4)))),
            )
            rows[row] += [x.low32(both), x.high32(both)]
    return rows, unclear


def beside(x: Lanes, b: Words) -> list[Value]:
    """B's words in the lanes that hold A's numbers of the same steps of k."""
    lane = x.lane_id()
    first = x.add(x.and_(lane, x.u32(28)), x.and_(x.shl(lane, x.u32(1)), x.u32(2)))
    is_upper = x.icmp("ne", x.and_(lane, x.u32(2)), x.u32(0))
    found = []
    for i in range(0, len(b), 2):
        for j in range(2):
            place = x.add(first, x.u32(j))
            low, high = (x.gather_lane(word, place) for word in b[i : i + 2])
            found.append(x.select(is_upper, high, low))
    return found


def _quick_product(x: Lanes, m: Modifiers, words: Words, sizes: tuple[int, int], selector: int,
                   target: Layout) -> Words:  # fmt: skip
    """The same as `_float_product`, quicker for ordinary numbers."""
    n_a, n_b = sizes
    a, b, e, c = words[:n_a], words[n_a : n_a + n_b], words[n_a + n_b], words[n_a + n_b + 1 :]

    def anyhow(inner: Lanes, *given: Value) -> Words:
        return _float_product(inner, m, given, sizes, selector, target)

    name = ".".join(("sparse.any", str(selector), str(target.fraction_bits), *m))
    rows, unclear = _dense(x, m, a, e, selector)
    return quick_sums.product(
        x, _layout(m)[0], rows, beside(x, b), list(c), target,
        lambda: x.shared(name, anyhow, *words), unclear=unclear,
    )  # fmt: skip


def _float_product(x: Lanes, m: Modifiers, words: Words, sizes: tuple[int, int], selector: int,
                   target: Layout) -> Words:  # fmt: skip
    """D's four elements per lane as bits, of C's format."""
    n_a, n_b = sizes
    a, b, e, c = words[:n_a], words[n_a : n_a + n_b], words[n_a + n_b], words[n_a + n_b + 1 :]
    layout, down = _layout(m)

    def ready(word: Value) -> Value:
        return x.lshr(word, x.u32(down)) if down else word

    rows: list[tuple[list[Split], list[list[Split]]]] = []
    for numbers, columns in parts(x, a, b, e, selector, 32 if down else 16):
        rows.append((
            [split_a(x, layout, ready(n)) for n in numbers],
            [[split_b(x, layout, ready(n)) for n in column] for column in columns],
        ))  # fmt: skip
    return tuple(
        accumulate(x, layout, rows[n // 2][0], rows[n // 2][1][n % 2], element, target)
        for n, element in enumerate(c)
    )


def _shared(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, e: Value, selector: int,
            target: Layout) -> Words:  # fmt: skip
    def flat(inner: Lanes, *words: Value) -> Words:
        return _quick_product(inner, m, words, (len(a), len(b)), selector, target)

    name = ".".join(("sparse", str(selector), *m))
    result: Words = x.shared(name, flat, *a, *b, e, *c)
    return result


_TENSOR = {"pipe": "tensor", "category": "fp16", "marks": "none"}
_SMALL = {**_TENSOR, "latency": "hmma_1688"}
_LARGE = {**_TENSOR, "latency": "hmma_16816"}


@op("HMMA", sig="r4 <- r2 r2 r4 r i", mods="BF16", requires="SP 16816 F32", **_SMALL)
@op("HMMA", sig="r4 <- r4 r4 r4 r i", mods="BF16", requires="SP 16832 F32", **_LARGE)
@op("HMMA", sig="r4 <- r2 r2 r4 r i", requires="SP 1688 F32 TF32", **_SMALL)
@op("HMMA", sig="r4 <- r4 r4 r4 r i", requires="SP 16816 F32 TF32", **_LARGE)
def hmma_sparse(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, e: Value, selector: int,
                ) -> Words:  # fmt: skip
    """D = A * B + C in f32, A's kept numbers at the places that metadata name."""
    return _shared(x, m, a, b, c, e, selector, F32)


@op("HMMA", sig="r2 <- r2 r2 r2 r i", requires="SP 16816 F16", **_SMALL)
@op("HMMA", sig="r2 <- r4 r4 r2 r i", requires="SP 16832 F16", **_LARGE)
def hmma_sparse_f16(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, e: Value, selector: int,
                    ) -> Words:  # fmt: skip
    """D = A * B + C in packed halves, A's kept numbers at the places that metadata name."""
    parts = tuple(x.lshr(word, x.u32(shift)) for word in c for shift in (0, 16))
    d = _shared(x, m, a, b, parts, e, selector, F16)
    return pack(x, d[0], d[1]), pack(x, d[2], d[3])


_IMMA = {"mods": "S8 U8 S4 U4 SAT", "pipe": "tensor", "category": "misc", "marks": "none",
         "latency": "imma_16816"}  # fmt: skip


def _integers(x: Lanes, kind: str, word: Value) -> list[Value]:
    """The number in a word's lowest byte, or the two of 4 bits."""
    bits, extend = int(kind[1:]), x.ashr if kind[0] == "S" else x.lshr
    lefts = (x.shl(word, x.u32(32 - bits - first)) for first in range(0, 8, bits))
    return [extend(left, x.u32(32 - bits)) for left in lefts]


def _integer_product(x: Lanes, m: Modifiers, words: Words, sizes: tuple[int, int], selector: int,
                     ) -> Words:  # fmt: skip
    n_a, n_b = sizes
    a, b, e, c = words[:n_a], words[n_a : n_a + n_b], words[n_a + n_b], words[n_a + n_b + 1 :]
    kinds = [name for name in m if name in ("S8", "U8", "S4", "U4")]
    sums = []
    for numbers, columns in parts(x, a, b, e, selector, 8):
        left = [n for word in numbers for n in _integers(x, kinds[0], word)]
        for column in columns:
            total, right = x.u32(0), [n for w in column for n in _integers(x, kinds[-1], w)]
            for p, q in zip(left, right, strict=True):
                total = x.add(total, x.mul(p, q))
            sums.append(total)
    if not m.has("SAT"):
        return tuple(x.add(total, start) for total, start in zip(sums, c, strict=True))
    most, least = x.u64((1 << 31) - 1), x.u64(-(1 << 31) & ((1 << 64) - 1))
    wide = [x.add(x.sext64(total), x.sext64(start)) for total, start in zip(sums, c, strict=True)]
    return tuple(x.low32(x.smin(x.smax(n, least), most)) for n in wide)


@op("IMMA", sig="r4 <- r2 r2 r4 r i", requires="SP 16832", **_IMMA)
@op("IMMA", sig="r4 <- r2 r2 r4 r i", requires="SP 16864 S4", **_IMMA)
@op("IMMA", sig="r4 <- r2 r2 r4 r i", requires="SP 16864 U4", **_IMMA)
@op("IMMA", sig="r4 <- r4 r4 r4 r i", requires="SP 16864", **_IMMA)
@op("IMMA", sig="r4 <- r4 r4 r4 r i", requires="SP 168128", **_IMMA)
def imma_sparse(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, e: Value, selector: int,
                ) -> Words:  # fmt: skip
    """D = A * B + C in 32-bit integers, A's kept bytes, or pairs of numbers of 4 bits, at the
    places that metadata name."""

    def flat(inner: Lanes, *words: Value) -> Words:
        return _integer_product(inner, m, words, (len(a), len(b)), selector)

    result: Words = x.shared(".".join(("sparse", str(selector), *m)), flat, *a, *b, e, *c)
    return result
