"""A model of the multi-function unit (MUFU) that reproduces an H200's results bit for bit.

The unit is a table-driven quadratic interpolator. The argument is reduced to a segment number and
a 17-bit offset x; the segment's three integers give

    acc = C0 + C1 * x + C2 * square(x)

where `square` is x*x without the partial products below bit 19 (a truncated squarer). The result
is acc with its low bits dropped (truncation, no rounding). Everything is integer arithmetic below
2**63. The tables are in `src/warplens/isa/data/mufu_sm90.json`; they were recovered from dumps of
every mantissa (see `mufu_fit.py`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]
DATA = Path(__file__).parent.parent / "src" / "warplens" / "isa" / "data" / "mufu_sm90.json"
NAN = 0x7FFFFFFF
INFINITY = 0x7F800000
MANTISSA = 0x7FFFFF


def load_tables(path: Path = DATA) -> dict[str, Any]:
    """The tables: name -> {"c0": [...], "c1": [...], "c2": [...]}."""
    tables: dict[str, Any] = json.loads(path.read_text())["tables"]
    return tables


TABLES = load_tables() if DATA.exists() else {}


def truncated_square(x: Words) -> Words:
    """(x*x) >> 19 for 17-bit x, when every partial product below bit 19 is left out."""
    high = x >> 9
    low = x & 511
    total = (high * high - (high & 1)) >> 1
    for i in range(1, 8):
        total = total + (high >> i & 1) * (low >> (9 - i))
    return total


def interpolate(name: str, segment: Words, x: Words) -> Words:
    """acc of one table; `segment` and `x` are arrays of equal shape."""
    table = TABLES[name]
    c0, c1, c2 = (np.array(table[k], np.int64)[segment] for k in ("c0", "c1", "c2"))
    return c0 + c1 * x + c2 * truncated_square(x)


def _split(bits: Words) -> tuple[Words, Words, Words]:
    return bits >> 31 & 1, bits >> 23 & 255, bits & MANTISSA


def _pick(*cases: tuple[Any, Any]) -> Words:
    """The value of the first case whose condition holds."""
    return np.select([c for c, _ in cases], [np.asarray(v, np.int64) for _, v in cases])


def _to_float(acc: Words, fraction_bits: int) -> Words:
    """Bits of acc * 2**-fraction_bits for acc >= 0, truncated to 24 significant bits."""
    top = np.where(acc > 0, np.frexp(np.maximum(acc, 1).astype(np.float64))[1] - 1, 0)
    top = np.where(np.maximum(acc, 1) >> top == 0, top - 1, top)  # frexp may round up
    shift = top - 23
    mantissa = np.where(shift >= 0, acc >> np.clip(shift, 0, 62), acc << np.clip(-shift, 0, 62))
    return np.where(acc > 0, ((top - fraction_bits + 126) << 23) + mantissa, 0)


def rcp(bits: Words) -> Words:
    """1/x: 128 segments; denormals are zero on both sides."""
    sign, exponent, mantissa = _split(bits)
    value = interpolate("rcp", mantissa >> 16, (mantissa & 0xFFFF) << 1) >> 18
    result = value + ((127 - exponent) << 23)
    magnitude = _pick(
        ((exponent == 255) & (mantissa != 0), NAN),
        (exponent == 255, 0),
        (exponent == 0, INFINITY),
        (result < 0x800000, 0),
        (True, result),
    )
    return np.where(magnitude == NAN, NAN, magnitude | sign << 31)


def _root(name: str, bits: Words) -> Words:
    """The table of 128 segments over two binades: 64 for even, 64 for odd exponents."""
    _, exponent, mantissa = _split(bits)
    odd = (exponent & 1) ^ 1  # 127 is "even": 2**0
    return interpolate(name, (odd << 6) | mantissa >> 17, mantissa & 0x1FFFF) >> 18


def rsq(bits: Words) -> Words:
    """1/sqrt(x)."""
    sign, exponent, mantissa = _split(bits)
    power_of_four = (mantissa == 0) & (exponent & 1 == 1)
    value = np.where(power_of_four, 0x3F800000, _root("rsq", bits))
    value = value - (((exponent - 127) >> 1) << 23)
    return _pick(
        ((exponent == 255) & (mantissa != 0), NAN),
        (exponent == 0, INFINITY | sign << 31),
        (sign == 1, NAN),
        (exponent == 255, 0),
        (True, value),
    )


def sqrt(bits: Words) -> Words:
    """sqrt(x)."""
    sign, exponent, mantissa = _split(bits)
    value = _root("sqrt", bits) + (((exponent - 127) >> 1) << 23)
    return _pick(
        ((exponent == 255) & (mantissa != 0), NAN),
        (exponent == 0, sign << 31),
        (sign == 1, NAN),
        (exponent == 255, INFINITY),
        (True, value),
    )


def _fixed(exponent: Words, mantissa: Words, fraction_bits: int) -> Words:
    """|x| as fixed point with `fraction_bits`, truncated; meaningless from 2**15 on."""
    full = np.where(exponent == 0, 0, mantissa | 0x800000)
    shift = exponent - 150 + fraction_bits
    return np.where(shift >= 0, full << np.clip(shift, 0, 38), full >> np.clip(-shift, 0, 24))


def ex2(bits: Words) -> Words:
    """2**x: x is truncated to 23 fraction bits; for negative x the fraction is inverted."""
    sign, exponent, mantissa = _split(bits)
    fixed = _fixed(exponent, mantissa, 23)
    negative = np.where(fixed & MANTISSA == 0, -fixed, ~fixed)
    fixed = np.where(sign == 1, negative, fixed)
    fraction = fixed & MANTISSA
    value = interpolate("ex2", fraction >> 17, fraction & 0x1FFFF) >> 18
    result = value + ((fixed >> 23) << 23)
    return _pick(
        ((exponent == 255) & (mantissa != 0), NAN),
        (exponent >= 134, np.where(sign == 1, 0, INFINITY)),
        (result < 0x800000, 0),
        (True, result),
    )


def lg2(bits: Words) -> Words:
    """log2(x) = exponent + table(mantissa), negated by inversion, normalised and truncated."""
    sign, exponent, mantissa = _split(bits)
    acc = interpolate("lg2", mantissa >> 17, mantissa & 0x1FFFF) >> 2
    total = ((exponent - 127) << 36) + acc
    value = _to_float(np.where(total < 0, ~total, total), 36) | (total < 0).astype(np.int64) << 31
    return _pick(
        ((exponent == 255) & (mantissa != 0), NAN),
        (exponent == 0, INFINITY | 1 << 31),
        (sign == 1, NAN),
        (exponent == 255, INFINITY),
        (bits == 0x3F800000, 0),
        (True, value),
    )


def _turn(bits: Words, quarter: int) -> Words:
    """sin of x turns, `quarter` quarters ahead; x keeps 25 fraction bits."""
    sign, exponent, mantissa = _split(bits)
    fixed = np.where(exponent >= 150, 0, _fixed(exponent, mantissa, 25))
    quadrant = (fixed >> 23) + quarter & 3
    fraction = np.where(quadrant & 1 == 1, ~fixed, fixed) & MANTISSA
    acc = interpolate("sin", fraction >> 17, fraction & 0x1FFFF)
    negative = quadrant >> 1 ^ (sign if quarter == 0 else 0)
    value = _to_float(acc, 37) | negative << 31
    return np.where(exponent == 255, NAN, value)


def sin(bits: Words) -> Words:
    """sin(2 pi x)."""
    return _turn(bits, 0)


def cos(bits: Words) -> Words:
    """cos(2 pi x)."""
    return _turn(bits, 1)


# log2 of the number of segments for the exponents 119..129, and each binade's first segment
TANH_SPLIT = (0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3)
TANH_FIRST = (0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43)


def tanh(bits: Words) -> Words:
    """tanh(x): x itself below 2**-8, 1 from 8 on, else 51 segments."""
    sign, exponent, mantissa = _split(bits)
    row = np.clip(exponent - 119, 0, 10)
    split = np.array(TANH_SPLIT)[row]
    segment = np.array(TANH_FIRST)[row] + (mantissa >> (23 - split))
    x = mantissa >> (6 - split) & 0x1FFFF
    value = _to_float(interpolate("tanh", segment, x), 39)
    return _pick(
        ((exponent == 255) & (mantissa != 0), NAN),
        (exponent < 119, bits),
        (exponent >= 130, 0x3F800000 | sign << 31),
        (True, value | sign << 31),
    )


def rcp64h(bits: Words) -> Words:
    """High word of 1/x for the high word of a double: the table of `rcp`, three bits shorter."""
    sign, exponent, mantissa = bits >> 31 & 1, bits >> 20 & 0x7FF, bits & 0xFFFFF
    value = interpolate("rcp", mantissa >> 13, (mantissa & 0x1FFF) << 4) >> 18
    result = (value - (127 << 23) >> 3) + ((1023 + 1023 - exponent) << 20)
    magnitude = _pick(
        ((exponent == 0x7FF) & (mantissa != 0), NAN),
        (exponent == 0x7FF, 0),
        (exponent == 0, 0x7FF00000),
        (result < 0x100000, 0),
        (True, result),
    )
    return np.where(magnitude == NAN, NAN, magnitude | sign << 31)


def rsq64h(bits: Words) -> Words:
    """High word of 1/sqrt(x) for the high word of a double: the table of `rsq`."""
    sign, exponent, mantissa = bits >> 31 & 1, bits >> 20 & 0x7FF, bits & 0xFFFFF
    odd = (exponent & 1) ^ 1
    value = interpolate("rsq", (odd << 6) | mantissa >> 14, (mantissa & 0x3FFF) << 3) >> 18
    value = np.where((mantissa == 0) & (odd == 0), 127 << 23, value)
    result = (value - (127 << 23) >> 3) + ((1023 - ((exponent - 1023) >> 1)) << 20)
    return _pick(
        ((exponent == 0x7FF) & (mantissa != 0), NAN),
        (exponent == 0, 0x7FF00000 | sign << 31),
        (sign == 1, NAN),
        (exponent == 0x7FF, 0),
        (True, result),
    )


FUNCTIONS = {
    "RCP": rcp, "RSQ": rsq, "SQRT": sqrt, "EX2": ex2, "LG2": lg2, "SIN": sin, "COS": cos,
    "TANH": tanh, "RCP64H": rcp64h, "RSQ64H": rsq64h,
}  # fmt: skip
