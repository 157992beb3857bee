"""Lanes that add to words drawn by lot, or exchange them, against an H200
(`validation/data/scattered_adds_sm90.json`)."""

from __future__ import annotations

import json
import statistics

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import CYCLES, VALIDATION, over_recorded, recording
from tests.timing.touching import touched
from warplens.timing.contention import contention
from warplens.timing.lsu import ATOMIC, WRITE

KERNELS = "scattered_adds"
CASES = {case["name"]: case for case in recording("scattered_adds")["cases"]}
STALLED = "smsp__warps_issue_stalled"
SIZES = (256, 1024, 2048, 65536, 262144)  # words; between, times there differ by place


@pytest.mark.parametrize("name", one_in(
    2, [f"{kernel}/{words}" for kernel in ("add_int", "add_float", "ask_int") for words in SIZES],
    str,
))  # fmt: skip
def test_all_sms_add_as_quickly(name: str) -> None:
    """Every second case: of three kernels each size once or twice."""
    assert abs(over_recorded(KERNELS, CASES[f"{name}/132x256"])) < 0.135


def test_doubles_on_a_word_take_longer() -> None:
    names = [f"add_double/{words}/132x256" for words in (16, 1024, 65536)]
    errors = [over_recorded(KERNELS, CASES[name]) for name in names]
    assert max(map(abs, errors)) < 0.135, errors


def test_four_lines_lie_in_two_slices() -> None:
    """64 doubles; two lines, 64 floats, in one."""
    for kernel in ("add_double", "add_float"):
        error = over_recorded(KERNELS, CASES[f"{kernel}/64/132x256"])
        assert abs(error) < 0.12, (kernel, error)


def test_words_on_few_lines_share_slices_unevenly() -> None:
    """32 and 64 KB: which lines share a slice is not known, and times differ by place; in the mean
    they are right (12 % too quick, if lines were spread as evenly as those of 256 KB)."""
    names = [f"{kernel}/8192" for kernel in ("add_int", "add_float", "most_int", "ask_float")]
    names += [f"{kernel}/16384" for kernel in ("add_int", "add_float", "ask_float", "swap_int")]
    errors = [over_recorded(KERNELS, CASES[f"{name}/132x256"]) for name in names]
    assert abs(statistics.mean(errors)) < 0.06, errors


HALVES = """
#include <cuda_fp16.h>
extern "C" __global__ void halves(__half2 *sums, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) atomicAdd(sums + at % 256, __half2(0.0f, 1.0f));
}
"""


def test_warps_wait_for_atomics_that_nothing_reads() -> None:
    """L2 answers sums of halves by generic address, and their warps wait for that as they end, as
    in `f16atomic-half/131072` of the fifth suite (H200)."""
    cases = json.loads((VALIDATION / "suites/recorded_h200.json").read_text())["cases"]
    recorded = cases["hecbench3:f16atomic-half/131072"]
    kernel = wl.Device("H200").compile(HALVES)["halves"]
    launch = kernel.predict[256, 256](np.zeros(512, np.float16), 65536)
    assert any("ATOM.E.ADD.F16x2" in one.text for one in kernel.sass.instructions)
    cycles = recorded["metrics"][CYCLES]
    assert float(launch.metric(CYCLES)) == pytest.approx(cycles, rel=0.4)
    waits = {name: float(launch.metric(f"{STALLED}_{name}.sum")) for name in recorded["stalls"]}
    for stalls in (recorded["stalls"], waits):
        assert stalls["drain"] > 0.85 * sum(stalls.values()), stalls


@pytest.mark.parametrize("name", one_in(2, [
    f"{kernel}/{words}" for kernel in ("add_int", "ask_int")
    for words in (8388608, 12582912, 25165824)
], str))  # fmt: skip
def test_changed_lines_go_back_to_dram(name: str) -> None:
    """32 to 96 MB, of which L2 keeps 27 MB changed: 42 to 87 % of what is added goes back. The
    middle size with answers, the others without; the rest is long."""
    assert abs(over_recorded(KERNELS, CASES[f"{name}/264x1024"])) < 0.17


@pytest.mark.long
def test_most_additions_and_exchanges_are_close() -> None:
    errors = {name: over_recorded(KERNELS, case) for name, case in CASES.items()}
    assert statistics.mean(map(abs, errors.values())) < 0.14, errors


def test_blocks_that_come_one_after_the_other_use_few_slices_at_a_time() -> None:
    """Four blocks each add to a line of their own slice: of all sixteen slices a wave of sixteen
    blocks uses four."""
    blocks = np.arange(64)
    adds = touched(blocks // 4 * 8, 1, kind=ATOMIC, block=blocks)
    for resident, part in ((64, 1 / 16), (16, 1 / 4)):
        shares, passes = np.zeros(64, np.float32), np.ones((64, 10), np.float32)
        contention(adds, resident, shares, passes, np.zeros(64, np.int64))
        assert passes[:32, 5] == pytest.approx(part + 1 / 76, rel=0.01)


def test_lines_that_blocks_of_a_wave_store_to_time_after_time_share_slices() -> None:
    """Eight blocks each store to a line in turn with others, ten times; or once."""
    blocks = np.repeat(np.arange(64), 10)
    for often, part in ((10, 1 / 2 + 1 / 48), (1, 1.0)):
        chosen = blocks[np.arange(len(blocks)) % 10 < often]
        stores = touched(chosen // 8 * 8, 1, kind=WRITE, block=chosen)
        shares = np.zeros(len(chosen), np.float32)
        passes = np.ones((len(chosen), 10), np.float32)
        contention(stores, 16, shares, passes, np.zeros(64, np.int64))
        assert passes[:, 5].min() == pytest.approx(part, rel=0.02)
        assert (shares < 0.0).all() == (often > 1)
