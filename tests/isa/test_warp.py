"""Instructions across lanes, against loops over the lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.isa.cases import Case, function_of
from tests.isa.edges import edge_lanes
from tests.isa.engines import Array, Compiled, Typed, run_numpy

MASKS = (0xFFFFFFFF, 0x0000FFFF, 0x80000001, 0x00000100, 0x5A5AF00F)


def bools(mask: int) -> Array:
    """The mask as 32 bools."""
    return np.array([bool(mask >> lane & 1) for lane in range(32)])


def run_both(
    mnemonic: str, sources: str, active: Array, constants: dict[int, int], *arrays: Array
) -> list[Array]:
    """The results; asserts first that both engines agree on the executing lanes."""
    case = Case(mnemonic, sources, lambda *_: 0)
    function = function_of(case, constants)
    typed = [Typed(t, a) for t, a in zip(case.types, arrays, strict=True)]
    expected = run_numpy(function, active, typed)
    actual = Compiled(function, case.types)(active, *arrays)
    for left, right in zip(expected, actual, strict=True):
        assert left[active].tolist() == right[active].tolist(), mnemonic
    return actual


def shuffled(kind: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Source lane and validity, as the PTX manual's pseudo-code for shfl."""
    b_value, clamp, segment = b & 31, c & 31, c >> 8 & 31
    last = (lane & segment) | (clamp & ~segment & 31)
    first = lane & segment
    source, is_valid = {
        "UP": (lane - b_value, lane - b_value >= last),
        "DOWN": (lane + b_value, lane + b_value <= last),
        "BFLY": (lane ^ b_value, (lane ^ b_value) <= last),
        "IDX": (
            first | (b_value & ~segment & 31),
            (first | (b_value & ~segment & 31)) <= last,
        ),
    }[kind]
    return (source if is_valid else lane), is_valid


@pytest.mark.parametrize("kind", ["UP", "DOWN", "BFLY", "IDX"])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("width", [32, 16, 8, 2])
def test_shuffle(kind: str, constant: bool, width: int) -> None:
    """All widths and kinds; lanes that do not execute give 0."""
    c = (32 - width) << 8 | (0 if kind == "UP" else 31)
    for seed, mask in enumerate(MASKS):
        active = bools(mask)
        a = edge_lanes("u32", seed)
        b = np.full(32, seed + 1, np.uint32) if constant else edge_lanes("u32", seed + 50)
        constants = {1: seed + 1, 2: c} if constant else {2: c}
        arrays = (a, b, np.full(32, c, np.uint32))
        valid, d = run_both(f"SHFL.{kind}", "r r r", active, constants, *arrays)
        for lane in np.flatnonzero(active):
            source, is_valid = shuffled(kind, int(lane), int(b[lane]), c)

            assert valid[lane] == is_valid
            assert d[lane] == (a[source] if active[source] else 0)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("opcode", ["VOTE", "VOTEU"])
def test_vote(opcode: str, mask: int) -> None:
    """Ballot, all, any, equal count executing lanes only."""
    active = bools(mask)
    for p in (edge_lanes("p", mask % 97), np.ones(32, bool), np.zeros(32, bool)):
        among = p[active]
        verdicts = {"ALL": among.all(), "ANY": among.any(), "EQ": among.all() or not among.any()}
        for kind, verdict in verdicts.items():
            votes, result = run_both(f"{opcode}.{kind}", "p", active, {}, p)
            lanes = np.flatnonzero(active)

            assert votes[lanes[0]] == sum(1 << int(n) for n in lanes if p[n])
            assert result[active].tolist() == [bool(verdict)] * int(active.sum())


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("type", ["u32", "u64"])
def test_match(type: str, mask: int) -> None:
    """Lanes with equal values find each other; inactive ones are not found."""
    active = bools(mask)
    suffix, kind = ("", "r") if type == "u32" else (".U64", "q")
    step = 1 if type == "u32" else 1 << 32
    for values in (np.arange(32) % 3 * step, np.arange(32) * step + 5, np.full(32, 7 * step)):
        a = values.astype(type.replace("u", "uint"))
        lanes = [int(n) for n in np.flatnonzero(active)]
        (found,) = run_both(f"MATCH.ANY{suffix}", kind, active, {}, a)
        agreed, everyone = run_both(f"MATCH.ALL{suffix}", kind, active, {}, a)
        all_equal = len({int(a[n]) for n in lanes}) == 1
        for lane in lanes:
            assert found[lane] == sum(1 << n for n in lanes if a[n] == a[lane])
            assert agreed[lane] == all_equal
            assert everyone[lane] == (sum(1 << n for n in lanes) if all_equal else 0)


def _signed(values: list[int]) -> list[int]:
    return [v - (1 << 32) if v >> 31 else v for v in values]


def _fold(f: Callable[[int, int], int]) -> Callable[[list[int]], int]:
    def fold(values: list[int]) -> int:
        total = values[0]
        for value in values[1:]:
            total = f(total, value)
        return total

    return fold


REDUCTIONS: dict[str, Callable[[list[int]], int]] = {
    "REDUX.SUM": sum,
    "REDUX.SUM.S32": sum,
    "REDUX": _fold(lambda a, b: a & b),
    "REDUX.OR": _fold(lambda a, b: a | b),
    "REDUX.XOR": _fold(lambda a, b: a ^ b),
    "REDUX.MIN": min,
    "CREDUX.MAX": max,
    "CREDUX.MIN.S32": lambda values: min(_signed(values)),
    "REDUX.MAX.S32": lambda values: max(_signed(values)),
}


@pytest.mark.parametrize("mnemonic", REDUCTIONS)
@pytest.mark.parametrize("mask", MASKS)
def test_reduction(mnemonic: str, mask: int) -> None:
    """Every executing lane gets the reduction over the executing lanes."""
    active = bools(mask)
    a = edge_lanes("u32", mask % 89)
    expected = REDUCTIONS[mnemonic](a[active].tolist()) & 0xFFFFFFFF
    (d,) = run_both(mnemonic, "r", active, {}, a)

    assert d[active].tolist() == [expected] * int(active.sum())


@pytest.mark.parametrize("mask", MASKS)
def test_lowest_lane_is_read_and_elected(mask: int) -> None:
    """R2UR reads the lowest executing lane; ELECT names it."""
    active = bools(mask)
    a = edge_lanes("u32", 3)
    first = int(np.flatnonzero(active)[0])
    differs, value = run_both("R2UR", "r", active, {}, a)
    _, filled = run_both("R2UR.FILL", "r", active, {}, a)
    (spilled,) = run_both("MOV.SPILL", "r", active, {}, a)
    is_leader, leader = run_both("ELECT", "p", active, {}, np.ones(32, bool))

    assert value[first] == filled[first] == a[first]
    assert (spilled[active] == a[active]).all()
    assert differs[active].tolist() == (a[active] != a[first]).tolist()
    assert leader[first] == first
    assert is_leader[active].tolist() == [n == first for n in np.flatnonzero(active)]


def test_shuffle_by_an_immediate_is_one_instruction() -> None:
    """A constant lane pattern becomes a fixed permutation of the vector."""

    def shuffle(x: Any, a: Any) -> Any:
        return x.gather_lane(a, x.xor(x.lane_id(), x.u32(16)))

    lines = [
        line for line in Compiled(shuffle, ("u32",)).ir.splitlines() if "shufflevector" in line
    ]

    assert len(lines) == 1
