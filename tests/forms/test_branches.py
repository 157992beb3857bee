"""Branches that send all running lanes of a warp the same way."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from tests.forms.patched import Edit, compiled, patched, with_bits
from tests.in_turn import one_in

SOURCE = """
extern "C" __global__ void ways(const int* in, int* out) {
    int i = threadIdx.x, way = 0;
    asm volatile("{ .reg .pred p; setp.ge.s32 p, %1, 10;\\n"
                 "  mov.u32 %0, 7;\\n"
                 "  @p bra done;\\n"
                 "  membar.cta;\\n  mov.u32 %0, 1;\\n"
                 "done: }" : "+r"(way) : "r"(in[i]));
    out[i] = way;
}
"""
JUMPED, FELL = 7, 1
THREADS = 136  # the last warp has eight lanes


def _all_lanes(word: int) -> int:
    return with_bits(1, 32, 2)(word)


def _any_lane(word: int) -> int:
    return with_bits(1, 84, 1)(_all_lanes(word))


def _run(architecture: int, edit: Edit | None) -> tuple[np.ndarray, np.ndarray]:
    """The lanes whose predicate held, and the way that each went."""
    cubin = compiled(SOURCE, architecture)
    if edit is not None:
        cubin = patched(cubin, "ways", {r"^@P\d BRA 0x": edit})
    values = np.zeros(THREADS, np.int32)
    values[[3, *range(32, 64), *range(128, THREADS)]] = 10
    values[96:128] = np.arange(32) + 1
    ways = np.zeros_like(values)
    wl.Device(f"sm_{architecture}").load(cubin)["ways"][1, THREADS](values, ways)
    return values >= 10, ways


@pytest.mark.parametrize(
    "architecture", one_in(8, [75, 80, 86, 89, 90, 100, 103, 120], str)
)
def test_all_lanes_go_where_the_predicate_of_all_says(architecture: int) -> None:
    """`@P BRA.U` jumps if P holds for every running lane, else every lane falls through.

    Two kernels of public suites that have the form give an H200's bits and counts so.
    """
    holds, ways = _run(architecture, _all_lanes)
    warps = np.repeat([holds[i : i + 32].all() for i in range(0, THREADS, 32)], 32)[:THREADS]
    np.testing.assert_array_equal(ways, np.where(warps, JUMPED, FELL))


@pytest.mark.parametrize("architecture", one_in(4, [90, 100, 103, 120], str))
def test_all_lanes_go_where_the_predicate_of_any_says(architecture: int) -> None:
    """`@P BRA.U.ANY` jumps if P holds for some running lane."""
    holds, ways = _run(architecture, _any_lane)
    warps = np.repeat([holds[i : i + 32].any() for i in range(0, THREADS, 32)], 32)[:THREADS]
    np.testing.assert_array_equal(ways, np.where(warps, JUMPED, FELL))


@pytest.mark.parametrize("architecture", [75, 90, 120])
def test_lanes_of_a_plain_branch_part(architecture: int) -> None:
    """The same code unpatched: every lane goes its own way."""
    holds, ways = _run(architecture, None)
    np.testing.assert_array_equal(ways, np.where(holds, JUMPED, FELL))
