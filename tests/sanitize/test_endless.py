"""Every kind of wait without end, and every loop without one, ends as a finding."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from warplens.sanitize import passes
from warplens.sanitize.finding import TOOLS

SOURCE = r"""
#include <cooperative_groups.h>
#define K(name) extern "C" __global__ void name(int* a, int* b)
#define T threadIdx.x
#define B blockIdx.x
typedef volatile int* Look;
K(no_end) { while (true) {} }
K(counts) { unsigned n = 0; while (a[1] == 0) n += a[0] + 1; b[0] = n; }
K(flag_before_a_barrier) { if (T == 0) while (*(Look)a == 0); __syncthreads(); b[T] = 1; }
K(shared_flag) {
  __shared__ volatile int f;
  if (T == 0) f = 0;
  __syncthreads();
  if (T < 32) while (f == 0);
  b[T] = 1;
}
K(two_locks) {
  if (T) return;
  int *mine = a + B, *other = a + 1 - B;
  while (atomicCAS(mine, 0, 1));
  atomicAdd(a + 8, 1);
  while (atomicAdd(a + 8, 0) < 2);
  while (atomicCAS(other, 0, 1));
  atomicExch(mine, 0); atomicExch(other, 0);
}
K(backs_off) {
  unsigned ns = 8;
  while (atomicCAS(a, 1, 0) != 1) { __nanosleep(ns); if (ns < 256) ns *= 2; }
}
K(looks_at_the_clock) {
  long long t = clock64();
  while (*(Look)a == 0 && clock64() - t < (1ll << 60));
}
K(part_of_the_grid) { if (B) cooperative_groups::this_grid().sync(); b[T] = 1; }
K(different_barriers) {
  if (T < 32) asm volatile("bar.sync 1, 64;"); else asm volatile("bar.sync 2, 64;");
}
K(lane_waits_for_lane) {
  if (T == 0) while (*(Look)a == 0);
  if (T == 1) a[1] = 1;
  __syncwarp();
  b[T] = a[1];
}
K(lock_kept) { if (T) return; while (atomicCAS(a, 0, 1)); }
K(prints) { while (*(Look)a == 0) if (T == 99) printf("x"); }
K(each_other) {
  if (T % 32) return;
  int w = T / 32;
  while (((Look)a)[1 - w] == 0);
  ((Look)a)[w] = 1;
}
K(stores_on) { for (int i = 0; ; ++i) ((Look)b)[0] = i; }
K(adds_on) { while (atomicAdd(b, 1) != -1); }
K(later_block) {
  if (T) return;
  if (B == gridDim.x - 1) atomicExch(a, 1); else while (atomicAdd(a, 0) == 0);
}
"""
PROVED = {
    "no_end": 1, "counts": 1, "flag_before_a_barrier": 2, "shared_flag": 1, "two_locks": 2,
    "backs_off": 1, "looks_at_the_clock": 1, "part_of_the_grid": 3, "different_barriers": 1,
    "lane_waits_for_lane": 1, "lock_kept": 2, "prints": 1, "each_other": 1,
}  # fmt: skip
LIMITED = {"stores_on": 1, "adds_on": 1, "later_block": 6000}  # memory never repeats
WAITS = {"endless-wait", "barrier-deadlock"}


@cache
def module() -> Any:
    """All of them."""
    return wl.Device("H200").compile(SOURCE)


def checks(name: str, grid: int, *tools: str) -> set[str]:
    """What is found in a launch of two warps a block."""
    arrays = [np.zeros(64, np.int32) for _ in range(2)]
    report = module()[name].sanitize[grid, 64](*arrays, tools=tools)
    return {finding.check for finding in report.errors}


@pytest.mark.parametrize("name", one_in(3, list(PROVED), str))
def test_it_is_proved(name: str) -> None:
    """Who waits repeats itself: no limit is needed."""
    assert checks(name, PROVED[name], *TOOLS) & WAITS


@pytest.mark.parametrize("name", one_in(3, list(LIMITED), str))
def test_time_is_limited(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What writes on and on never repeats: the limit of time ends it."""
    monkeypatch.setattr(passes, "MOST_SECONDS", 0.3)

    assert checks(name, LIMITED[name], "racecheck") & WAITS


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_alone_reports_a_launch_that_does_not_end(tool: str) -> None:
    """A deadlock at barriers is none of memcheck's business, but nothing else would tell of it."""
    assert checks("different_barriers", 1, tool) == {"barrier-deadlock"}
