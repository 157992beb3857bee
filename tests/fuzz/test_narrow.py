"""The host's half and bfloat16 arithmetic against tables of all values and exact rationals."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction

import numpy as np
import pytest

from tests.exact import MODES
from tests.fuzz import narrow
from tests.fuzz.values import TYPES, Array, random_values

FORMATS = {"h": narrow.to_half, "b": narrow.to_bfloat}


def _table(letter: str) -> list[float]:
    """Every finite value of a format, ascending, without -0."""
    words = np.arange(65536, dtype=np.uint32)
    with np.errstate(invalid="ignore"):
        values = TYPES[letter].from_words([words]).astype(np.float64)
    return sorted(set(values[np.isfinite(values)].tolist()))


TABLES = {letter: _table(letter) for letter in FORMATS}


def _chosen(value: Fraction, letter: str, mode: str) -> float:
    """The value of the format that a rounding mode selects; the one beyond the last is infinite."""
    table = TABLES[letter]
    step = Fraction(table[-1]) - Fraction(table[-2])
    place = bisect_left(table, value)
    if place < len(table) and table[place] == value:
        return table[place]
    below = Fraction(table[place - 1]) if place else Fraction(table[0]) - step
    above = Fraction(table[place]) if place < len(table) else Fraction(table[-1]) + step
    if mode == "rn":
        odd = place > 0 and _is_odd(letter, table[place - 1])
        up = above - value < value - below or (above - value == value - below and odd)
    else:
        up = mode == "ru" or (mode == "rz" and value < 0)
    picked = above if up else below
    if abs(picked) > Fraction(table[-1]):
        return float("inf") if picked > 0 else float("-inf")
    return float(picked)


def _is_odd(letter: str, value: float) -> bool:
    kind = TYPES[letter]
    return bool(kind.to_words(np.array([value], kind.kind))[0][0] & 1)


def _samples(letter: str, seed: int, n: int = 400) -> list[Array]:
    generator = np.random.default_rng(seed)
    return [random_values(generator, TYPES[letter], n) for _ in range(3)]


@pytest.mark.parametrize("letter", FORMATS)
@pytest.mark.parametrize("mode", MODES)
def test_rounding(letter: str, mode: str) -> None:
    """Doubles of all magnitudes round to the neighbour that the mode selects."""
    values = random_values(np.random.default_rng(1), TYPES["d"], 600)
    values = np.concatenate([values, _samples("f", 2)[0].astype(np.float64), _between(letter)])
    values = values[np.isfinite(values)]
    got = FORMATS[letter](values, mode).astype(np.float64)
    want = [_chosen(Fraction(v), letter, mode) for v in values.tolist()]

    assert got.tolist() == want


def _between(letter: str) -> Array:
    """Midpoints of neighbours, and the doubles next to them."""
    table = np.array(TABLES[letter])
    middle = (table[:-1] + table[1:])[:: len(table) // 150] / 2
    end = table[-1] + (table[-1] - table[-2]) / 2
    middle = np.concatenate([middle, [end, -end]])
    return np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])


@pytest.mark.parametrize("letter", FORMATS)
def test_multiply_add(letter: str) -> None:
    """Products and sums are rounded once."""
    a, b, c = _samples(letter, 3)
    with np.errstate(all="ignore"):
        product = FORMATS[letter](-(a.astype(np.float64) * b.astype(np.float64)))
    c = np.where(np.arange(len(c)) % 3 == 0, product, c)  # cancellation
    got = FORMATS[letter](narrow.fma(a, b, c)).astype(np.float64)
    rows = [row for row in zip(a, b, c, got, strict=True) if np.isfinite(row[:3]).all()]

    assert len(rows) > 200
    for x, y, z, result in rows:
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        assert result == _chosen(exact, letter, "rn")


def test_half_is_numpys() -> None:
    """NumPy's own conversion and sums of float16 agree, signs of zero included."""
    a, b, _ = _samples("h", 4)
    wide = random_values(np.random.default_rng(5), TYPES["d"], 600)
    with np.errstate(all="ignore"):
        pairs: list[tuple[Array, Array]] = [
            (narrow.to_half(wide), wide.astype(np.float16)),
            (narrow.to_half(narrow.odd_sum(a.astype(np.float64), b.astype(np.float64))), a + b),
            (narrow.to_half(a.astype(np.float64) * b.astype(np.float64)), a * b),
        ]
    for got, want in pairs:
        same = (got.view(np.uint16) == want.view(np.uint16)) | (np.isnan(got) & np.isnan(want))
        assert same.all()


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_fp8(kind: str) -> None:
    """Every code is its own value's; others go to the nearest one, ties to the even code."""
    values = narrow.fp8_values(kind)
    is_finite = np.isfinite(values)
    codes = np.arange(256, dtype=np.uint8)

    assert (narrow.fp8_bits(values[is_finite], kind) == codes[is_finite]).all()
    positive = values[:128][is_finite[:128]]
    middle = (positive[:-1] + positive[1:]) / 2
    place = np.arange(len(middle))
    for number, code in (
        (middle, place + place % 2),
        (np.nextafter(middle, 0), place),
        (np.nextafter(middle, np.inf), place + 1),
    ):
        assert (narrow.fp8_bits(number, kind) == code).all()
