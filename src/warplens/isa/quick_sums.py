"""A tensor core's sums where operands are ordinary numbers, in a quarter of the operations.

The result is that of isa/accumulate.py, bit for bit: a product of two operands is exact in single
precision; multiplied by the power of two that makes the last kept bit 1 and turned into an integer
it is cut as the tensor core cuts it. Exponents are compared two or four to a word. Infinities, NaNs
and sums whose largest exponent is beyond single precision's range are noticed, and left to
isa/accumulate.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warplens.isa.accumulate import F16, F32, KEPT_BITS, TF32, Layout
from warplens.isa.lanes import Lanes, Value

_NO_TERM = -8192 & 0xFFFFFFFF  # exponent of a zero
_LOWEST, _HIGHEST = -90, 120  # largest exponents for which single precision is exact
_LEAST_AT_ONCE = -80  # see `cut_products`
_WORDS_AT_ONCE = 2  # of A and B: the sum of their products is less than 2**31
_TERMS_OF_A_WORD = 8  # of products below 2**27, C beside them
_LAST_KEPT_OF_SINGLE = 1 << 29  # in the bits of a double


@dataclass(frozen=True, slots=True)
class Operands:
    """One row of A or column of B as a lane holds it.

    `exponents` hold fields of `part` bits: an exponent plus a bias that a sum with a zero's, which
    is 0, cannot reach. `special` has a bit set in `_special_bits` where one is infinite or NaN.
    """

    numbers: list[Value]
    exponents: list[Value]
    special: Value
    part: int

    def gathered(self, x: Lanes, first: Value) -> Gathered:
        """Those of four neighbouring lanes."""
        lanes = [x.add(first, x.u32(j)) for j in range(4)]
        fields = [x.gather_lane(e, lane) for lane in lanes for e in self.exponents]
        return Gathered(self.numbers, lanes, fields, self.part)


@dataclass(frozen=True, slots=True)
class Gathered:
    """Operands of four lanes, whose numbers are fetched where they are used.

    All fetched at once they would not fit into the processor's registers.
    """

    numbers: list[Value]  # of one lane
    lanes: list[Value]
    exponents: list[Value]
    part: int

    def number(self, x: Lanes, k: int) -> Value:
        lane, n = divmod(k, len(self.numbers))
        return x.gather_lane(self.numbers[n], self.lanes[lane])


def _bias(layout: Layout) -> int:
    """What is added to a number's exponent in its field."""
    return 32 if layout == F16 else 256


def _both(layout: Layout, n: int) -> int:
    """`n` in each half of a word; in a word that holds one number, once."""
    return n if layout == TF32 else n | n << 16


def _exponents(x: Lanes, layout: Layout, word: Value) -> Value:
    """The fields of a word's numbers: of a zero 0, of denormals that of the least exponent."""
    if layout == TF32:
        size = x.and_(word, x.u32(0x7FFFE000))
        field = x.lshr(x.umax(size, x.u32(1 << 23)), x.u32(23))
        field = x.or_(field, x.u32(_bias(layout)))
        return x.select(x.icmp("eq", size, x.u32(0)), x.u32(0), field)
    p, one = layout.fraction_bits, _both(layout, 1)
    size = x.and_(word, x.u32(0x7FFF7FFF))
    field = x.lshr(x.umax_parts(size, x.u32(one << p), 16), x.u32(p))
    field = x.or_(
        x.and_(field, x.u32(_both(layout, _bias(layout) - 1))), x.u32(one * _bias(layout))
    )
    is_there = x.umin_parts(size, x.u32(one), 16)
    shift = (2 * _bias(layout)).bit_length() - 1
    return x.and_(field, x.sub(x.shl(is_there, x.u32(shift)), is_there))


def _numbers(x: Lanes, layout: Layout, word: Value) -> list[Value]:
    """A word's numbers in single precision."""
    if layout == TF32:  # the 13 low bits are not looked at
        return [x.bits_to_f32(x.and_(word, x.u32(0xFFFFE000)))]
    if layout == F16:
        halves = (x.bits_to_f16(word), x.bits_to_f16(x.lshr(word, x.u32(16))))
        return [x.float_to_float(half, "f32") for half in halves]
    high = x.and_(word, x.u32(0xFFFF0000))
    return [x.bits_to_f32(x.shl(word, x.u32(16))), x.bits_to_f32(high)]


def operands(x: Lanes, layout: Layout, words: list[Value]) -> Operands:
    """Numbers packed in words, taken apart."""
    fields = [_exponents(x, layout, word) for word in words]
    special, one = x.u32(0), x.u32(_both(layout, 1))
    for field in fields:
        special = x.or_(special, x.add(field, one))
    part = 16
    if layout in (F16, TF32) and len(fields) % 2 == 0:
        part = 8 if layout == F16 else 16
        fields = [
            x.or_(low, x.shl(high, x.u32(part)))
            for low, high in zip(fields[::2], fields[1::2], strict=True)
        ]
    numbers = [number for word in words for number in _numbers(x, layout, word)]
    return Operands(numbers, fields, special, part)


def is_special(x: Lanes, layout: Layout, every: list[Operands]) -> Value:
    """Lanes that hold an infinity or NaN."""
    some = x.u32(0)
    for one in every:
        some = x.or_(some, one.special)
    bits = x.and_(some, x.u32(_both(layout, 2 * _bias(layout))))
    return x.icmp("ne", bits, x.u32(0))


def _largest_product(x: Lanes, layout: Layout, a: Gathered, b: Gathered, block: int = 0,
                     blocks: int = 1) -> Value:  # fmt: skip
    """The largest exponent of a product, unbiased: of those in one of some blocks of k."""
    top, of_lane = x.u32(0), len(a.exponents) // 4
    pairs = list(zip(a.exponents, b.exponents, strict=True))
    for k, (p, q) in enumerate(pairs):
        if k % of_lane * blocks // of_lane != block:
            continue
        top = x.umax_parts(top, x.add(p, q), a.part)
    top = x.umax_parts(top, x.lshr(top, x.u32(16)), a.part)
    if a.part == 8:
        top = x.umax_parts(top, x.lshr(top, x.u32(8)), 8)
    top = x.and_(top, x.u32((1 << a.part) - 1))
    least = 2 * _bias(layout) + 2
    exponent = x.sub(top, x.u32(2 * (_bias(layout) + layout.bias)))
    return x.select(x.icmp("ult", top, x.u32(least)), x.u32(_NO_TERM), exponent)


def _exponent_of_c(x: Lanes, layout: Layout, c: Value) -> Value:
    size = x.and_(x.raw_bits(c), x.u32(0x7FFFFFFF))
    least = 128 - layout.bias
    field = x.umax(x.lshr(size, x.u32(23)), x.u32(least))
    return x.select(x.icmp("eq", size, x.u32(0)), x.u32(_NO_TERM), x.sub(field, x.u32(127)))


def _singles(x: Lanes, target: Layout, c: list[Value]) -> list[Value]:
    """C's numbers in single precision."""
    if target == F16:
        return [x.float_to_float(x.bits_to_f16(word), "f32") for word in c]
    return [x.bits_to_f32(word) for word in c]


def _power(x: Lanes, exponent: Value) -> Value:
    return x.bits_to_f32(x.shl(x.add(exponent, x.u32(127)), x.u32(23)))


def _scale(x: Lanes, top: Value) -> Value:
    """The power of two that makes the last kept bit 1."""
    return x.bits_to_f32(x.shl(x.sub(x.u32(KEPT_BITS + 127), top), x.u32(23)))


def _inverse(x: Lanes, power: Value) -> Value:
    return x.bits_to_f32(x.sub(x.u32(254 << 23), x.raw_bits(power)))


def _within(x: Lanes, exponent: Value) -> Value:
    """An exponent that single precision has: beyond it, factors meet zeros only."""
    return x.smin(x.smax(exponent, x.u32(-126 & 0xFFFFFFFF)), x.u32(126))


def sums(x: Lanes, layout: Layout, pairs: list[tuple[Gathered, Gathered]], c: list[Value],
         target: Layout, raised: list[list[Value]] | None = None,
         ) -> tuple[Value, list[Value]]:  # fmt: skip
    """Lanes in which this way does not hold, and the bits of c + a * b for each pair.

    Numbers of C come as bits of `target`, f32 or f16. `raised`: per pair, what is added to the
    exponents of products, for each block of k.
    """
    blocks = len(raised[0]) if raised else 1
    c = _singles(x, target, c)
    outside, tops = x.false(), []
    for n, ((a, b), start) in enumerate(zip(pairs, c, strict=True)):
        top = _exponent_of_c(x, target, start)
        for block in range(blocks):
            largest = _largest_product(x, layout, a, b, block, blocks)
            top = x.smax(top, x.add(largest, raised[n][block]) if raised else largest)
        beyond = x.icmp("sgt", top, x.u32(_HIGHEST))
        below = x.icmp("ult", x.add(top, x.u32(4000)), x.u32(4000 + _LOWEST))
        outside = x.por(outside, x.por(beyond, below))
        tops.append(x.smax(top, x.u32(_LOWEST)))
    scales = [_scale(x, top) for top in tops]
    factors = [[scale] for scale in scales]
    if raised:
        factors = [
            [_power(x, _within(x, x.add(x.sub(x.u32(KEPT_BITS), top), one))) for one in more]
            for top, more in zip(tops, raised, strict=True)
        ]
    totals = [[x.truncated(x.fmul(start, scale))] for start, scale in zip(c, scales, strict=True)]
    for row in range(0, len(pairs), 2):
        some = slice(row, row + 2)
        _add_products(x, pairs[some], factors[some], totals[some])
    overflow, rounded = x.u32(0), []
    for parts, scale in zip(totals, scales, strict=True):
        bits, over = _rounded(x, parts, scale, target)
        overflow = x.or_(overflow, over)
        rounded.append(bits)
    return x.por(outside, x.icmp("slt", overflow, x.u32(0))), rounded


def _add_products(x: Lanes, pairs: list[tuple[Gathered, Gathered]], factors: list[list[Value]],
                  totals: list[list[Value]]) -> None:  # fmt: skip
    """Adds one row's products with some columns to the parts of their totals."""
    row = pairs[0][0]
    of_lane = len(row.numbers)
    for k in range(len(row.lanes) * of_lane):
        number = row.number(x, k)
        for (_, b), each, parts in zip(pairs, factors, totals, strict=True):
            scale = each[k % of_lane * len(each) // of_lane]
            term = x.truncated(x.fmul(x.fmul(number, b.number(x, k)), scale))
            if k % _TERMS_OF_A_WORD == 0 and k > 0:
                parts.append(term)
            else:
                parts[-1] = x.add(parts[-1], term)


def _rounded(x: Lanes, parts: list[Value], scale: Value, target: Layout) -> tuple[Value, Value]:
    """The bits of the sum of whole numbers, in units of the last kept bit; below 0: overflow."""
    overflow = x.u32(0)
    if target == F32 and len(parts) <= 2:
        total = parts[0]
        for part in parts[1:]:
            total = x.add(total, part)
            overflow = x.and_(x.xor(parts[0], total), x.xor(part, total))
        single = x.int_to_float(total, "f32", True, "RZ")
    else:
        single = _single(x, parts, target)
    result = x.fmul(single, _inverse(x, scale))
    if target == F32:
        return x.raw_bits(result), overflow
    half = x.raw_bits(x.float_to_float(result, "f16"))
    is_zero = x.icmp("eq", x.and_(half, x.u32(0x7FFF)), x.u32(0))
    return x.select(is_zero, x.u32(0), half), overflow


def _single(x: Lanes, parts: list[Value], target: Layout) -> Value:
    """The sum of more whole numbers than a word holds, in single precision, rounded to zero."""
    total = x.int_to_float(parts[0], "f64", True)
    for part in parts[1:]:
        total = x.fadd(total, x.int_to_float(part, "f64", True))
    bits = x.raw_bits(total)
    cut = x.and_(bits, x.u64(-_LAST_KEPT_OF_SINGLE & 0xFFFFFFFFFFFFFFFF))
    if target == F16:  # a last bit that tells of dropped ones: rounding again is then right
        lost = x.icmp("ne", cut, bits)
        cut = x.or_(cut, x.select(lost, x.u64(_LAST_KEPT_OF_SINGLE), x.u64(0)))
    return x.float_to_float(x.bits_to_f64(cut), "f32")


def _sums_of_halves(x: Lanes, rows: list[list[Value]], columns: list[Value], c: list[Value],
                    target: Layout) -> tuple[Value, list[Value]] | None:  # fmt: skip
    """As `sums`, with A's and B's words, where an engine cuts all products at once."""
    if len(columns) > _WORDS_AT_ONCE:
        return None
    starts = _singles(x, target, c)
    sizes = [x.and_(x.raw_bits(start), x.u32(0x7FFFFFFF)) for start in starts]
    lowest = x.u32(127 + _LEAST_AT_ONCE)
    least = [x.umax(x.lshr(size, x.u32(23)), lowest) for size in sizes]
    found = x.cut_products(rows, columns, least)
    if found is None:
        return None
    outside, tops, products = found
    highest, smallest = x.u32(0), x.u32(0xFFFFFFFF)  # without zeros
    for size in sizes:
        highest = x.umax(highest, size)
        smallest = x.umin(smallest, x.sub(size, x.u32(1)))
    outside = x.por(outside, x.icmp("uge", highest, x.u32(128 + _HIGHEST << 23)))
    outside = x.por(outside, x.icmp("ult", smallest, x.u32((127 + _LEAST_AT_ONCE << 23) - 1)))
    overflow, rounded = x.u32(0), []
    for start, top, product in zip(starts, tops, products, strict=True):
        scale = _scale(x, x.sub(top, x.u32(127)))
        parts = [x.truncated(x.fmul(start, scale)), product]
        bits, over = _rounded(x, parts, scale, target)
        overflow = x.or_(overflow, over)
        rounded.append(bits)
    return x.por(outside, x.icmp("slt", overflow, x.u32(0))), rounded


def product(x: Lanes, layout: Layout, rows: list[list[Value]], columns: list[Value],
            c: list[Value], target: Layout, otherwise: Callable[[], tuple[Value, ...]], *,
            raised: list[list[Value]] | None = None, unclear: Value | None = None,
            ) -> tuple[Value, ...]:  # fmt: skip
    """D's elements as bits, of a fragment as isa/matrix.py has it.

    `rows` are the words of rows g and g + 8, `columns` B's; `otherwise` gives the result anyhow,
    and does so where something is `unclear`. `raised`: see `sums`.
    """
    if layout == F16 and raised is None and unclear is None:
        found = _sums_of_halves(x, rows, columns, c, target)
        if found is not None:
            return x.rarely(found[0], tuple(found[1]), otherwise)
    lane = x.lane_id()
    first_row, first_column = x.and_(lane, x.u32(28)), x.shl(x.and_(lane, x.u32(3)), x.u32(3))
    own_rows, own_columns = [operands(x, layout, row) for row in rows], operands(x, layout, columns)
    a = [own.gathered(x, first_row) for own in own_rows]
    b = [own_columns.gathered(x, x.add(first_column, x.u32(4 * n))) for n in range(2)]
    pairs = [(a[n // 2], b[n % 2]) for n in range(len(c))]
    outside, results = sums(x, layout, pairs, c, target, raised)
    if unclear is not None:
        outside = x.por(outside, unclear)
    outside = x.por(outside, is_special(x, layout, [*own_rows, own_columns]))
    return x.rarely(outside, tuple(results), otherwise)
