"""The quick way to a tensor core's sums gives the bits of the plain one, which recordings show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.isa.engines import Compiled
from warplens.isa import matrix
from warplens.isa.accumulate import F16, F32, Layout
from warplens.isa.table import Modifiers

Array = np.ndarray[Any, Any]
FORMS = [
    ("f16", ("16816", "F32"), (4, 2, 4)), ("f16", ("1688", "F32"), (2, 1, 4)),
    ("f16", ("16816", "F16"), (4, 2, 2)), ("bf16", ("16816", "F32", "BF16"), (4, 2, 4)),
    ("bf16", ("1688", "F32", "BF16"), (2, 1, 4)), ("tf32", ("1684", "F32", "TF32"), (2, 1, 4)),
    ("tf32", ("1688", "F32", "TF32"), (4, 2, 4)),
    ("f8", ("16832", "F32", "E4M3", "E5M2"), (4, 2, 4)),
    ("f8", ("16832", "F16", "E5M2", "E4M3"), (4, 2, 2)),
]  # fmt: skip
KINDS = ("uniform", "spread", "zeros", "tiny", "whole", "full", "bits", "positive", "none")


def numbers(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Array:
    """Numbers whose exponents lie as a kernel's do, or far apart, with zeros and denormals."""
    if kind == "uniform":
        return rng.random(shape)
    if kind == "none":  # zeros of both signs
        return np.where(rng.random(shape) < 0.5, 0.0, -0.0) * np.ones(shape)
    if kind == "positive":  # with zeros; C is beyond the products where it is large
        found = rng.random(shape) * 2.0 ** -rng.integers(0, 9)
        return np.where(rng.random(shape) < 0.1, 0.0, found)
    if kind == "full":  # sums that no word holds
        return np.full(shape, float(rng.choice([-1, 1])) * (2 - 2.0**-10))
    if kind == "whole":
        return rng.integers(-8, 9, shape).astype(np.float64)
    found = rng.standard_normal(shape) * 2.0 ** rng.integers(-10, 10, shape)
    if kind == "zeros":
        found = np.where(rng.random(shape) < 0.4, 0.0, found)
    if kind == "tiny":
        found *= 2.0 ** rng.integers(-40, 4, shape)
    return found


def registers(rng: np.random.Generator, count: int, format: str, kind: str) -> Array:
    """Words of packed numbers; "bits": anything, infinities and NaNs too."""
    shape = (count, 32)
    if kind == "bits" or format == "f8":
        words = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
        return words if kind == "bits" else words & np.uint32(0xBFBFBFBF)
    low, high = (numbers(rng, shape, kind) for _ in range(2))
    if format == "f16":
        halves = [v.astype(np.float16).view(np.uint16).astype(np.uint32) for v in (low, high)]
        return halves[0] | halves[1] << np.uint32(16)
    singles = [v.astype(np.float32).view(np.uint32) for v in (low, high)]
    if format == "tf32":
        return singles[0]
    return singles[0] >> np.uint32(16) | singles[1] & np.uint32(0xFFFF0000)


@pytest.mark.parametrize(("format", "names", "counts"), one_in(
    3, FORMS, lambda case: "-".join(map(str, case)), several=True,
))
def test_equals_the_plain_way(
    format: str, names: tuple[str, ...], counts: tuple[int, int, int]
) -> None:
    """Each kind of numbers, with C large, small and zero."""
    m, (n_a, n_b, n_c) = Modifiers(names), counts
    target: Layout = F16 if n_c == 2 else F32

    def quick(x: Any, *words: Any) -> Any:
        product = matrix._float_product_f32 if target is F32 else matrix._float_product_f16
        return product(x, m, words[:n_a], words[n_a : n_a + n_b], words[n_a + n_b :])

    def plain(x: Any, *words: Any) -> Any:
        a, b, c = words[:n_a], words[n_a : n_a + n_b], words[n_a + n_b :]
        if target is F32:
            return matrix._float_product(x, m, a, b, c, F32)
        parts = tuple(part for word in c for part in matrix._parts(x, word, 16))
        d = matrix._float_product(x, m, a, b, parts, F16)
        return matrix.pack(x, d[0], d[1]), matrix.pack(x, d[2], d[3])

    types, rng = ["u32"] * (n_a + n_b + n_c), np.random.default_rng(3)
    ways, every = [Compiled(way, types) for way in (quick, plain)], np.ones(32, bool)
    for round in range(120):
        kind = KINDS[round % len(KINDS)]
        a, b = (registers(rng, n, format, kind) for n in (n_a, n_b))
        c = registers(rng, n_c, "f16" if target is F16 else "tf32", kind)
        if kind == "positive" and target is F32:
            c = (c.view(np.float32) * np.float32(2.0 ** rng.integers(0, 12))).view(np.uint32)
        c = c if round % 4 else np.zeros_like(c)
        found, expected = (np.array(way(every, *a, *b, *c)) for way in ways)
        assert np.array_equal(found, expected), (names, kind, round)
