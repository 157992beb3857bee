"""Block-scaled mma.sync of sm_120 against NumPy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.blackwell.test_products import close, narrow
from warplens import Device
from warplens.errors import Unsupported

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
SCALES = ", %14, {BYTE, 0}, %15, {0, 0}"
MIXED = [("e4m3", "e5m2"), ("e5m2", "e2m1"), ("e2m3", "e3m2"), ("e3m2", "e4m3"), ("e2m1", "e2m3")]


def _kernel(name: str, form: str, scales: str = SCALES.replace("BYTE", "0")) -> str:
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
    form = "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0"
    source += _kernel("selected", form, SCALES.replace("BYTE", "2"))
    return Device("sm_120").compile(source, options=["-arch=sm_120a"])


def run(name: str, a: Array, b: Array, c: Array, scales: Array) -> Array:
    """A's and B's rows of bytes as fragments; the scales of rows, then columns; D."""
    g, t = np.arange(32) // 4, np.arange(32) % 4
    words_a, words_b = (np.ascontiguousarray(x).view(np.uint32) for x in (a, b))
    own_a = np.stack([words_a[r, k] for k in (t, t + 4) for r in (g, g + 8)], 1)
    own_b = np.stack([words_b[g, t], words_b[g, t + 4]], 1)
    given = np.full((32, 2), 0x55555555, np.uint32)  # where nobody looks
    given[t == 0, 0], given[t == 1, 0], given[t == 0, 1] = scales[:8], scales[8:16], scales[16:]
    places = [(g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)]
    d = np.zeros((32, 4), np.float32)
    own_c = np.stack([c[place] for place in places], 1)
    module()[name][1, 32](np.ascontiguousarray(own_a), own_b, own_c, given, d)
    found = np.zeros((16, 8), np.float32)
    for k, place in enumerate(places):
        found[place] = d[:, k]
    return found


def contained(codes: Array, kind: str) -> Array:
    """Codes as they stand in bytes."""
    return codes << 2 if kind == "e2m1" else codes


@pytest.mark.parametrize(("a_kind", "b_kind"), MIXED)
@pytest.mark.parametrize("is_scaled", [False, True])
def test_mixed_floats(a_kind: str, b_kind: str, is_scaled: bool) -> None:
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


@pytest.mark.parametrize(("name", "per"), [("mxf4_2", 32), ("mxf4nvf4_2", 32), ("mxf4nvf4_4", 16)])
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


def test_selectors_are_refused() -> None:
    """Where the bits of other selectors than zero stand is not known."""
    with pytest.raises(Unsupported, match="selectors of scales"):
        module()["selected"]
