"""Matrix products of 8-, 6- and 4-bit floats of sm_120, with scales for blocks of k.

Fragments are those of `isa/matrix.py`. Numbers of 6 bits stand in the low bits of a byte, those of
4 bits in the middle of one, or two in a byte (OMMA). With g = lane / 4, t = lane % 4, lanes t = 0
and 1 hold the scales of rows g and g + 8 of A, lane t = 0 those of column g of B, a byte for each
block of k. Selectors move that: A's by two lanes, B's by up to three, and to later bytes. The
places are the PTX manual's and those of a probe on such a chip that others published; none was at
hand. The selectors stand in one uniform register, as the compiler packs them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from warplens.isa import quick_sums
from warplens.isa.accumulate import F16, F32, Layout, Split, accumulate, split_a, split_b
from warplens.isa.float16 import pack
from warplens.isa.lanes import Lanes, Value
from warplens.isa.matrix import Words, _gathered, _parts, _shared
from warplens.isa.pack_float import decode_fp8, decode_narrow
from warplens.isa.table import Modifiers, op

_NARROW = ("E3M2", "E2M3", "E2M1")
TYPES = ("E4M3", "E5M2", *_NARROW)
_SPECIAL, _NAN = 10000, 0x7FC00000  # as isa/accumulate.py has them


def halves_of(x: Lanes, kind: str, word: Value, is_packed: bool) -> Words:
    """The numbers of a register as halves."""
    if is_packed:
        return tuple(decode_narrow(x, kind, part) for part in _parts(x, word, 4))
    codes = [x.and_(part, x.u32(0xFF)) for part in _parts(x, word, 8)]
    if kind == "E2M1":
        codes = [x.lshr(code, x.u32(2)) for code in codes]
    if kind in _NARROW:
        return tuple(decode_narrow(x, kind, code) for code in codes)
    return tuple(decode_fp8(x, kind, code) for code in codes)


def _raised(x: Lanes, number: Split, scale: Value) -> Split:
    """A number times 2**(scale - 127); the scale 255 is no number."""
    is_nan = x.icmp("eq", scale, x.u32(255))
    exponent = x.add(number.exponent, x.sub(scale, x.u32(127)))
    return replace(
        number, exponent=x.select(is_nan, x.u32(_SPECIAL), exponent),
        shape=x.select(is_nan, x.u32(_NAN), number.shape),
    )  # fmt: skip


def scaled(x: Lanes, numbers: list[Split], scales: Value, blocks: int) -> list[Split]:
    """A row or column with its scales, powers of two."""
    per = len(numbers) // blocks
    bytes_ = [x.and_(x.lshr(scales, x.u32(8 * k)), x.u32(0xFF)) for k in range(4)]
    return [_raised(x, number, bytes_[k // per]) for k, number in enumerate(numbers)]


def target_of(m: Modifiers) -> Layout:
    """The format of C and D."""
    return F32 if m.has("F32") else F16


def packed(x: Lanes, kind: str, words: Words, is_packed: bool) -> list[Value]:
    """Registers' numbers as halves, two to a word."""
    halves = [half for word in words for half in halves_of(x, kind, word, is_packed)]
    return [pack(x, low, high) for low, high in zip(halves[::2], halves[1::2], strict=True)]


def selected(x: Lanes, scale_a: Value, scale_b: Value, selectors: Value) -> tuple[Value, Value]:
    """The scales as they would stand where selectors are zero.

    The bits of `selectors` from the lowest: two for the byte of A's and one for its lanes, two for
    B's byte and two for its lane.
    """
    lane = x.lane_id()
    first, own = x.and_(lane, x.u32(28)), x.and_(lane, x.u32(1))
    moved = x.or_(x.or_(first, own), x.and_(x.lshr(selectors, x.u32(1)), x.u32(2)))
    a = x.gather_lane(scale_a, moved)
    a = x.lshr(a, x.and_(x.shl(selectors, x.u32(3)), x.u32(24)))
    b = x.gather_lane(scale_b, x.or_(first, x.and_(x.lshr(selectors, x.u32(5)), x.u32(3))))
    return a, x.lshr(b, x.and_(selectors, x.u32(24)))


def raises(x: Lanes, scale_a: Value, scale_b: Value, blocks: int,
           ) -> tuple[list[list[Value]], Value]:  # fmt: skip
    """What scales add to the exponents of D's four elements for each block of k, and where one is
    no number."""
    lane, unclear = x.lane_id(), x.false()
    first_row, first_column = x.and_(lane, x.u32(28)), x.shl(x.and_(lane, x.u32(3)), x.u32(3))
    found: list[list[Value]] = []
    for n in range(4):
        of_row = x.gather_lane(scale_a, x.add(first_row, x.u32(n // 2)))
        of_column = x.gather_lane(scale_b, x.add(first_column, x.u32(4 * (n % 2))))
        found.append([])
        for block in range(blocks):
            one, other = (
                x.and_(x.lshr(scales, x.u32(8 * block)), x.u32(0xFF))
                for scales in (of_row, of_column)
            )
            unclear = x.por(unclear, x.icmp("eq", x.umax(one, other), x.u32(255)))
            found[-1].append(x.sub(x.add(one, other), x.u32(254)))
    return found, unclear


def _product(x: Lanes, m: Modifiers, a: Words, b: Words, given: Words) -> Words:
    """D's four elements; `given`: C's, and the scales of A and B if there are any."""
    kinds = [name for name in m if name in TYPES]
    is_packed = m.has("16864")
    rows = [packed(x, kinds[0], a[n::2], is_packed) for n in range(2)]
    raised: list[list[Value]] | None = None
    unclear = x.false()
    if len(given) > 4:
        raised, unclear = raises(x, given[4], given[5], 2 if is_packed else 1)

    def anyhow(inner: Lanes, *words: Value) -> Words:
        return _any_product(inner, m, words[:4], words[4:6], words[6:])

    return quick_sums.product(
        x, F16, rows, packed(x, kinds[-1], b, is_packed), list(given[:4]), target_of(m),
        lambda: x.shared(".".join(("scaled.any", *m)), anyhow, *a, *b, *given),
        raised=raised, unclear=unclear,
    )  # fmt: skip


def _any_product(x: Lanes, m: Modifiers, a: Words, b: Words, given: Words) -> Words:
    """The same, whatever the numbers are."""
    kinds = [name for name in m if name in TYPES]
    is_packed, lane = m.has("16864"), x.lane_id()
    first_row, first_column = x.and_(lane, x.u32(28)), x.shl(x.and_(lane, x.u32(3)), x.u32(3))
    blocks = 4 if m.has("4X") else 2 if is_packed else 1
    own_a = [[split_a(x, F16, n) for n in halves_of(x, kinds[0], w, is_packed)] for w in a]
    own_b = [[split_b(x, F16, n) for n in halves_of(x, kinds[-1], w, is_packed)] for w in b]
    rows = [_gathered(x, own_a[row::2], first_row) for row in range(2)]
    columns = [_gathered(x, own_b, x.add(first_column, x.u32(4 * n))) for n in range(2)]
    if len(given) > 4:
        for n in range(2):
            of_row = x.gather_lane(given[4], x.add(first_row, x.u32(n)))
            of_column = x.gather_lane(given[5], x.add(first_column, x.u32(4 * n)))
            rows[n] = scaled(x, rows[n], of_row, blocks)
            columns[n] = scaled(x, columns[n], of_column, blocks)
    return tuple(
        accumulate(x, F16, rows[n // 2], columns[n % 2], given[n], target_of(m)) for n in range(4)
    )


def times(x: Lanes, words: list[Value], scales: Value) -> list[Value]:
    """Numbers of 4 bits times their scales, E4M3 without a sign: packed halves, exactly. A lane's
    numbers of a register lie in one block of 16 steps of k."""
    found, own = [], x.shl(x.and_(x.lane_id(), x.u32(2)), x.u32(2))
    of_register = len(words) // 2 if len(words) > 4 else 4
    for k in range(0, len(words), of_register):
        code = x.lshr(scales, x.add(own, x.u32(16 * (k // of_register))))
        factor = decode_fp8(x, "E4M3", x.and_(code, x.u32(0x7F)))
        factor = x.float_to_float(x.bits_to_f16(factor), "f32")
        for word in words[k : k + of_register]:
            values = (x.float_to_float(x.bits_to_f16(x.lshr(word, x.u32(n))), "f32")
                      for n in (0, 16))  # fmt: skip
            halves = [x.raw_bits(x.float_to_float(x.fmul(v, factor), "f16")) for v in values]
            found.append(pack(x, *halves))
    return found


def _product_4x(x: Lanes, m: Modifiers, a: Words, b: Words, given: Words) -> Words:
    """D's four elements of numbers of 4 bits with scales for 16 steps of k."""
    first = x.and_(x.lane_id(), x.u32(28))
    rows = [
        times(x, packed(x, "E2M1", a[n::2], True),
               x.gather_lane(given[4], x.add(first, x.u32(n))))
        for n in range(2)
    ]  # fmt: skip
    columns = times(x, packed(x, "E2M1", b, True), x.gather_lane(given[5], first))
    words, n = (*rows[0], *rows[1], *columns, *given[:4]), len(columns)

    def anyhow(inner: Lanes, *every: Value) -> Words:
        return _any_halves(inner, (every[:n], every[n : 2 * n]), every[2 * n : 3 * n],
                           every[3 * n :])  # fmt: skip

    return quick_sums.product(
        x, F16, rows, columns, list(given[:4]), F32,
        lambda: x.shared(".".join(("scaled.any", *m)), anyhow, *words),
    )  # fmt: skip


def _any_halves(x: Lanes, own: tuple[Words, Words], own_b: Words, c: Words) -> Words:
    """D's elements of packed halves, whatever they are."""
    lane = x.lane_id()
    first_row, first_column = x.and_(lane, x.u32(28)), x.shl(x.and_(lane, x.u32(3)), x.u32(3))

    def line(words: Words, first: Value, split: Any) -> list[Split]:
        whole = [x.gather_lane(word, x.add(first, x.u32(j))) for j in range(4) for word in words]
        return [split(x, F16, part) for word in whole for part in _parts(x, word, 16)]

    rows = [line(words, first_row, split_a) for words in own]
    columns = [line(own_b, x.add(first_column, x.u32(4 * n)), split_b) for n in range(2)]
    return tuple(
        accumulate(x, F16, rows[n // 2], columns[n % 2], element, F32)
        for n, element in enumerate(c)
    )


_SCALED: dict[str, Any] = {
    "sig": "r4 <- r4 r2 r4 r r r", "pipe": "tensor", "category": "fp16", "latency": "hmma_16816",
    "marks": "none",
}  # fmt: skip


@op("QMMA", mods="E4M3 E5M2 E3M2 E2M3 E2M1 E8", requires="SF 16832 F32", **_SCALED)
@op("OMMA", mods="E2M1 E8", requires="SF 16864 F32", **_SCALED)
def scaled_product(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, scale_a: Value,
                   scale_b: Value, selectors: Value) -> Words:  # fmt: skip
    """D = A * B + C in f32, blocks of 32 steps of k scaled by powers of two."""
    return _shared(x, m, _product, a, b, (*c, *selected(x, scale_a, scale_b, selectors)))


@op("OMMA", mods="E2M1 UE4M3", requires="SF 16864 F32 4X", **_SCALED)
def scaled_product_4x(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, scale_a: Value,
                      scale_b: Value, selectors: Value) -> Words:  # fmt: skip
    """D = A * B + C in f32, blocks of 16 steps of k scaled by E4M3 without a sign."""
    return _shared(x, m, _product_4x, a, b, (*c, *selected(x, scale_a, scale_b, selectors)))


@op("OMMA", mods="E2M1", requires="SF 16864 F32 4X E8", **_SCALED)
def scaled_product_4x_powers(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, scale_a: Value,
                             scale_b: Value, selectors: Value) -> Words:  # fmt: skip
    """D = A * B + C in f32, blocks of 16 steps of k scaled by powers of two."""
    return _shared(x, m, _any_product, a, b, (*c, *selected(x, scale_a, scale_b, selectors)))


def _mixed(registers: int, *kinds: str) -> dict[str, Any]:
    return {"sig": f"r{registers} <- r4 r2 r{registers}", "mods": "E4M3 E5M2 E3M2 E2M3 E2M1",
            "pipe": "tensor", "requires": " ".join(("16832", *kinds)), "category": "fp16",
            "marks": "none", "latency": "hmma_16816"}  # fmt: skip


@op("QMMA", **_mixed(4, "F32", "E3M2"))
@op("QMMA", **_mixed(4, "F32", "E2M3"))
@op("QMMA", **_mixed(4, "F32", "E2M1"))
def mixed_product(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """D = A * B + C in f32 where a type has 6 or 4 bits."""
    return _shared(x, m, _product, a, b, c)


@op("QMMA", **_mixed(2, "F16", "E3M2"))
@op("QMMA", **_mixed(2, "F16", "E2M3"))
@op("QMMA", **_mixed(2, "F16", "E2M1"))
def mixed_product_f16(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """D = A * B + C in packed halves where a type has 6 or 4 bits."""
    d = _shared(x, m, _product, a, b, tuple(part for word in c for part in _parts(x, word, 16)))
    return pack(x, d[0], d[1]), pack(x, d[2], d[3])
