"""Windows of long blocks: what is kept of them, that they are cut, what times come of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions
from warplens.errors import TimingUnavailable
from warplens.execute.executable import KernelCode
from warplens.execute.execution import Execution
from warplens.execute.grid import LaunchConfig, ModuleImage, execute
from warplens.execute.memory import DeviceMemory
from warplens.execute.observe import Observer
from warplens.execute.recorder import Recorder, Stretch
from warplens.execute.tally import Tally
from warplens.timing import sample as sampling
from warplens.timing.launch_timing import LaunchTiming
from warplens.timing.sample import kinds_of, shares_of

SOURCE = r"""
extern "C" __global__ void turns(const float* a, float* b, int turns, int few) {
    float v = a[threadIdx.x];
    if (blockIdx.x >= gridDim.x / 2) turns = threadIdx.x < 32 ? few : 0;
    #pragma unroll 1
    for (int k = 0; k < turns; k++) v = v * 1.5f + a[k & 1023];
    b[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
extern "C" __global__ void barriers(const float* a, float* b, int turns) {
    __shared__ float t[64];
    float v = 0;
    for (int k = 0; k < turns; k++) {
        t[threadIdx.x] = a[k & 1023];
        __syncthreads();
        v += t[threadIdx.x ^ 33];
        __syncthreads();
    }
    b[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
extern "C" __global__ void halves(const float* a, float* b, int turns) {
    __shared__ float t[256];
    float v = 0, w = 0;
    bool calculates = threadIdx.x < 128;
    for (int k = 0; k < turns; k++) {
        if (calculates)
            #pragma unroll 1
            for (int i = 0; i < 40; i++) v = v * 1.5f + t[i & 31];
        else
            w = a[k & 1023];
        __syncthreads();
        if (!calculates)
            #pragma unroll 1
            for (int i = 0; i < 10; i++) v = v * 1.5f + t[i & 31];
        t[threadIdx.x] = w;
        __syncthreads();
    }
    b[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
"""


def _observed(kernel: str, blocks: int, observer: Observer, *numbers: int) -> Execution:
    """A kernel's launch of 64 threads a block, under an observer."""
    done: list[Execution] = []

    def run(code: KernelCode, image: ModuleImage, memory: DeviceMemory,
            config: LaunchConfig, *_: Any, **__: Any) -> None:  # fmt: skip
        quiet = replace(config, observer=observer, restore=True, workers=1)
        done.append(execute(code.traced(), image, memory, quiet))

    a, b = np.ones(1024, np.float32), np.zeros(blocks * 64, np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "record", run)
        with pytest.raises(TimingUnavailable):
            wl.Device("H200").compile(SOURCE)[kernel].predict[blocks, 64](a, b, *numbers)
    return done[0]


def _executed(execution: Execution) -> int:
    return int(execution.columns["inst_executed"].sum())


def test_a_tally_says_what_each_block_executes() -> None:
    """Against the counters of launches whose blocks all do the same."""
    sizes = _sizes("turns")
    tally = Tally(sizes, 4)
    execution = _observed("turns", 4, tally.observer, 50, 7)
    counts = tally.counts
    long, short = counts[:2].sum(axis=1), counts[2:].sum(axis=1)
    assert long[0] == long[1] > short[0] == short[1] > 0
    assert counts[0, 0] == counts[0, 1] > counts[2, 0] > counts[2, 1] > 0
    assert counts.sum() == _executed(execution)


def _sizes(kernel: str) -> np.ndarray:
    """Instructions of a kernel's lifted blocks."""
    taken: list[np.ndarray] = []
    program = wl.Device("H200").compile(SOURCE)[kernel].code.observed()
    taken.append(np.array([block.end - block.start for block in program.lifted.layout.blocks]))
    return taken[0].astype(np.int64)


@pytest.mark.parametrize(("kernel", "turns"), [("turns", 5000), ("barriers", 3000)])
def test_blocks_are_cut_behind_their_windows(kernel: str, turns: int) -> None:
    window = Stretch(first=40, last=90, accesses=(20, 90))
    numbers = (turns, turns) if kernel == "turns" else (turns,)
    whole = Recorder(1, 1, window)
    cut = Recorder(1, 1, window, cut=True)

    everything = _executed(_observed(kernel, 2, whole.observer, *numbers))
    part = _executed(_observed(kernel, 2, cut.observer, *numbers))

    assert part < everything / 10
    entries, accesses, lines = cut.tables()
    of_whole = whole.tables()
    for block in (0, 1) if kernel == "barriers" else (0,):
        for warp in (0, 1):
            mine = entries[(entries["block"] == block) & (entries["warp"] == warp)]
            theirs = of_whole[0]
            theirs = theirs[(theirs["block"] == block) & (theirs["warp"] == warp)]
            assert len(mine) == 50
            np.testing.assert_array_equal(mine, theirs)
    assert len(accesses) == len(of_whole[1])
    assert len(lines) == len(of_whole[2])


def test_windows_of_blocks_may_begin_at_different_points() -> None:
    window = Stretch(first=40, last=90, accesses=(40, 90), stagger=(1000, 1000))
    recorder = Recorder(1, 1, window, cut=True)
    executed = [
        _executed(_observed("barriers", blocks, recorder.observer, 3000)) for blocks in (1, 2, 3)
    ]
    each = np.diff([0, *executed])
    assert len(set(each.tolist())) == 3
    assert each.max() < 40 * (90 + 1000)


@pytest.mark.long
def test_a_grid_of_two_kinds_of_long_blocks_takes_what_both_take() -> None:
    """Windows against an exact replay; the kinds' rates are far apart, and of the second there are
    so few blocks that an SM is never in the state that its window shows."""
    cycles = []
    for exact in (False, True):
        device = wl.Device("RTX 4060", options=LaunchOptions(exact_timing=exact))
        a, b = np.ones(1024, np.float32), np.zeros(24 * 36 * 256, np.float32)
        kernel = device.compile(SOURCE)["turns"]
        timing = kernel.predict[24 * 36, 256](a, b, 2500, 2500).timing
        assert isinstance(timing, LaunchTiming)
        assert len(timing.sample.windows) == (0 if exact else 2)
        cycles.append(timing.model.estimate.elapsed_cycles)
    assert cycles[0] == pytest.approx(cycles[1], rel=0.2)


def test_kinds_are_blocks_of_like_work() -> None:
    works = np.array([100.0, 98.0, 102.0, 41.0, 40.0, 3.0, 2.0])
    kinds = kinds_of(works)
    assert [kind.tolist() for kind in kinds] == [[0, 1, 2], [3, 4], [5, 6]]


def test_blocks_that_differ_in_turn_are_one_kind() -> None:
    works = np.array([100.0, 3.0, 102.0, 2.0, 99.0, 2.5])
    assert [kind.tolist() for kind in kinds_of(works)] == [[0, 1, 2, 3, 4, 5]]


def test_the_border_between_kinds_is_found() -> None:
    """Blocks up to 693 of 1,000 do ten times the work of the others."""
    places = np.arange(8) * 125 + 62
    works = np.where(places < 693, 100.0, 10.0)
    kinds = kinds_of(works)
    shares = shares_of(places, 1000, works, kinds, lambda asked: np.where(asked < 693, 100.0, 10.0))
    assert shares[0] == pytest.approx(0.693, abs=0.125 / 16)
    assert sum(shares) == pytest.approx(1.0)


def test_windows_of_warps_that_go_different_ways_are_between_the_same_barriers() -> None:
    """Half of a block's warps take four times as many steps between two barriers: all of them come
    as far, and none is alone behind the others' end."""
    blocks = 4 * 8 * 132  # of one wave, blocks would end one after another
    a, b = np.ones(1024, np.float32), np.zeros(blocks * 256, np.float32)
    kernel = wl.Device("H200").compile(SOURCE)["halves"]
    launch = kernel.predict[blocks, 256](a, b, 4_000)
    (window,) = launch.timing.sample.windows
    code = launch.timing.model.question.kernel.instructions
    trace, waits = window.trace, []
    for begin, end in pairwise(trace.warp_entries.tolist()):
        blocks = trace.entries["lifted_block"][begin:end]
        each = [sum(one.opcode == "BAR" for one in code[trace.starts[n] : trace.ends[n]])
                for n in blocks.tolist()]  # fmt: skip
        waits.append(sum(each))
    assert min(waits) == max(waits) > 10
    assert float(launch.metric("sm__warps_active.avg.per_cycle_active")) > 0.95 * 64
