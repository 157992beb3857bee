"""Blocks of unlike length: what is known of their work, and where and when they run."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt
import pytest

import warplens as wl
from tests.timing.touching import touched
from warplens.execute.trace import ELSEWHERE
from warplens.timing.fresh import fresh_reads
from warplens.timing.placement import place, speeds_of
from warplens.timing.sample import FIRST
from warplens.timing.stall import REASONS
from warplens.timing.uneven import Replayed, _fitted
from warplens.timing.works import all_works, kinds, nearest, strewn, works_of

Floats = npt.NDArray[np.float64]
SPEEDS = speeds_of(3.0)
READ = 1  # kind of access
ALL_AT_ONCE = np.array(
    [(5, 0.0, 0.0)], [("resident", "i8"), ("launch_first", "f8"), ("launch_interval", "f8")]
)[0]


def _scheduled(lengths: Floats, places: int) -> float:
    """Makespan of jobs that a list scheduler hands to places that do not disturb each other."""
    free = [0.0] * places
    for length in lengths.tolist():
        heapq.heapreplace(free, free[0] + length)
    return max(free)


def test_blocks_that_ask_for_little_run_as_from_a_list() -> None:
    """Where an SM is never busy, the grid ends as jobs handed out to all places in order."""
    lengths = np.random.default_rng(3).uniform(100.0, 9000.0, 700)
    found = place(lengths, np.full(700, 1e-9), 7, 3, (0.0, 0.0), SPEEDS)

    assert found.makespan == pytest.approx(_scheduled(lengths, 21), rel=1e-6)
    assert found.blocks.sum() == 700
    assert np.allclose(found.durations, lengths)


def test_an_sm_that_is_busy_does_its_work_at_its_rate() -> None:
    """Blocks that ask for ten times what an SM can do take as long as their work, together."""
    lengths = np.full(64, 500.0)
    found = place(lengths, np.full(64, 10.0 / 8), 1, 8, (0.0, 0.0), SPEEDS)

    assert found.makespan == pytest.approx(64 * 500.0 * 10.0 / 8, rel=0.01)


def test_a_block_alone_and_several_take_as_long_as_replayed() -> None:
    """A long block and a short one that had the SM for themselves, and four long ones together
    that keep it as busy as they can."""
    longest = np.array([1000.0, 1000.0, 1000.0, 1000.0, 50.0])
    replayed = Replayed(
        numbers=np.arange(5), whole=8 * longest, longest=longest, cycles=40.0 * longest,
        passes=0.0 * longest, span=34_000.0, warp_cycles=0.0, instructions=float(8 * longest.sum()),
        issue=8_100.0, memory=0.0, pace=(0.0, 5.0), alone=10_000.0, briefest=1_000.0,
    )  # fmt: skip
    busy = 8 * longest / replayed.rate
    cost = _fitted(replayed, busy, ALL_AT_ONCE, SPEEDS)

    def makespan(among: list[int]) -> float:
        lengths = cost.lengths(longest[among])
        loads = cost.loads(busy[among], longest[among])
        return place(lengths, loads, 1, 5, (0.0, 0.0), SPEEDS).makespan

    assert makespan([0]) == pytest.approx(10_000.0, rel=0.01)
    assert makespan([4]) == pytest.approx(1_000.0, rel=0.1)
    assert makespan([0, 1, 2, 3, 4]) == pytest.approx(34_000.0, rel=0.01)


def test_two_long_blocks_tell_what_one_asks_of_an_sm() -> None:
    """Where the others end long before the longest block, two of that one do: an SM that has both
    takes as long as two of them were replayed."""
    longest = np.array([10_000.0, 100.0, 100.0])
    replayed = Replayed(
        numbers=np.arange(3), whole=8 * longest, longest=longest, cycles=4.0 * longest,
        passes=0.0 * longest, span=40_100.0, warp_cycles=0.0, instructions=float(8 * longest.sum()),
        issue=20_400.0, memory=0.0, pace=(0.0, 3.0), alone=40_000.0, briefest=400.0,
        beside=70_000.0,
    )  # fmt: skip
    assert replayed.ends_with_longest
    busy = 8 * longest / replayed.rate
    cost = _fitted(replayed, busy, ALL_AT_ONCE, SPEEDS)
    two = np.repeat(longest[0], 2)
    loads = cost.loads(np.repeat(busy[0], 2), two)
    spans = [
        place(cost.lengths(two[:n]), loads[:n], 1, 5, (0.0, 0.0), SPEEDS).makespan for n in (1, 2)
    ]
    assert spans == pytest.approx([40_000.0, 70_000.0], rel=0.01)


def test_one_long_block_is_the_end_of_the_grid() -> None:
    """A grid ends with its longest block, however short the others are; its SM works longest."""
    lengths = np.full(5000, 10.0)
    lengths[4321] = 1e6
    found = place(lengths, np.full(5000, 0.01), 16, 4, (0.0, 0.0), SPEEDS)

    assert 1e6 < found.makespan < 1.001e6 + 5000 * 10.0 / 64
    assert found.ends.argmax() == found.sm_of[4321]
    assert np.median(found.active) < 0.01 * found.makespan


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_work_along_an_axis_is_told_from_few_blocks(axis: int) -> None:
    """If work depends on one axis of the grid, a few of its blocks tell all of them."""
    grid = (32, 24, 10)
    every = np.arange(32 * 24 * 10)
    at = (every % 32, every // 32 % 24, every // (32 * 24))[axis]
    work = 1000.0 + 300.0 * at
    places = strewn(len(every), 300)
    source, left = nearest(grid, places, work[places])

    assert left < 0.1 * work.std()
    assert np.abs(work[places][source] - work).mean() < 0.05 * work.std()


def test_work_without_order_keeps_its_distribution() -> None:
    """Rare long blocks that nothing tells are met in proportion."""
    rng = np.random.default_rng(5)
    work = np.where(rng.random(200_000) < 0.01, 50_000.0, 40.0)

    def counted(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return work[at][:, None].astype(np.int64), np.zeros(len(at), np.int64)

    places = strewn(200_000, FIRST)
    known = works_of((200_000, 1, 1), places, *counted(places))
    works = all_works(known, counted)

    assert works.every[0].mean() == pytest.approx(work.mean(), rel=0.5)
    assert set(np.unique(works.every[0])) <= {40.0, 50_000.0}
    assert not works.is_known  # a few dozen long blocks in a sample are not enough to be sure


UNEVEN = """
__global__ void uneven(float* out, int rounds) {
    float x = threadIdx.x;
    int n = blockIdx.x % 8 == 0 ? rounds : 1;
    for (int i = 0; i < n; i++) x = x * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
"""


def test_a_launch_takes_as_long_as_its_longest_block() -> None:
    """One block in eight runs a long chain of operations: the launch takes one such chain, as it
    does when all blocks run it, but SMs are less active."""
    kernel = wl.Device("H200").compile(UNEVEN)["uneven"]
    out = np.zeros(264 * 32, np.float32)
    launch = kernel.predict[264, 32](out, 4000)
    alike = kernel.predict[1, 32](out, 4000)

    long = alike.metric("gpu__time_duration.sum")
    assert launch.metric("gpu__time_duration.sum") == pytest.approx(long, rel=0.1)
    busy = launch.metric("sm__cycles_active.max")
    assert launch.metric("sm__cycles_active.avg") < 0.5 * busy
    assert launch.metric("sm__cycles_active.min") < 0.1 * busy


SPINS = r"""
extern "C" __global__ void alike(float* out, int turns) {
    float v = threadIdx.x;
    for (int i = 0; i < turns; i++) v = v * 1.5f + 2.0f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
extern "C" __global__ void mixed(float* out, int turns) {
    float v = threadIdx.x;
    for (int i = 0; i < turns * (1 + blockIdx.x / 132 * 7 % 16); i++) v = v * 1.5f + 2.0f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
"""


def _occupancy(name: str, blocks: int, turns: int) -> tuple[float, float, wl.Launch]:
    """Achieved occupancy of a launch, and of the SM that was replayed for it, as shares."""
    kernel = wl.Device("H200").compile(SPINS)[name]
    launch = kernel.predict[blocks, 256](np.zeros(blocks * 256, np.float32), turns)
    sm = launch._timing.model.result.sm  # type: ignore[union-attr]
    whole = launch.metric("sm__warps_active.avg.pct_of_peak_sustained_active")
    return whole / 100, float(sm["warp_cycles"]) / float(sm["cycles"]) / 64, launch


@pytest.mark.parametrize("blocks", [132 * 24, 132 * 48])
def test_placed_blocks_have_the_warps_of_the_replay(blocks: int) -> None:
    """Where each SM gets the same blocks, the chip's occupancy is that of one SM, block by block:
    a place that waits for its next block has no warps."""
    whole, replayed, _ = _occupancy("mixed", blocks, 200)
    assert whole == pytest.approx(replayed, rel=0.02)


def test_a_long_launch_loses_its_last_wave_once() -> None:
    """What a replay of some waves has fewer warps in its last one, many waves do not have again:
    twice as many lose half of it. The states of all warps are their time."""
    short, _, _ = _occupancy("alike", 132 * 8 * 10, 2000)
    long, replayed, launch = _occupancy("alike", 132 * 8 * 20, 2000)
    assert replayed < short < long
    assert 1.0 - long == pytest.approx((1.0 - short) / 2, rel=0.3)
    states = sum(launch.metric(f"smsp__warps_issue_stalled_{name}.sum") for name in REASONS)
    assert states == pytest.approx(launch.metric("smsp__warps_active.sum"), rel=0.01)



GUARDED = """
__global__ void guarded(const float* in, float* out, int length) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    float sum = 0.0f;
    for (int apart = 0; apart < length; apart++)
        if (i - apart >= 0) sum += in[i - apart];
    out[i] = sum;
}
"""


def test_the_block_that_loads_most_ends_a_launch_of_a_few() -> None:
    """Eight blocks of as many instructions each, whose loads a guard lets pass for the last one all
    over its loop: it ends the launch, and SMs are active as long as half that on average (an
    H200 took twice as long as with the first block's time for all)."""
    kernel = wl.Device("H200").compile(GUARDED)["guarded"]
    data, out = np.zeros(4096, np.float32), np.zeros(4096, np.float32)
    launch = kernel.predict[8, 512](data, out, 4096)
    sample = launch.timing.sample
    assert sample.trace.first == 7 and len(sample.unlike) > 1
    assert sum(blocks for _, blocks in sample.unlike) == pytest.approx(8.0)
    longest = float(launch.metric("sm__cycles_active.max"))
    mean = float(launch.metric("sm__cycles_active.avg")) * 132 / 8
    assert mean == pytest.approx(0.72 * longest, rel=0.1)
    executed = launch.metric("smsp__inst_executed.sum")
    assert launch.metric("smsp__inst_issued.sum") == pytest.approx(executed, rel=0.01)


def test_some_blocks_stand_for_all() -> None:
    """Two kinds of blocks, and one in the middle between them, which is in part like either."""
    work = np.array([[100], [100], [150], [200], [200]])
    works = works_of((5, 1, 1), np.arange(5), work)
    chosen, shares = kinds(works)
    assert chosen[0] == 3 and set(chosen.tolist()) == {0, 2, 3}
    assert shares.tolist() == pytest.approx([2.0, 2.0, 1.0])
    alike = works_of((5, 1, 1), np.arange(5), np.full((5, 1), 100))
    assert len(kinds(alike)[0]) == 1
    chosen, shares = kinds(alike, np.array([0.0, 0.0, 0.0, 0.5, 0.5]))
    assert chosen.tolist() == [3, 0] and shares.tolist() == pytest.approx([2.0, 3.0])


def test_blocks_that_come_later_read_nothing_fresh() -> None:
    """Two blocks read a line each, and then the other one's; a third one only what is there."""
    used = touched(
        [1, 2, 2, 1, 9, 1], 0b1111, block=[0, 0, 1, 1, 2, 2], kind=READ,
        entry=[0, 0, ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE],
    )  # fmt: skip
    found = fresh_reads(used, 3)
    assert found is not None
    assert found.tolist() == [0.5, 0.5, 0.5]
    assert fresh_reads(used, 4) is None


DRAWS = """
__global__ void draws(float* out, int items, int rounds) {
    __shared__ int next;
    if (threadIdx.x == 0) next = blockDim.x;
    __syncthreads();
    float x = threadIdx.x;
    for (int item = threadIdx.x; item < items; item = atomicAdd(&next, 1))
        for (int i = 0; i < rounds; i++) x = x * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
"""


def test_warps_that_draw_their_work_share_it() -> None:
    """Run to their ends one after another the first warp would do all that is left to draw."""
    kernel = wl.Device("H200").compile(DRAWS)["draws"]
    out = np.zeros(4 * 512, np.float32)
    launch = kernel.predict[4, 512](out, 8 * 512, 40)
    work = launch.timing.sample.trace.works()[0]
    assert work.max() < 1.3 * work[work > 0].mean()


PASSES = """
__global__ void passes(const float* in, float* out, int rounds, int apart) {
    if (blockIdx.x % 4 == 3) return;
    int mine = threadIdx.x % 32 * (blockIdx.x % 2 ? apart : 1);
    float sum = 0.0f;
    for (int i = 0; i < rounds; i++) sum += in[mine + i % 8];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def test_blocks_of_as_many_instructions_differ_by_their_passes_through_l1() -> None:
    """A quarter of the blocks ends at once, a quarter loads words that lie a line apart, one in a
    pass, the others neighbours: looking at one access in eight tells so, and they are longer."""
    kernel = wl.Device("H200").compile(PASSES)["passes"]
    blocks, threads, rounds = 396, 256, 2000
    data, out = np.zeros(1 << 16, np.float32), np.zeros(blocks * threads, np.float32)
    launch = kernel.predict[blocks, threads](data, out, rounds, 32)
    works = launch.timing.sample.works
    assert works is not None and works.differ and works.passes is not None
    passes = {n: works.passes[works.places % 4 == n].mean() for n in range(4)}
    assert passes[3] == 0.0
    assert passes[0] == pytest.approx(passes[2], rel=0.1)
    assert passes[0] == pytest.approx(rounds * threads / 32, rel=0.1)
    assert passes[1] == pytest.approx(32 * passes[0], rel=0.1)
    alike = kernel.predict[blocks, threads](data, out, rounds, 1)
    time = "gpu__time_duration.sum"
    assert float(launch.metric(time)) > 3.0 * float(alike.metric(time))


IDLE = """
__global__ void idle(float* out, int n, int rounds) {
    __shared__ float part[256];
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    float sum = i;
    for (int k = 0; k < rounds; k++) {
        part[threadIdx.x] = sum;
        __syncthreads();
        for (int j = 0; j < 256; j++) sum = sum * part[j] + 1.0f;
        __syncthreads();
    }
    out[i] = sum;
}
"""


def test_blocks_beside_idle_ones_have_their_sm_for_themselves() -> None:
    """Of 300 blocks 64 work: no longer than if there were no others (n bodies on an H200, where
    they were taken to share SMs as 300 would)."""
    kernel = wl.Device("H200").compile(IDLE)["idle"]
    times = [
        float(kernel.predict[blocks, 256](np.zeros(64 * 256, np.float32), 64 * 256, 200)
              .metric("gpu__time_duration.sum"))
        for blocks in (64, 300)
    ]  # fmt: skip
    assert times[1] == pytest.approx(times[0], rel=0.06)


def test_the_first_blocks_may_be_all_that_work() -> None:
    """Those of a grid twenty times as large as its work are not among a few that are strewn."""
    kernel = wl.Device("H200").compile(IDLE)["idle"]
    launch = kernel.predict[4000, 256](np.zeros(200 * 256, np.float32), 200 * 256, 1)
    works = launch.timing.sample.works
    assert works is not None and works.differ
    executed = float(launch.metric("smsp__inst_executed.sum"))
    alone = kernel.predict[200, 256](np.zeros(200 * 256, np.float32), 200 * 256, 1)
    of_idle = 3800 * 8 * 8.0  # each warp of them comes to its EXIT
    assert executed == pytest.approx(
        float(alone.metric("smsp__inst_executed.sum")) + of_idle, rel=0.05
    )


END = """
__global__ void ends(const unsigned* in, unsigned* out, int rounds) {
    const unsigned* mine = in + blockIdx.x * 64 * blockDim.x + threadIdx.x;
    unsigned sum = threadIdx.x;
    if (blockIdx.x < gridDim.x - 1 || !rounds) {
        for (int i = 0; i < 64; i++) {
            sum ^= mine[i * blockDim.x];
            for (int j = 0; j < 8; j++) sum = sum * sum ^ sum >> 7;
        }
    } else {
#pragma unroll 1
        for (int i = 0; i < rounds; i++) sum ^= mine[sum % 2 + i * 32];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def test_a_last_block_that_loads_by_single_elements_ends_the_grid() -> None:
    """What is left over is loaded word by word by the last block: about as many instructions, but
    each waits for the load before it."""
    kernel = wl.Device("H200").compile(END)["ends"]
    blocks, threads = 264, 128
    data, out = (np.zeros(size * blocks * threads, np.uint32) for size in (64, 1))
    alone = kernel.predict[blocks, threads](data, out, 200)
    alike = kernel.predict[blocks, threads](data, out, 0)
    assert alone.timing.sample.last is not None and alike.timing.sample.last is None
    time, active = "gpu__time_duration.sum", "sm__cycles_active.avg"
    assert float(alone.metric(time)) > 2.0 * float(alike.metric(time))
    assert float(alone.metric(active)) < 1.2 * float(alike.metric(active))
