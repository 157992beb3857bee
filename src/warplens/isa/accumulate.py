"""How tensor cores sum products: everything aligned to the largest term, then cut, then added.

Recorded on an H200 (sm_90) and bit-exact there for every format and depth of mma.sync: the exact
products of one instruction and its C are shifted to the largest exponent among them (a product's
exponent is the sum of its operands' exponents), bits below 2**-25 of that are dropped, and the sum
is exact. An f32 result is cut to its 24 bits, an f16 result is rounded to nearest. Other
architectures are known to differ in how many products they take at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from warplens.isa.lanes import Lanes, Value

KEPT_BITS = 25  # below the exponent of the largest term
_ZERO = -4096  # exponent of a zero: sums of it with any other never are the largest
_SPECIAL = 10000  # exponent of an infinity or NaN
_ANY_SPECIAL = 3000  # a largest exponent above this comes from a special operand


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Fraction and exponent bits of a format whose sign is on top of them."""

    fraction_bits: int
    exponent_bits: int

    @property
    def bias(self) -> int:
        """What is added to the exponent in the format."""
        return (1 << (self.exponent_bits - 1)) - 1


F16 = Layout(fraction_bits=10, exponent_bits=5)
BF16 = Layout(fraction_bits=7, exponent_bits=8)
TF32 = Layout(fraction_bits=10, exponent_bits=8)
F32 = Layout(fraction_bits=23, exponent_bits=8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A number taken apart, each part a u32.

    `mantissa` is a whole number, `exponent` biased as in the format (1 for denormals), `shape` an
    f32 pattern that stands for the number where only its kind counts: +-0, +-1, infinity or NaN.
    """

    mantissa: Value
    exponent: Value
    shape: Value

    def gathered(self, x: Lanes, index: Value) -> Split:
        """The parts of the number in another lane."""
        return Split(
            mantissa=x.gather_lane(self.mantissa, index),
            exponent=x.gather_lane(self.exponent, index),
            shape=x.gather_lane(self.shape, index),
        )


def split(x: Lanes, layout: Layout, bits: Value, shift: int) -> Split:
    """Takes the number in the low bits of a word apart; the mantissa comes shifted left."""
    p, top = layout.fraction_bits, (1 << layout.exponent_bits) - 1
    field = x.and_(x.lshr(bits, x.u32(p)), x.u32(top))
    fraction = x.and_(bits, x.u32((1 << p) - 1))
    zero = x.u32(0)
    mantissa = x.select(x.icmp("eq", field, zero), fraction, x.or_(fraction, x.u32(1 << p)))
    is_zero, is_special = x.icmp("eq", mantissa, zero), x.icmp("eq", field, x.u32(top))
    exponent = x.select(is_zero, x.u32(_ZERO), x.umax(field, x.u32(1)))
    sign = x.and_(x.shl(bits, x.u32(31 - p - layout.exponent_bits)), x.u32(1 << 31))
    special = x.or_(x.shl(fraction, x.u32(23 - p)), x.u32(0x7F800000))
    shape = x.select(is_special, special, x.select(is_zero, zero, x.u32(0x3F800000)))
    return Split(
        mantissa=x.shl(mantissa, x.u32(shift)),
        exponent=x.select(is_special, x.u32(_SPECIAL), exponent),
        shape=x.or_(shape, sign),
    )


def split_a(x: Lanes, layout: Layout, bits: Value) -> Split:
    """An element of A, shifted so that its products have their bits in place."""
    return split(x, layout, bits, KEPT_BITS - 2 * layout.fraction_bits)


def split_b(x: Lanes, layout: Layout, bits: Value) -> Split:
    """An element of B."""
    return split(x, layout, bits, 0)


def _signed(x: Lanes, size: Value, sign: Value) -> Value:
    """`size`, negated where bit 31 of `sign` is set."""
    mask = x.ashr(sign, x.u32(31))
    return x.sub(x.xor(size, mask), mask)


def accumulate(
    x: Lanes, layout: Layout, a: list[Split], b: list[Split], c: Value, c_layout: Layout,
    kept_bits: int = KEPT_BITS,
) -> Value:  # fmt: skip
    """The bits of c + sum of a[k] * b[k], in c's format (f32 or f16).

    Terms keep `kept_bits` below the largest exponent.
    """
    dropped = KEPT_BITS - kept_bits
    shift_c = KEPT_BITS - c_layout.fraction_bits
    start = split(x, c_layout, c, shift_c)
    # From here on exponents count from twice the bias of A and B.
    exponent_c = x.add(start.exponent, x.u32(2 * layout.bias - c_layout.bias))
    exponents = [x.add(p.exponent, q.exponent) for p, q in zip(a, b, strict=True)]
    largest = exponent_c
    for exponent in exponents:
        largest = x.smax(largest, exponent)

    def aligned(size: Value, exponent: Value) -> Value:
        shift = x.sub(largest, exponent)
        shift = x.add(shift, x.u32(dropped)) if dropped else shift
        return x.lshr(size, x.umin(shift, x.u32(31)))

    total = x.int_to_float(
        _signed(x, aligned(start.mantissa, exponent_c), start.shape), "f64", True
    )
    partial = x.u32(0)
    for k, (p, q) in enumerate(zip(a, b, strict=True)):
        size = aligned(x.mul(p.mantissa, q.mantissa), exponents[k])
        partial = x.add(partial, _signed(x, size, x.xor(p.shape, q.shape)))
        # Eight terms below 2**27 fit into a word; doubles hold any number of such sums.
        if k % 8 == 7 or k + 1 == len(a):
            total = x.fadd(total, x.int_to_float(partial, "f64", True))
            partial = x.u32(0)
    unit = x.add(largest, x.u32(1023 - 2 * layout.bias - kept_bits))
    scale = x.bits_to_f64(x.shl(x.zext64(x.smax(unit, x.u32(1))), x.u64(52)))
    bits = _rounded(x, x.fmul(total, scale), c_layout)
    is_special = x.icmp("sgt", largest, x.u32(_ANY_SPECIAL))
    return x.select(is_special, _special(x, a, b, start, c_layout), bits)


def _rounded(x: Lanes, total: Value, layout: Layout) -> Value:
    if layout.fraction_bits == F16.fraction_bits:
        bits = x.raw_bits(x.float_to_float(total, "f16"))
        magnitude = 0x7FFF
    else:
        cut = x.raw_bits(x.float_to_float(total, "f32", "RZ"))
        # Cutting alone would stop at the largest finite number.
        too_large = x.fcmp("oge", x.fabs(total), x.f64((1023 + 128) << 52))
        infinity = x.or_(x.and_(cut, x.u32(1 << 31)), x.u32(0x7F800000))
        bits = x.select(too_large, infinity, cut)
        magnitude = 0x7FFFFFFF
    vanished = x.icmp("eq", x.and_(bits, x.u32(magnitude)), x.u32(0))
    return x.select(vanished, x.u32(0), bits)


def _special(x: Lanes, a: list[Split], b: list[Split], c: Split, layout: Layout) -> Value:
    """The sum where an operand is infinite or NaN: their kinds alone decide."""
    total = x.bits_to_f32(c.shape)
    for p, q in zip(a, b, strict=True):
        total = x.fadd(total, x.fmul(x.bits_to_f32(p.shape), x.bits_to_f32(q.shape)))
    if layout.fraction_bits == F16.fraction_bits:
        return x.bits(x.float_to_float(total, "f16"))
    return x.bits(total)
