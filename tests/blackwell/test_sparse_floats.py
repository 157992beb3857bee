"""Sparse mma.sync of bytes and 4-bit numbers against NumPy, and against what the compiler makes of
the same PTX where there is no such instruction."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.blackwell.test_products import close, narrow
from tests.blackwell.test_scaled import KINDS, contained, placed_scales
from tests.blackwell.test_sparse import spread, thinned
from tests.in_turn import one_in
from warplens import Device
from warplens.isa import forms

Array = npt.NDArray[Any]
HEAD = """extern "C" __global__ void NAME(const unsigned *a, const unsigned *b, const TYPE *c,
                     const unsigned *e, const unsigned *s, TYPE *d) {
  a += threadIdx.x * 4, b += threadIdx.x * 4, c += threadIdx.x * 4, d += threadIdx.x * 4;
  e += threadIdx.x, s += threadIdx.x * 2;
"""
CALL = """  asm volatile("mma.spORDER.sync.aligned.FORM {%0,%1,%2,%3}, {%4,%5,%6,%7},"
    "{%8,%9,%10,%11}, {%12,%13,%14,%15}, %16, 0x0SCALES;"
    : "=X"(d[0]), "=X"(d[1]), "=X"(d[2]), "=X"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]),
      "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "X"(c[0]), "X"(c[1]), "X"(c[2]), "X"(c[3]),
      "r"(e[0]), "r"(s[0]), "r"(s[1]));
}
"""
MIXED = [("e4m3", "e5m2"), ("e5m2", "e2m1"), ("e2m3", "e3m2"), ("e3m2", "e4m3"), ("e2m1", "e2m3")]
PRODUCTS = [(kind, *pair) for kind in ("plain", "scaled") for pair in MIXED]
ORDERED = "::ordered_metadata"
# kind, bytes of scales, their type, selectors
FOURS = [("mxf4", 2, "ue8m0", (0, 0, 0, 0)), ("mxf4nvf4", 2, "ue8m0", (2, 1, 0, 3)),
         ("mxf4nvf4", 4, "ue4m3", (0, 1, 0, 2)),
         ("mxf4nvf4", 4, "ue8m0", (0, 0, 0, 1))]  # fmt: skip


def _kernel(name: str, form: str, order: str = ORDERED, scales: str = "", of: str = "float") -> str:
    text = HEAD.replace("NAME", name) + CALL.replace("FORM", form).replace("SCALES", scales)
    text = text.replace("ORDER", order).replace("TYPE", of)
    letter = "f" if of == "float" else "r"
    return text.replace('"=X"', f'"={letter}"').replace('"X"', f'"{letter}"')


def _selectors(places: tuple[int, ...]) -> str:
    return ", %17, {{{}, {}}}, %18, {{{}, {}}}".format(*places)


@lru_cache(maxsize=1)
def module() -> Any:
    """All kernels of sm_120."""
    text = ""
    for a, b in MIXED:
        tail = f"f32.{a}.{b}.f32"
        text += _kernel(f"plain_{a}_{b}", f"m16n8k64.row.col.kind::f8f6f4.{tail}")
        form = f"m16n8k64.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.{tail}.ue8m0"
        text += _kernel(f"scaled_{a}_{b}", form, scales=_selectors((1, 1, 3, 2)))
    for kind, many, of, places in FOURS:
        form = f"m16n8k128.row.col.kind::{kind}.block_scale.scale_vec::{many}X.f32.e2m1.e2m1.f32"
        text += _kernel(f"{kind}_{many}_{of}", f"{form}.{of}", scales=_selectors(places))
    return Device("sm_120").compile(text, options=["-arch=sm_120a"])


def metadata(bits: Array) -> Array:
    """Each lane's word: lane 4 g + 2 i + h holds half i of k of row g + 8 h."""
    found = np.zeros(32, np.uint32)
    for row in range(16):
        for chunk in range(16):
            lane = row % 8 * 4 + chunk // 8 * 2 + row // 8
            found[lane] |= np.uint32(int(bits[row, chunk]) << 4 * (chunk % 8))
    return found


def run(kernel: Any, kept: Array, b: Array, c: Array, bits: Array,
        scales: Array | None = None) -> Array:  # fmt: skip
    """A's kept bytes and B's columns as fragments; D."""
    g, t = np.arange(32) // 4, np.arange(32) % 4
    words_a, words_b = (np.ascontiguousarray(x).view(np.uint32) for x in (kept, b))
    own_a = np.stack([words_a[r, k] for k in (t, t + 4) for r in (g, g + 8)], 1)
    own_b = np.stack([words_b[g, 4 * n + t] for n in range(4)], 1)
    places = [(g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)]
    d = np.zeros((32, 4), c.dtype)
    given = np.zeros((32, 2), np.uint32) if scales is None else scales
    kernel[1, 32](own_a, own_b, np.stack([c[p] for p in places], 1), metadata(bits), given, d)
    found = np.zeros((16, 8), c.dtype)
    for k, place in enumerate(places):
        found[place] = d[:, k]
    return found


@pytest.mark.parametrize("case", one_in(12, PRODUCTS, "-".join))
def test_mixed_floats(case: tuple[str, str, str]) -> None:
    """8, 6 and 4 bits, with a power of two for each row and column, or without."""
    kind, a_kind, b_kind = case
    is_scaled = kind == "scaled"
    rng = np.random.default_rng(1)
    (a, av), (b, bv) = narrow(rng, KINDS[a_kind], 16, 32), narrow(rng, KINDS[b_kind], 8, 64)
    chosen, bits = thinned(rng, 16, 16, 4)
    c = rng.standard_normal((16, 8)).astype(np.float32)
    codes = rng.integers(120, 135, 24) if is_scaled else np.full(24, 127)
    kernel = module()["_".join(case)]

    d = run(kernel, contained(a, a_kind), contained(b, b_kind), c, bits,
            placed_scales(codes, (1, 1, 3, 2)))  # fmt: skip

    factors = 2.0 ** (codes - 127.0)[:, None]
    full, bv = spread(av, chosen, 4) * factors[:16], bv * factors[16:]
    close(d, full @ bv.T + c, np.abs(full) @ np.abs(bv).T + np.abs(c))
    assert any("MMA" in form and ".SP." in form for form in forms.inferred(kernel.sass))


@pytest.mark.parametrize("case", one_in(4, FOURS, lambda case: f"{case[0]}-{case[1]}-{case[2]}"))
def test_four_bits(case: tuple[str, int, str, tuple[int, ...]]) -> None:
    """Two of four pairs are kept; scales for blocks of 64 or 32 steps of k."""
    kind, many, of, places = case
    rng = np.random.default_rng(2)
    (a, av), (b, bv) = narrow(rng, 5, 16, 64), narrow(rng, 5, 8, 128)
    chosen, bits = thinned(rng, 16, 16, 8)
    codes = rng.integers(118, 136, (24, many))
    factors = 2.0 ** (codes - 127.0)
    if of == "ue4m3":
        codes, factors = narrow(rng, 0, 24, many)
        codes, factors = codes & 127, np.abs(factors)
    words = sum(codes[:, k].astype(np.uint32) << np.uint32(8 * k) for k in range(many))
    packed = (x[:, ::2] | x[:, 1::2] << 4 for x in (a, b))

    d = run(module()[f"{kind}_{many}_{of}"], *packed, np.zeros((16, 8), np.float32), bits,
            placed_scales(words, places))  # fmt: skip

    factors = factors.repeat(128 // many, 1)
    full, bv = spread(av, chosen, 8) * factors[:16], bv * factors[16:]
    close(d, full @ bv.T, np.abs(full) @ np.abs(bv).T)


@pytest.mark.parametrize("name", ["scaled_e4m3_e5m2", "mxf4_2_ue8m0"])
def test_scales_of_every_size(name: str) -> None:
    """Powers beyond those whose sums single precision holds, and the scale that is no number."""
    rng = np.random.default_rng(3)
    is_four = name.startswith("mxf4")
    kinds, kept, blocks, width = ((5, 5), 64, 2, 8) if is_four else ((0, 1), 32, 1, 4)
    (a, av), (b, bv) = narrow(rng, kinds[0], 16, kept), narrow(rng, kinds[1], 8, 2 * kept)
    chosen, bits = thinned(rng, 16, 16, width)
    codes = np.full((24, blocks), 127)
    sizes = (0, 1, 20, 60, 90, 110, 127, 140, 160, 200, 210, 215, 90, 255, 3, 127)
    codes[:16] = np.array(sizes)[:, None]
    codes[1:16:3, -1] = 127  # the blocks of a row differ
    codes[16:20] = 100
    words = sum(codes[:, k].astype(np.uint32) << np.uint32(8 * k) for k in range(blocks))
    given = (x[:, ::2] | x[:, 1::2] << 4 for x in (a, b)) if is_four else (a, b)

    d = run(module()[name], *given, np.zeros((16, 8), np.float32), bits,
            placed_scales(words, (0, 0, 0, 0) if is_four else (1, 1, 3, 2)))  # fmt: skip

    factors = (2.0 ** (codes - 127.0)).repeat(2 * kept // blocks, 1)
    is_nan = (codes[:16] == 255).any(1)
    full, bv = spread(av, chosen, width) * factors[:16], bv * factors[16:]
    assert np.isnan(d[is_nan]).all() and not np.isnan(d[~is_nan]).any()
    exact, most = full @ bv.T, np.abs(full) @ np.abs(bv).T
    error = np.abs(d.astype(np.float64) - exact)[~is_nan]
    assert (error <= 2.0**-20 * most[~is_nan] + 2.0**-148).all()


def test_what_is_not_kept_meets_nothing() -> None:
    """NaN of B counts where A has a number only."""
    rng = np.random.default_rng(6)
    chosen, bits = thinned(rng, 16, 16, 4)
    b = np.full((8, 64), 0x3C, np.uint8)  # 1
    b[3, 5] = 0x7F
    kept = np.full((16, 32), 0x38, np.uint8)  # 1

    d = run(module()["plain_e4m3_e5m2"], kept, b, np.zeros((16, 8), np.float32), bits)

    meets = (chosen[:, 1] == 1).any(1)
    assert meets.any() and not meets.all()
    assert np.array_equal(np.isnan(d[:, 3]), meets)
    assert (d[~meets] == 32).all() and (np.delete(d, 3, 1) == 32).all()


@pytest.mark.parametrize("architecture", one_in(2, ["sm_89", "sm_120"], str, first=1))
def test_bytes_as_the_compiler_has_them(architecture: str) -> None:
    """For sm_90 the compiler makes these products of sparse ones of halves."""
    rng = np.random.default_rng(7)
    text = _kernel("k", "m16n8k64.row.col.f32.e4m3.e4m3.f32", order="")
    kept, b = (rng.integers(0x30, 0x48, (n, k)).astype(np.uint8) for n, k in ((16, 32), (8, 64)))
    _, bits = thinned(rng, 16, 16, 4)
    c = rng.integers(-9, 9, (16, 8)).astype(np.float32)

    ours, theirs = (Device(chip).compile(text)["k"] for chip in (architecture, "sm_90"))

    assert any("QMMA.SP" in inst.mnemonic for inst in ours.sass.instructions)
    assert any("HMMA.SP" in inst.mnemonic for inst in theirs.sass.instructions)
    found = run(ours, kept, b, c, bits)
    assert np.array_equal(found, run(theirs, kept, b, c, bits))
    assert len(np.unique(found)) > 50


SIGNS = [("s4", "u4", ""), ("u4", "s4", ".satfinite")]
INTEGERS = [(*signs, *depth) for signs in SIGNS for depth in ((128, 0), (64, 0), (64, 1))]


@pytest.mark.parametrize(("a_type", "b_type", "saturates", "depth", "selector"), one_in(
    6, INTEGERS, lambda case: "-".join(map(str, case)), several=True,
))
def test_integers_of_four_bits(
    a_type: str, b_type: str, saturates: str, depth: int, selector: int
) -> None:
    """sm_80 has them; for sm_90 the compiler makes two products of bytes of each."""
    rng = np.random.default_rng(depth)
    text = _kernel("k", f"m16n8k{depth}.row.col{saturates}.s32.{a_type}.{b_type}.s32", order="",
                   of="int").replace("0x0", hex(selector))  # fmt: skip
    if depth == 64:
        text = text.replace("{%4,%5,%6,%7}", "{%4,%5}").replace("{%8,%9,%10,%11}", "{%8,%9}")
    raw, other = (rng.integers(0, 16, (n, k)).astype(np.uint8) for n, k in ((16, 64), (8, 128)))
    chosen, bits = thinned(rng, 16, 16, 8)
    c = rng.integers(-(2**31), 2**31, (16, 8)).astype(np.int32)
    c[:4] = 2**31 - 50

    def values(codes: Array, of: str) -> Array:
        return np.where(codes > 7, codes.astype(int) - 16, codes) if of == "s4" else codes

    if depth == 64:  # A's and B's first half; metadata in the lanes that the selector names
        raw[:, 32:], other[:, 64:] = 0, 0
        bits = np.roll(bits, 8 * selector, 1)
        chosen = chosen.copy()
    full = spread(values(raw, a_type).astype(np.int64), chosen, 8)
    exact = full @ values(other, b_type).astype(np.int64).T + c
    exact = np.clip(exact, -(2**31), 2**31 - 1) if saturates else exact

    packed = [x[:, ::2] | x[:, 1::2] << 4 for x in (raw, other)]
    found = [run(Device(chip).compile(text)["k"], *packed, c, bits) for chip in ("sm_80", "sm_90")]

    assert np.array_equal(found[0], exact.astype(np.int32))
    if not saturates:  # what the compiler adds up in two parts it clamps twice
        assert np.array_equal(found[0], found[1])
