"""The primitives themselves: both engines agree, on this host and on lesser ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.isa.edges import edge_lanes
from tests.isa.engines import DTYPES, Array, Compiled, Typed, assert_lanes_equal, run_numpy
from warplens.lift.engines.host import host_features

LAYOUT = {"f16": (10, 5), "bf16": (7, 8), "f32": (23, 8), "f64": (52, 11)}
UNSIGNED = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}
FLOATS = tuple(LAYOUT)
ROUNDINGS = ("RN", "RZ", "RM", "RP")


def float_lanes(type: str, seed: int, width: int) -> Array:
    """Floats of any bits, edges of the format, and numbers near 1 with few bits set."""
    rng = np.random.default_rng(seed)
    fraction, exponent = LAYOUT[type]
    size = 1 + fraction + exponent
    top = (1 << exponent) - 1
    one = top >> 1
    edges = [0, 1, 2, (1 << fraction) - 1, 1 << fraction, (1 << fraction) + 1, top << fraction,
             (top << fraction) - 1, (top << fraction) | 1, (top + 1 << fraction) - 1]  # fmt: skip
    random = rng.integers(0, 1 << 63, width, dtype=np.uint64) * np.uint64(2)
    random = (random | rng.integers(0, 2, width).astype(np.uint64)) & np.uint64((1 << size) - 1)
    sign = random & np.uint64(1 << (size - 1))
    near = (one + rng.integers(-3, 4, width)).astype(np.uint64) << np.uint64(fraction)
    dense = near | (random & np.uint64((1 << fraction) - 1))
    sparse = near | (rng.integers(0, 8, width).astype(np.uint64) << np.uint64(fraction - 3))
    edge = rng.choice(np.array(edges, np.uint64), width)
    chosen = rng.integers(0, 6, width)
    magnitude = np.select([chosen == 0, chosen < 3, chosen == 3], [edge, dense, sparse], random)
    return (magnitude | sign).astype(UNSIGNED[type]).view(DTYPES[type])


def lanes_of(type: str, seed: int, width: int) -> Array:
    """Lanes of any protocol type."""
    return float_lanes(type, seed, width) if type in LAYOUT else edge_lanes(type, seed, width)


Primitive = tuple[str, Callable[..., Any], tuple[str, ...]]


def method(name: str, *types: str, **options: Any) -> Primitive:
    """A primitive called with values only; float results as bits, so that NaN compare equal."""

    def run(x: Any, *values: Any) -> Any:
        result = getattr(x, name)(*values, **options)
        return x.bits(result) if result.type in LAYOUT else result

    label = "-".join([name, *types, *map(str, options.values())])
    return label, run, types


def sign_method(name: str, type: str) -> Primitive:
    """A primitive on the sign or exponent, whose result keeps even the bits of a NaN."""
    return f"{name}-{type}", lambda x, a: x.raw_bits(getattr(x, name)(a)), (type,)


def compare(name: str, kind: str, type: str) -> Primitive:
    """A comparison of one kind."""
    return f"{kind}-{type}", lambda x, a, b: getattr(x, name)(kind, a, b), (type, type)


def shift(name: str, type: str) -> Primitive:
    """A shift by an amount below the width."""
    limit = 31 if type == "u32" else 63
    return (
        f"{name}-{type}",
        lambda x, a, n: getattr(x, name)(a, x.and_(n, getattr(x, type)(limit))),
        (type, type),
    )


def integers() -> list[Primitive]:
    """Integer primitives of both sizes."""
    found = []
    for t in ("u32", "u64"):
        for name in ("add", "sub", "mul", "and_", "or_", "xor", "umin", "umax", "smin", "smax"):
            found.append(method(name, t, t))
        found += [shift(name, t) for name in ("shl", "lshr", "ashr")]
        for name in ("not_", "popcount", "count_leading_zeros", "reverse_bits"):
            found.append(method(name, t))
        for kind in ("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"):
            found.append(compare("icmp", kind, t))
    found += [method(name, "u32") for name in ("zext64", "sext64")]
    found += [method(name, "u64") for name in ("low32", "high32")]
    return [*found, method("pair", "u32", "u32"), method("select", "p", "u64", "u64")]


def floats() -> list[Primitive]:
    """Float primitives in all formats and roundings."""
    found = []
    for t in FLOATS:
        for r in ROUNDINGS:
            found += [method(name, t, t, rounding=r) for name in ("fadd", "fmul")]
            found.append(method("ffma", t, t, t, rounding=r))
            found.append(method("round_integral", t, rounding=r))
            found += [method("float_to_float", t, type=to, rounding=r) for to in FLOATS]
            for source in ("u32", "u64"):
                for is_signed in (False, True):
                    found.append(
                        method("int_to_float", source, type=t, signed=is_signed, rounding=r)
                    )
        for to in ("u32", "u64"):
            found += [method("float_to_int", t, type=to, signed=s) for s in (False, True)]
        found += [sign_method(name, t) for name in ("fneg", "fabs", "flush")]
        found += [method("fdiv", t, t), method("fsqrt", t)]
        for kind in ("oeq", "one", "olt", "ole", "ogt", "oge", "ueq", "une", "ult", "ule", "ugt",
                     "uge", "ord", "uno"):  # fmt: skip
            found.append(compare("fcmp", kind, t))
    return found


def across() -> list[Primitive]:
    """Primitives that look at other lanes."""
    found = []
    for t in ("u32", "u64", "p", *FLOATS):
        found += [
            (f"gather-{t}", lambda x, a, i: bits_if_float(x, x.gather_lane(a, i)), (t, "u32")),
            (f"first-{t}", lambda x, a: bits_if_float(x, x.first_active(a)), (t,)),
        ]
    found.append(
        ("fixed-gather", lambda x, a: x.gather_lane(a, x.xor(x.lane_id(), x.u32(5))), ("u32",))
    )
    found.append(method("ballot", "p"))
    words = tuple((n * 2654435761) & 0xFFFFFFFF for n in range(100))
    found.append(("table", lambda x, a: x.table(words, x.and_(a, x.u32(63))), ("u32",)))
    return found


def bits_if_float(x: Any, value: Any) -> Any:
    """The exact bits of a float value, other values as they are."""
    return x.raw_bits(value) if value.type in LAYOUT else value


def chains() -> list[Primitive]:
    """Pairs of operations that a careless compiler would merge."""
    found: list[Primitive] = []
    for t in ("f32", "f64"):
        found += [
            (f"mul-add-{t}", lambda x, a, b, c: x.bits(x.fadd(x.fmul(a, b), c)), (t, t, t)),
            (f"add-minus-zero-{t}", lambda x, a: x.bits(x.fadd(a, minus_zero(x, a))), (t,)),
            (f"twice-negated-{t}", lambda x, a: x.raw_bits(x.fneg(x.fneg(a))), (t,)),
            (
                f"both-ways-{t}",
                lambda x, a, b: x.bits(x.fadd(x.fadd(a, b, "RM"), x.fadd(a, b, "RP"))),
                (t, t),
            ),
        ]
    return found


def minus_zero(x: Any, a: Any) -> Any:
    """-0 of the type of `a`."""
    return x.f32(1 << 31) if a.type == "f32" else x.f64(1 << 63)


PRIMITIVES = [*integers(), *floats(), *across(), *chains()]


def check(primitive: Primitive, width: int, host: str | None, opt: int, n_runs: int) -> None:
    """Random lanes, random active masks: LLVM gives what NumPy gives."""
    _, function, types = primitive
    compiled = Compiled(function, types, width, host_features(host), opt)
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        active = (rng.random(width) < 0.7) | (width == 1)
        arrays = [lanes_of(t, seed * 11 + n, width) for n, t in enumerate(types)]
        typed = [Typed(t, array) for t, array in zip(types, arrays, strict=True)]
        expected = run_numpy(function, active, typed)

        assert_lanes_equal(expected, compiled(active, *arrays), *arrays)


def names(primitives: list[Primitive]) -> list[str]:
    """Test identifiers."""
    return [primitive[0] for primitive in primitives]


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=names(PRIMITIVES))
def test_primitive_on_this_host(primitive: Primitive) -> None:
    """The host's own instructions, without LLVM's passes."""
    check(primitive, 32, None, 0, 6)


@pytest.mark.parametrize("primitive", PRIMITIVES[::2], ids=names(PRIMITIVES[::2]))
def test_primitive_without_avx512(primitive: Primitive) -> None:
    """Code for a processor with AVX2."""
    check(primitive, 32, "avx2", 0, 3)


@pytest.mark.parametrize("primitive", PRIMITIVES[1::2], ids=names(PRIMITIVES[1::2]))
def test_primitive_after_optimisation(primitive: Primitive) -> None:
    """LLVM's passes change no result."""
    check(primitive, 32, None, 3, 3)


DIRECTED = [p for p in PRIMITIVES if p[0][-2:] in ("RZ", "RM", "RP") and p[0][:2] in ("fa", "ff")]


@pytest.mark.parametrize("primitive", [*DIRECTED, *chains()], ids=names([*DIRECTED, *chains()]))
def test_rounding_mode_survives_optimisation(primitive: Primitive) -> None:
    """Changes of the rounding mode are neither moved nor merged by LLVM's passes."""
    check(primitive, 32, "avx2", 3, 3)


FUSED = [p for p in PRIMITIVES if p[0].startswith("ffma")]


@pytest.mark.parametrize("primitive", FUSED, ids=names(FUSED))
def test_fused_multiply_add_without_the_instruction(primitive: Primitive) -> None:
    """A host without FMA rounds once all the same."""
    check(primitive, 32, "no-fma", 0, 4)


SCALAR = [*integers(), *floats()]


@pytest.mark.parametrize("primitive", SCALAR[::3], ids=names(SCALAR[::3]))
def test_primitive_on_one_lane(primitive: Primitive) -> None:
    """The uniform datapath has one value, and its own code."""
    check(primitive, 1, None, 0, 25)
