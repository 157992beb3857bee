"""Numbers of the formats that tensor cores multiply, taken apart and put together."""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.textures.words import bits_of, double_of, power_of_two

F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8, UE8M0 = range(11)
NO_TERM, SPECIAL = -8192, 10000  # exponents of zero, of infinities and NaN
_NAN, _INFINITY = 0x7FF8000000000000, 0x7FF0000000000000


@native
def bits_of_kind(kind: int) -> int:
    """Bits of a number; TF32 without those that are not looked at."""
    if kind <= BF16:
        return 16
    if kind == TF32:
        return 19
    return 6 if kind in (E2M3, E3M2) else 4 if kind == E2M1 else 8


@native
def fraction_bits(kind: int) -> int:
    """Fraction bits of a float."""
    if kind in (F16, TF32):
        return 10
    if kind == BF16:
        return 7
    return 3 if kind in (E4M3, E2M3) else 1 if kind == E2M1 else 2


@native
def exponent_bits(kind: int) -> int:
    """Exponent bits of a float."""
    return bits_of_kind(kind) - 1 - fraction_bits(kind)


@native
def is_special(kind: int, bits: int) -> int:
    """1: infinity, 2: NaN."""
    size = bits & ((1 << (bits_of_kind(kind) - 1)) - 1)
    if kind == UE8M0:
        return 2 if bits == 255 else 0
    if kind == E4M3:
        return 2 if size == 127 else 0
    if kind >= E2M3:
        return 0
    fraction = fraction_bits(kind)
    if size >> fraction != (1 << exponent_bits(kind)) - 1:
        return 0
    return 2 if size & ((1 << fraction) - 1) else 1


@native
def exponent_of(kind: int, bits: int) -> int:
    """The unbiased exponent, of denormals the least one."""
    if is_special(kind, bits):
        return SPECIAL
    if kind == UE8M0:
        return bits - 127
    fraction, n = fraction_bits(kind), exponent_bits(kind)
    field = bits >> fraction & ((1 << n) - 1)
    if field == 0 and bits & ((1 << fraction) - 1) == 0:
        return NO_TERM
    return max(field, 1) - ((1 << (n - 1)) - 1)


@native
def value_of(kind: int, bits: int) -> float:
    """The number."""
    if kind == U8:
        return float(bits)
    if kind == S8:
        return float(bits - 256 if bits & 128 else bits)
    if kind == UE8M0:
        return float(double_of(_NAN)) if bits == 255 else power_of_two(bits - 127)
    sign = -1.0 if bits >> (bits_of_kind(kind) - 1) & 1 else 1.0
    special = is_special(kind, bits)
    if special:
        return float(double_of(_NAN) if special == 2 else sign * double_of(_INFINITY))
    fraction, n = fraction_bits(kind), exponent_bits(kind)
    field, part = bits >> fraction & ((1 << n) - 1), bits & ((1 << fraction) - 1)
    whole = part | (1 << fraction) if field else part
    return sign * float(whole) * power_of_two(max(field, 1) - ((1 << (n - 1)) - 1) - fraction)


@native
def length_of(size: int) -> int:
    """Bits of a number that is not negative."""
    n = 0
    while size >> n:
        n += 1
    return n


@native
def cut_to_single(total: int, unit: int) -> int:
    """The float nearest to zero's side of total * 2**unit."""
    if total == 0:
        return 0
    size = abs(total)
    gone = max(length_of(size) - 24, -149 - unit)
    kept = size >> gone << gone if gone > 0 else size
    if gone > 62 or kept == 0:
        return 0
    value = float(kept) * power_of_two(unit) if unit > -1000 else 0.0
    return int(bits_of(-value if total < 0 else value))


@native
def rounded_to_half(total: int, unit: int) -> int:
    """The half nearest to total * 2**unit; a sum that vanishes is +0."""
    size = abs(total)
    gone = max(length_of(size) - 11, -24 - unit)
    if gone > 62:
        return 0
    if gone > 0:
        kept, rest = size >> gone, size & ((1 << gone) - 1)
        middle = 1 << (gone - 1)
        kept = kept + 1 if rest > middle or (rest == middle and kept & 1) else kept
        unit = unit + gone
    else:
        kept = size
    if kept == 0:
        return 0
    n = length_of(kept)
    exponent = n - 1 + unit
    sign = 0x8000 if total < 0 else 0
    if exponent > 15:
        return sign | 0x7C00
    if exponent < -14:
        return sign | kept << (unit + 24)
    return sign | (exponent + 15) << 10 | ((kept << 11 >> (n - 1) >> 1) & 0x3FF)
