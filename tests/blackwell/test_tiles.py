"""Sums of tensor memory's products bit by bit, against NumPy: numbers of all sizes.

Terms are cut 25 bits below the largest exponent of a product or of D's old number, then added
exactly. Sixteen columns are summed at once where all are ordinary; specials beside them are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.blackwell.images import along_k, along_rows, instruction
from tests.blackwell.test_products import bytes_of, run

Array = npt.NDArray[Any]
KINDS = {  # name -> kernel, number in descriptors, exponent and fraction bits
    "f16": ("f16", 0, 5, 10), "bf16": ("f16", 1, 8, 7), "tf32": ("tf32", 2, 8, 10),
    "e4m3": ("f8f6f4", 0, 4, 3), "e5m2": ("f8f6f4", 1, 5, 2),
}  # fmt: skip
NONE = -8192


def random_codes(rng: np.random.Generator, kind: str, *shape: int) -> Array:
    """Any finite numbers: of wide formats within 2**-40 to 2**40, or 2**-140 to 2**60."""
    _, _, n, p = KINDS[kind]
    bias = (1 << n - 1) - 1
    low, high = (0, (1 << n) - 1) if n < 8 else (bias - 40, bias + 40)
    if n == 8 and rng.integers(2):
        low, high = 0, bias + 60
    field = rng.integers(low, high, shape)
    part, sign = rng.integers(0, 1 << p, shape), rng.integers(0, 2, shape)
    codes = np.where(rng.random(shape) < 0.1, 0, field << p | part) | sign << (n + p)
    return np.asarray(codes)


def taken_apart(kind: str, codes: Array) -> tuple[Array, Array]:
    """Values and exponents, of zeros one below all."""
    _, _, n, p = KINDS[kind]
    field, part = codes >> p & ((1 << n) - 1), codes & ((1 << p) - 1)
    exponent = np.maximum(field, 1) - ((1 << n - 1) - 1)
    whole = np.where(field > 0, part + (1 << p), part).astype(np.float64)
    values = np.ldexp(whole, exponent - p)
    sign = np.where(codes >> (n + p) & 1, -1.0, 1.0)
    return sign * values, np.where(whole == 0.0, NONE, exponent)


def stored(kind: str, codes: Array) -> Array:
    """Rows of bytes as they lie in shared memory."""
    if kind == "tf32":
        return bytes_of((codes << 13).astype(np.uint32))
    return bytes_of(codes.astype(np.uint8 if kind in ("e4m3", "e5m2") else np.uint16))


def exact(a: tuple[Array, Array], b: tuple[Array, Array], c: Array, halves: bool) -> Array:
    """D's bits."""
    terms = a[0][:, None, :] * b[0][None, :, :]
    exponents = a[1][:, None, :] + b[1][None, :, :]
    least = -14 if halves else -126
    mine = np.where(c == 0.0, NONE, np.maximum(np.frexp(c)[1] - 1, least))
    top = np.maximum(exponents.max(axis=2), mine)
    top = np.where(top < -3000, 0, top)
    total = np.trunc(np.ldexp(terms, 25 - top[..., None])).sum(axis=2)
    total += np.trunc(np.ldexp(c, 25 - top))
    if halves:
        with np.errstate(over="ignore"):
            return np.ldexp(total, top - 25).astype(np.float16).view(np.uint16).astype(np.uint32)
    gone = np.maximum(np.frexp(total)[1] - 24, -149 - (top - 25))
    cut = np.ldexp(np.trunc(np.ldexp(total, -gone)), gone + top - 25)
    return np.asarray((cut + 0.0).astype(np.float32)).view(np.uint32)


@pytest.mark.parametrize(
    ("kind", "halves"),
    [*((kind, False) for kind in KINDS), *((kind, True) for kind in ("f16", "e4m3", "e5m2"))],
)
@pytest.mark.parametrize("columns", [48, 24])
def test_sums_of_any_numbers(kind: str, halves: bool, columns: int) -> None:
    """Old numbers are as large as products, so that either decides what is cut."""
    rows = 64 if columns % 16 else 128
    for seed in range(3):
        rng = np.random.default_rng(seed)
        depth = {"tf32": 8, "f16": 16, "bf16": 16}.get(kind, 32)
        a, b = (random_codes(rng, kind, n, depth) for n in (rows, columns))
        if kind == "e4m3":
            a, b = (np.where(x & 127 == 127, x & 128, x) for x in (a, b))
        av, bv = taken_apart(kind, a), taken_apart(kind, b)
        size = np.abs(av[0]).max() * np.abs(bv[0]).max() * 2.0 ** rng.integers(-30, 4)
        c = rng.standard_normal((rows, columns)) * (min(size, 2.0**100) if not halves else 100.0)
        c = c.astype(np.float16 if halves else np.float32)
        words = c.view(np.uint16 if halves else np.uint32).astype(np.uint32)
        lanes = np.arange(rows) if rows == 128 else np.arange(64) // 16 * 32 + np.arange(64) % 16
        before = np.zeros((128, columns), np.uint32)
        before[lanes] = words
        first, da = along_k(stored(kind, a), 6, 0)
        second, db = along_k(stored(kind, b), 6, len(first))
        name, code, _, _ = KINDS[kind]

        after = run(name, np.concatenate([first, second]), da, db,
                    instruction(rows, columns, a=code, b=code, d=0 if halves else 1),
                    before)[lanes, :columns]  # fmt: skip

        found = exact(av, bv, c.astype(np.float64), halves)
        zero = (found & 0x7FFF == 0) if halves else found & 0x7FFFFFFF == 0
        assert np.array_equal(after, np.where(zero, 0, found))


def test_specials_stay_where_they_are() -> None:
    """An infinity spoils its row, a NaN its column; their tiles' other sums are as before."""
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal((n, 16)).astype(np.float16) for n in (128, 48))
    plain, spoilt = [], (a.copy(), b.copy())
    spoilt[0][3, 5], spoilt[1][20, 7] = np.inf, np.nan
    for x, y in ((a, b), spoilt):
        first, da = along_k(bytes_of(x.view(np.uint16)), 2, 0)
        second, db = along_rows(bytes_of(np.ascontiguousarray(y.T).view(np.uint16)), 0, len(first))
        form = instruction(128, 48, a=0, b=0, d=1, b_along=1)
        image = np.concatenate([first, second])
        plain.append(run("f16", image, da, db, form, np.zeros((128, 48), np.uint32))[:, :48])
    others = np.ones((128, 48), np.bool_)
    others[3], others[:, 20] = False, False
    assert np.array_equal(plain[0][others], plain[1][others])
    row = plain[1].view(np.float32)[3]
    assert np.isnan(plain[1].view(np.float32)[:, 20]).all()
    assert np.array_equal(np.delete(row, 20), np.where(np.delete(b[:, 5], 20) > 0, np.inf, -np.inf))
