"""Matrix products of a whole warp: fragments spread over the lanes, as PTX's mma documents them.

With g = lane / 4 and t = lane % 4, lane (g, t) holds of A the rows g and g + 8, of B the column g
and of C and D the columns 2t and 2t + 1 of rows g and g + 8. A register of A or B holds the
elements that follow each other along k: one tf32, two halves, four bytes, eight nibbles or 32
bits. A lane therefore needs the rows of its own four lanes and two columns of eight other lanes.
"""

from __future__ import annotations

from collections.abc import Callable

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
from warplens.isa.pack_float import decode_fp8
from warplens.isa.table import Modifiers, op

Words = tuple[Value, ...]
Unpack = Callable[[Value], list[Value]]


def gather_rows(x: Lanes, words: Words, n_rows: int) -> list[list[Value]]:
    """A's registers of rows g and g + 8 as words in the order of k; words alternate the rows."""
    first = x.and_(x.lane_id(), x.u32(28))
    rows = []
    for row in range(n_rows):
        own = words[row::n_rows]
        rows.append([x.gather_lane(w, x.add(first, x.u32(j))) for w in own for j in range(4)])
    return rows


def gather_columns(x: Lanes, words: Words) -> list[list[Value]]:
    """B's registers of columns 2t and 2t + 1 as words in the order of k."""
    first = x.shl(x.and_(x.lane_id(), x.u32(3)), x.u32(3))
    return [
        [x.gather_lane(w, x.add(first, x.u32(4 * column + j))) for w in words for j in range(4)]
        for column in range(2)
    ]


def _unpacked(words: list[Value], unpack: Unpack) -> list[Value]:
    return [element for word in words for element in unpack(word)]


# ---------------------------------------------------------------------------------- floats

Splitter = Callable[[Value], list[Split]]


def _parts(x: Lanes, word: Value, bits: int) -> Words:
    return tuple(x.lshr(word, x.u32(first)) for first in range(0, 32, bits))


def _splitters(x: Lanes, m: Modifiers) -> tuple[Layout, Splitter, Splitter]:
    """The format of A and B, and how a register of each is taken apart into elements."""
    fp8 = [name for name in m if name in ("E4M3", "E5M2")]
    if fp8:
        # Every 8-bit float is a half as well.
        def as_halves(kind: str, word: Value) -> Words:
            codes = (x.and_(part, x.u32(0xFF)) for part in _parts(x, word, 8))
            return tuple(decode_fp8(x, kind, code) for code in codes)

        return (
            F16,
            lambda word: [split_a(x, F16, half) for half in as_halves(fp8[0], word)],
            lambda word: [split_b(x, F16, half) for half in as_halves(fp8[-1], word)],
        )
    if m.has("TF32"):
        # The 13 low bits of an operand are not looked at.
        return (
            TF32,
            lambda word: [split_a(x, TF32, x.lshr(word, x.u32(13)))],
            lambda word: [split_b(x, TF32, x.lshr(word, x.u32(13)))],
        )
    layout = BF16 if m.has("BF16") else F16
    return (
        layout,
        lambda word: [split_a(x, layout, part) for part in _parts(x, word, 16)],
        lambda word: [split_b(x, layout, part) for part in _parts(x, word, 16)],
    )


def _float_product(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, target: Layout) -> Words:
    """D's four elements per lane as bits, of C's format."""
    layout, take_a, take_b = _splitters(x, m)
    own_a, own_b = [take_a(word) for word in a], [take_b(word) for word in b]
    lane = x.lane_id()
    first_row, first_column = x.and_(lane, x.u32(28)), x.shl(x.and_(lane, x.u32(3)), x.u32(3))
    rows = [_gathered(x, own_a[row::2], first_row) for row in range(2)]
    columns = [_gathered(x, own_b, x.add(first_column, x.u32(4 * column))) for column in range(2)]
    return tuple(
        accumulate(x, layout, rows[n // 2], columns[n % 2], element, target)
        for n, element in enumerate(c)
    )


def _gathered(x: Lanes, registers: list[list[Split]], first: Value) -> list[Split]:
    """The elements of four neighbouring lanes, in the order of k."""
    return [
        element.gathered(x, x.add(first, x.u32(j)))
        for elements in registers
        for j in range(4)
        for element in elements
    ]


def _shared(
    x: Lanes, m: Modifiers, product: Callable[..., Words], a: Words, b: Words, c: Words
) -> Words:
    """Calls a product through one function per form, since its code is long."""

    def flat(inner: Lanes, *words: Value) -> Words:
        last_a, last_b = len(a), len(a) + len(b)
        return product(inner, m, words[:last_a], words[last_a:last_b], words[last_b:])

    name = ".".join((product.__name__.strip("_"), *m))
    result: Words = x.shared(name, flat, *a, *b, *c)
    return result


def _product_f32(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    return _shared(x, m, _float_product_f32, a, b, c)


def _product_f16(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    return _shared(x, m, _float_product_f16, a, b, c)


def _float_product_f32(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    return _quick_product(x, m, a, b, c, F32)


def _float_product_f16(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    parts = tuple(part for word in c for part in _parts(x, word, 16))
    d = _quick_product(x, m, a, b, parts, F16)
    return pack(x, d[0], d[1]), pack(x, d[2], d[3])


def _quick_product(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words, target: Layout) -> Words:
    """The same as `_float_product`, quicker for ordinary numbers."""

    def anyhow(inner: Lanes, *words: Value) -> Words:
        last_a, last_b = len(a), len(a) + len(b)
        return _float_product(
            inner, m, words[:last_a], words[last_a:last_b], words[last_b:], target
        )

    name = ".".join(("product", str(target.fraction_bits), *m))
    layout, rows = _packed(x, m, [a[0::2], a[1::2]])
    _, columns = _packed(x, m, [b], last=True)
    return quick_sums.product(
        x, layout, rows, columns[0], list(c), target, lambda: x.shared(name, anyhow, *a, *b, *c)
    )


def _packed(
    x: Lanes, m: Modifiers, groups: list[Words], last: bool = False
) -> tuple[Layout, list[list[Value]]]:
    """The format and the words of numbers; 8-bit floats as halves, two to a word."""
    fp8 = [name for name in m if name in ("E4M3", "E5M2")]
    if not fp8:
        layout = TF32 if m.has("TF32") else BF16 if m.has("BF16") else F16
        return layout, [list(words) for words in groups]
    found = []
    for words in groups:
        row = []
        for word in words:
            codes = [x.and_(part, x.u32(0xFF)) for part in _parts(x, word, 8)]
            halves = [decode_fp8(x, fp8[-1 if last else 0], code) for code in codes]
            row += [pack(x, halves[0], halves[1]), pack(x, halves[2], halves[3])]
        found.append(row)
    return F16, found


_TENSOR = {"pipe": "tensor", "category": "misc", "marks": "none"}
_HMMA_1688 = {**_TENSOR, "category": "fp16", "latency": "hmma_1688"}
_HMMA_16816 = {**_TENSOR, "category": "fp16", "latency": "hmma_16816"}


@op("HMMA", sig="r4 <- r2 r r4", mods="F32 BF16", requires="1688 F32", **_HMMA_1688)
@op("HMMA", sig="r4 <- r2 r r4", mods="F32", requires="1684 TF32", **_HMMA_1688)
@op("QMMA", sig="r4 <- r2 r r4", mods="E4M3 E5M2", requires="16816 F32", **_HMMA_16816)
def hmma_f32_small(x: Lanes, m: Modifiers, a: Words, b: Value, c: Words) -> Words:
    """D = A * B + C in f32; A is 16 rows of two registers, B one register."""
    return _product_f32(x, m, a, (b,), c)


@op("HMMA", sig="r4 <- r4 r2 r4", mods="BF16", requires="16816 F32", **_HMMA_16816)
@op("HMMA", sig="r4 <- r4 r2 r4", mods="F32", requires="1688 TF32 F32", **_HMMA_1688)
@op("QMMA", sig="r4 <- r4 r2 r4", mods="E4M3 E5M2", requires="16832 F32", **_HMMA_16816)
def hmma_f32(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """D = A * B + C in f32; A is four registers, B two."""
    return _product_f32(x, m, a, b, c)


@op("HMMA", sig="r2 <- r2 r r2", requires="1688 F16", **_HMMA_1688)
@op("QMMA", sig="r2 <- r2 r r2", mods="E4M3 E5M2", requires="16816 F16", **_HMMA_16816)
def hmma_f16_small(x: Lanes, m: Modifiers, a: Words, b: Value, c: Words) -> Words:
    """D = A * B + C in packed halves; A is two registers, B one."""
    return _product_f16(x, m, a, (b,), c)


@op("HMMA", sig="r2 <- r4 r2 r2", requires="16816 F16", **_HMMA_16816)
@op("QMMA", sig="r2 <- r4 r2 r2", mods="E4M3 E5M2", requires="16832 F16", **_HMMA_16816)
def hmma_f16(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """D = A * B + C in packed halves; A is four registers, B two."""
    return _product_f16(x, m, a, b, c)


# ---------------------------------------------------------------------------------- doubles


def _doubles(x: Lanes, words: Words) -> Words:
    return tuple(x.pair(words[i], words[i + 1]) for i in range(0, len(words), 2))


def _double_product(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    n_rows = len(c) // 4
    rows = gather_rows(x, _doubles(x, a), n_rows)
    columns = gather_columns(x, _doubles(x, b))
    words: list[Value] = []
    for n, start in enumerate(_doubles(x, c)):
        total = x.bits_to_f64(start)
        for left, right in zip(rows[n // 2], columns[n % 2], strict=True):
            total = x.ffma(x.bits_to_f64(left), x.bits_to_f64(right), total)
        bits = x.bits(total)
        words += [x.low32(bits), x.high32(bits)]
    return tuple(words)


_DMMA = {**_TENSOR, "latency": "dmma"}  # beyond the time that its core is taken


@op("DMMA", sig="r4 <- r2 r2 r4", requires="884", **_DMMA)
@op("DMMA", sig="r4 <- r2 r2 r4", requires="8x8x4", **_DMMA)
def dmma_8(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """D = A * B + C in f64, 8 x 8 with 4 steps of k, one fused multiply-add after the other."""
    return _shared(x, m, _double_product, a, b, c)


@op("DMMA", sig="r8 <- r4 r2 r8", requires="16x8x4", **_DMMA)
@op("DMMA", sig="r8 <- r8 r4 r8", requires="16x8x8", **_DMMA)
@op("DMMA", sig="r8 <- r16 r8 r8", requires="16x8x16", **_DMMA)
def dmma_16(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """D = A * B + C in f64, 16 x 8, one fused multiply-add after the other along k."""
    return _shared(x, m, _double_product, a, b, c)


# ---------------------------------------------------------------------------------- integers

_INTEGER_TYPES = ("S8", "U8", "S4", "U4")


def _integers(x: Lanes, kind: str) -> Unpack:
    bits = int(kind[1:])
    extend = x.ashr if kind[0] == "S" else x.lshr

    def unpack(word: Value) -> list[Value]:
        lefts = (x.shl(word, x.u32(32 - bits - first)) for first in range(0, 32, bits))
        return [extend(left, x.u32(32 - bits)) for left in lefts]

    return unpack


def _add_saturating(x: Lanes, total: Value, c: Value) -> Value:
    wide = x.add(x.sext64(total), x.sext64(c))
    wide = x.smin(x.smax(wide, x.u64(-(1 << 31) & ((1 << 64) - 1))), x.u64((1 << 31) - 1))
    return x.low32(wide)


def _integer_product(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    n_rows = len(c) // 2
    kinds = [name for name in m if name in _INTEGER_TYPES]
    rows = [_unpacked(words, _integers(x, kinds[0])) for words in gather_rows(x, a, n_rows)]
    columns = [_unpacked(words, _integers(x, kinds[-1])) for words in gather_columns(x, b)]
    results = []
    for n, start in enumerate(c):
        total = x.u32(0)
        for left, right in zip(rows[n // 2], columns[n % 2], strict=True):
            total = x.add(total, x.mul(left, right))
        results.append(_add_saturating(x, total, start) if m.has("SAT") else x.add(total, start))
    return tuple(results)


_IMMA_MODS = "S8 U8 S4 U4 SAT"
_IMMA_8816 = {"mods": _IMMA_MODS, **_TENSOR, "latency": "imma_8816"}
_IMMA_16816 = {"mods": _IMMA_MODS, **_TENSOR, "latency": "imma_16816"}


@op("IMMA", sig="r2 <- r r r2", requires="8816", **_IMMA_8816)
@op("IMMA", sig="r2 <- r r r2", requires="8832", **_IMMA_8816)
def imma_8(x: Lanes, m: Modifiers, a: Value, b: Value, c: Words) -> Words:
    """D = A * B + C in 32-bit integers, 8 x 8; SAT clamps the sum."""
    return _shared(x, m, _integer_product, (a,), (b,), c)


@op("IMMA", sig="r4 <- r2 r r4", requires="16816", **_IMMA_16816)
@op("IMMA", sig="r4 <- r2 r r4", requires="16832 S4", **_IMMA_16816)
@op("IMMA", sig="r4 <- r2 r r4", requires="16832 U4", **_IMMA_16816)
def imma_16_small(x: Lanes, m: Modifiers, a: Words, b: Value, c: Words) -> Words:
    """D = A * B + C in 32-bit integers, 16 x 8; A is two registers, B one."""
    return _shared(x, m, _integer_product, a, (b,), c)


@op("IMMA", sig="r4 <- r4 r2 r4", requires="16832", **_IMMA_16816)
@op("IMMA", sig="r4 <- r4 r2 r4", requires="16864", **_IMMA_16816)
def imma_16(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """D = A * B + C in 32-bit integers, 16 x 8; A is four registers, B two."""
    return _shared(x, m, _integer_product, a, b, c)


def _bit_product(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    n_rows = len(c) // 2
    combine = x.xor if m.has("XOR") else x.and_
    rows, columns = gather_rows(x, a, n_rows), gather_columns(x, b)
    results = []
    for n, total in enumerate(c):
        for left, right in zip(rows[n // 2], columns[n % 2], strict=True):
            total = x.add(total, x.popcount(combine(left, right)))
        results.append(total)
    return tuple(results)


_BMMA = {"mods": "XOR AND POPC", **_TENSOR, "latency": "imma_8816"}


@op("BMMA", sig="r2 <- r r r2", requires="88128", **_BMMA)
def bmma_8(x: Lanes, m: Modifiers, a: Value, b: Value, c: Words) -> Words:
    """D = C + number of ones in A xor (or and) B, 8 x 8 with 128 bits of k."""
    return _shared(x, m, _bit_product, (a,), (b,), c)


@op("BMMA", sig="r4 <- r2 r r4", requires="168128", **_BMMA)
def bmma_16_small(x: Lanes, m: Modifiers, a: Words, b: Value, c: Words) -> Words:
    """D = C + number of ones in A xor (or and) B, 16 x 8 with 128 bits of k."""
    return _shared(x, m, _bit_product, a, (b,), c)


@op("BMMA", sig="r4 <- r4 r2 r4", requires="168256", **_BMMA)
def bmma_16(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """D = C + number of ones in A xor (or and) B, 16 x 8 with 256 bits of k."""
    return _shared(x, m, _bit_product, a, b, c)


# ---------------------------------------------------------------------------------- transpose


@op("MOVM", sig="r <- r", requires="16 MT88", pipe="xu", latency="shuffle", category="misc")
def movm(x: Lanes, m: Modifiers, a: Value) -> Value:
    """d = the 8 x 8 matrix of halves transposed: lane (g, t) gets A[2t][g] and A[2t + 1][g]."""
    lane = x.lane_id()
    row, column = x.shl(x.and_(lane, x.u32(3)), x.u32(3)), x.lshr(lane, x.u32(3))
    in_high_half = x.icmp("ne", x.and_(lane, x.u32(4)), x.u32(0))
    found = []
    for second in (0, 4):
        word = x.gather_lane(a, x.add(x.add(row, column), x.u32(second)))
        half = x.select(in_high_half, x.lshr(word, x.u32(16)), word)
        found.append(x.and_(half, x.u32(0xFFFF)))
    return pack(x, *found)


@op("MOVM", sig="r2 <- r", requires="U4TO8 M832", pipe="xu", latency="shuffle", category="misc")
def movm_widen(x: Lanes, m: Modifiers, a: Value) -> tuple[Value, ...]:
    """d = 8 x 32 numbers of 4 bits as bytes, in the order of an 8-bit matrix's two registers.

    Lane (g, t) holds row g, columns 8t to 8t + 7, and gets columns 4t to 4t + 3 of each half.
    """
    lane = x.lane_id()
    first = x.add(x.and_(lane, x.u32(28)), x.and_(x.lshr(lane, x.u32(1)), x.u32(1)))
    is_upper = x.icmp("ne", x.and_(lane, x.u32(1)), x.u32(0))
    found = []
    for half in (0, 2):
        word = x.gather_lane(a, x.add(first, x.u32(half)))
        four = x.select(is_upper, x.lshr(word, x.u32(16)), word)
        parts = [x.shl(x.and_(four, x.u32(0xF << 4 * j)), x.u32(4 * j)) for j in range(4)]
        found.append(x.or_(x.or_(parts[0], parts[1]), x.or_(parts[2], parts[3])))
    return tuple(found)
