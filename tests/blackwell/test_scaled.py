"""Block-scaled mma.sync of sm_120 against NumPy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.blackwell.test_products import close, narrow
from tests.in_turn import one_in
from warplens import Device

Array = npt.NDArray[Any]
KINDS = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
HEAD = 'extern "C" __global__ void NAME(const unsigned *a, const unsigned *b, const float *c, ' \
       "const unsigned *s, float *d) {\n  a += threadIdx.x * 4, b += threadIdx.x * 2;\n" \
       "  c += threadIdx.x * 4, d += threadIdx.x * 4, s += threadIdx.x * 2;\n"  # fmt: skip
CALL = """  asm volatile("mma.sync.aligned.FORM {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13}SCALES;"
    : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]),
      "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]), "r"(s[0]), "r"(s[1]));
}
"""  # noqa: E501
SCALES = ", %14, {0, 0}, %15, {0, 0}"
MIXED = [("e4m3", "e5m2"), ("e5m2", "e2m1"), ("e2m3", "e3m2"), ("e3m2", "e4m3"), ("e2m1", "e2m3")]


# byte and lanes of A's, byte and lane of B's, for one, two and four bytes of scales
SELECTORS = [(1, 1, 0, 0, 0), (1, 3, 1, 2, 3), (1, 2, 0, 3, 1), (1, 0, 1, 1, 2)]
SELECTORS += [(2, 2, 0, 0, 3), (2, 0, 1, 2, 1), (2, 2, 1, 2, 2), (4, 0, 1, 0, 3), (4, 0, 0, 0, 2)]


def _kernel(name: str, form: str, scales: str = SCALES) -> str:
    return HEAD.replace("NAME", name) + CALL.replace("FORM", form).replace("SCALES", scales)


@lru_cache(maxsize=1)
def module() -> Any:
    """All kernels."""
    source = "".join(
        _kernel(f"plain_{a}_{b}", f"m16n8k32.row.col.kind::f8f6f4.f32.{a}.{b}.f32", "")
        + _kernel(f"scaled_{a}_{b}", "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X"
                  f".f32.{a}.{b}.f32.ue8m0")
        for a, b in MIXED
    )  # fmt: skip
    tail = ".f32.e2m1.e2m1.f32."
    forms = (("mxf4", 2, "ue8m0"), ("mxf4nvf4", 2, "ue8m0"), ("mxf4nvf4", 4, "ue4m3"))
    for kind, many, of in forms:
        source += _kernel(f"{kind}_{many}", f"m16n8k64.row.col.kind::{kind}.block_scale."
                          f"scale_vec::{many}X{tail}{of}")  # fmt: skip
    kinds = {
        1: ("m16n8k32", "mxf8f6f4", "e4m3.e4m3", "ue8m0"),
        2: ("m16n8k64", "mxf4", "e2m1.e2m1", "ue8m0"),
        4: ("m16n8k64", "mxf4nvf4", "e2m1.e2m1", "ue4m3"),
    }
    for many, *places in SELECTORS:
        shape, kind, types, of = kinds[many]
        name = "_".join(map(str, ("selected", many, *places)))
        source += _kernel(name, f"{shape}.row.col.kind::{kind}.block_scale.scale_vec::{many}X"
                          f".f32.{types}.f32.{of}",
                          ", %14, {{{}, {}}}, %15, {{{}, {}}}".format(*places))  # fmt: skip
    form = "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0"
    source += _kernel("powers_4", form)
    return Device("sm_120").compile(source, options=["-arch=sm_120a"])


def run(name: str, a: Array, b: Array, c: Array, scales: Array,
        at: tuple[int, ...] = (0, 0, 0, 0)) -> Array:  # fmt: skip
    """A's and B's rows of bytes as fragments; the scales of rows, then columns, at the byte and
    lanes that selectors name; D."""
    g, t = np.arange(32) // 4, np.arange(32) % 4
    words_a, words_b = (np.ascontiguousarray(x).view(np.uint32) for x in (a, b))
    own_a = np.stack([words_a[r, k] for k in (t, t + 4) for r in (g, g + 8)], 1)
    own_b = np.stack([words_b[g, t], words_b[g, t + 4]], 1)
    given = placed_scales(scales, at)
    places = [(g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)]
    d = np.zeros((32, 4), np.float32)
    own_c = np.stack([c[place] for place in places], 1)
    module()[name][1, 32](np.ascontiguousarray(own_a), own_b, own_c, given, d)
    found = np.zeros((16, 8), np.float32)
    for k, place in enumerate(places):
        found[place] = d[:, k]
    return found


def placed_scales(scales: Array, at: tuple[int, ...]) -> Array:
    """The scales of 16 rows and 8 columns in the lanes' words, other bits where nobody looks."""
    byte, lanes, byte_b, lane_b = at
    given = np.full((32, 2), 0x55555555, np.uint32)
    for row in range(16):
        word = 0x55555555 & ((1 << 8 * byte) - 1) | int(scales[row]) << 8 * byte
        given[row % 8 * 4 + 2 * lanes + row // 8, 0] = word & 0xFFFFFFFF
    for column in range(8):
        word = 0x55555555 & ((1 << 8 * byte_b) - 1) | int(scales[16 + column]) << 8 * byte_b
        given[4 * column + lane_b, 1] = word & 0xFFFFFFFF
    return given


def contained(codes: Array, kind: str) -> Array:
    """Codes as they stand in bytes."""
    return codes << 2 if kind == "e2m1" else codes


@pytest.mark.parametrize(("is_scaled", "a_kind", "b_kind"), one_in(
    6, [(is_scaled, *kinds) for is_scaled in (False, True) for kinds in MIXED],
    lambda case: "-".join(map(str, case)), several=True,
))
def test_mixed_floats(is_scaled: bool, a_kind: str, b_kind: str) -> None:
    """8, 6 and 4 bits, with a power of two for each row and column, or without."""
    rng = np.random.default_rng(1)
    (a, av), (b, bv) = narrow(rng, KINDS[a_kind], 16, 32), narrow(rng, KINDS[b_kind], 8, 32)
    c = rng.standard_normal((16, 8)).astype(np.float32)
    codes = rng.integers(120, 135, 24) if is_scaled else np.full(24, 127)
    name = f"{'scaled' if is_scaled else 'plain'}_{a_kind}_{b_kind}"

    d = run(name, contained(a, a_kind), contained(b, b_kind), c, codes.astype(np.uint32))

    factors = 2.0 ** (codes - 127.0)[:, None]
    av, bv = av * factors[:16], bv * factors[16:]
    close(d, av @ bv.T + c, np.abs(av) @ np.abs(bv).T + np.abs(c))


@pytest.mark.parametrize(("name", "per"), one_in(
    3, [("mxf4_2", 32), ("mxf4nvf4_2", 32), ("mxf4nvf4_4", 16)],
    lambda case: "-".join(map(str, case)), first=2, several=True,
))
def test_four_bits(name: str, per: int) -> None:
    """Two numbers in a byte; scales for blocks of 32 or 16 steps of k."""
    rng = np.random.default_rng(2)
    (a, av), (b, bv) = narrow(rng, 5, 16, 64), narrow(rng, 5, 8, 64)
    c = rng.standard_normal((16, 8)).astype(np.float32)
    if per == 32:
        codes = rng.integers(122, 132, (24, 2))
        factors = 2.0 ** (codes - 127.0)
    else:
        codes, factors = narrow(rng, 0, 24, 4)
        codes, factors = codes & 127, np.abs(factors)
    words = sum(codes[:, k].astype(np.uint32) << np.uint32(8 * k) for k in range(64 // per))
    packed = (x[:, ::2] | x[:, 1::2] << 4 for x in (a, b))

    d = run(name, *packed, c, words)

    av, bv = av * factors[:16].repeat(per, 1), bv * factors[16:].repeat(per, 1)
    close(d, av @ bv.T + c, np.abs(av) @ np.abs(bv).T + np.abs(c))


@pytest.mark.parametrize("name", ["scaled_e4m3_e5m2", "mxf4_2"])
def test_scales_of_every_size(name: str) -> None:
    """Powers beyond those whose sums single precision holds, and the scale that is no number."""
    rng = np.random.default_rng(3)
    blocks, kinds = (1, (0, 1)) if name != "mxf4_2" else (2, (5, 5))
    depth = 32 * blocks
    (a, av), (b, bv) = narrow(rng, kinds[0], 16, depth), narrow(rng, kinds[1], 8, depth)
    codes = np.full((24, blocks), 127)
    sizes = (0, 1, 20, 60, 90, 110, 127, 140, 160, 200, 210, 215, 90, 255, 3, 127)
    codes[:16] = np.array(sizes)[:, None]
    codes[1:16:3, -1] = 127  # the blocks of a row differ
    codes[16:20] = 100
    words = sum(codes[:, k].astype(np.uint32) << np.uint32(8 * k) for k in range(blocks))
    given = (x[:, ::2] | x[:, 1::2] << 4 for x in (a, b)) if blocks == 2 else (a, b)

    d = run(name, *given, np.zeros((16, 8), np.float32), words)

    factors = (2.0 ** (codes - 127.0)).repeat(32, 1)
    is_nan = (codes[:16] == 255).any(1)
    av, bv = av * factors[:16], bv * factors[16:]
    assert np.isnan(d[is_nan]).all()
    exact, most = av @ bv.T, np.abs(av) @ np.abs(bv).T
    assert not np.isnan(d[~is_nan]).any()
    error = np.abs(d.astype(np.float64) - exact)[~is_nan]
    assert (error <= 2.0**-20 * most[~is_nan] + 2.0**-148).all()


@pytest.mark.parametrize("selectors", SELECTORS)
def test_selectors(selectors: tuple[int, ...]) -> None:
    """Scales stand in other bytes and lanes."""
    many, *places = selectors
    rng = np.random.default_rng(sum(selectors))
    depth, kind = (32, 0) if many == 1 else (64, 5)
    (a, av), (b, bv) = narrow(rng, kind, 16, depth), narrow(rng, kind, 8, depth)
    codes = rng.integers(120, 135, (24, many))
    factors = 2.0 ** (codes - 127.0)
    if many == 4:
        codes, factors = narrow(rng, 0, 24, 4)
        codes, factors = codes & 127, np.abs(factors)
    words = sum(codes[:, k].astype(np.uint32) << np.uint32(8 * k) for k in range(many))
    given = (a, b) if many == 1 else (x[:, ::2] | x[:, 1::2] << 4 for x in (a, b))
    name = "_".join(map(str, ("selected", *selectors)))

    d = run(name, *given, np.zeros((16, 8), np.float32), words, tuple(places))

    per = depth // many
    av, bv = av * factors[:16].repeat(per, 1), bv * factors[16:].repeat(per, 1)
    close(d, av @ bv.T, np.abs(av) @ np.abs(bv).T)


def test_four_powers() -> None:
    """Powers of two for blocks of 16 steps of k."""
    rng = np.random.default_rng(4)
    (a, av), (b, bv) = narrow(rng, 5, 16, 64), narrow(rng, 5, 8, 64)
    codes = rng.integers(117, 137, (24, 4))
    words = sum(codes[:, k].astype(np.uint32) << np.uint32(8 * k) for k in range(4))
    packed = (x[:, ::2] | x[:, 1::2] << 4 for x in (a, b))

    d = run("powers_4", *packed, np.zeros((16, 8), np.float32), words)

    factors = (2.0 ** (codes - 127.0)).repeat(16, 1)
    av, bv = av * factors[:16], bv * factors[16:]
    close(d, av @ bv.T, np.abs(av) @ np.abs(bv).T)


@pytest.mark.parametrize(
    ("a_kind", "b_kind"), one_in(4, MIXED[1:], "-".join, several=True)
)
def test_sums_in_halves(a_kind: str, b_kind: str) -> None:
    """8, 6 and 4 bits without scales; C and D are halves."""
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 4, (n, 32)).astype(np.uint8) for n in (16, 8))  # 0 and small numbers
    step = {"e4m3": 2.0**-9, "e5m2": 0, "e2m3": 2.0**-3, "e3m2": 2.0**-4, "e2m1": 0.5}
    av = a * step[a_kind]
    if a_kind == "e5m2":
        a, av = a | 0x38, 0.5 + 0.125 * a
    bv = b * step[b_kind]
    form = f"m16n8k32.row.col.kind::f8f6f4.f16.{a_kind}.{b_kind}.f16"
    call = """  asm volatile("mma.sync.aligned.FORM {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%8};"
    : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(0));
}
""".replace("FORM", form)  # noqa: E501
    head = 'extern "C" __global__ void k(const unsigned *a, const unsigned *b, unsigned *d) {\n' \
           "  a += threadIdx.x * 4, b += threadIdx.x * 2, d += threadIdx.x * 2;\n"  # fmt: skip
    kernel = Device("sm_120").compile(head + call, options=["-arch=sm_120a"])["k"]
    g, t = np.arange(32) // 4, np.arange(32) % 4
    words_a, words_b = (contained(x, k).view(np.uint32) for x, k in ((a, a_kind), (b, b_kind)))
    own_a = np.stack([words_a[r, k] for k in (t, t + 4) for r in (g, g + 8)], 1)
    d = np.zeros((32, 2), np.uint32)

    kernel[1, 32](own_a, np.stack([words_b[g, t], words_b[g, t + 4]], 1), d)

    found = d.view(np.float16).reshape(8, 4, 2, 2).transpose(2, 0, 1, 3).reshape(16, 8)
    assert np.array_equal(found, (av @ bv.T).astype(np.float16))
