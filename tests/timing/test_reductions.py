"""Atomics on global memory and long loops of code: the replay against an H200."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import clock_reads

VALIDATION = Path(__file__).parents[2] / "validation"
KERNELS = VALIDATION / "recorder" / "kernels"
REDUCTIONS = json.loads((VALIDATION / "data" / "reductions_sm90.json").read_text())["rows"]
CYCLES = {tuple(row[:4]): row[4] for row in REDUCTIONS if row[0] != "latency"}
LATENCIES = [row[4] for row in REDUCTIONS if row[0] == "latency"]
CONTENTION = json.loads((VALIDATION / "data" / "contention_sm90.json").read_text())["rows"]
LOOPS = [
    tuple(row)
    for row in json.loads((VALIDATION / "data" / "fetch_sm90.json").read_text())["rows"]
    if row[:2] in ([512, 4], [1536, 1], [2048, 1], [4096, 1])
]


@pytest.fixture(scope="module")
def module() -> wl.Module:
    return wl.Device("H200").compile((KERNELS / "reductions.cu").read_text())


@pytest.fixture(scope="module")
def loops() -> wl.Module:
    """The recorded loops that are looked at; the longest ones take a compiler half a minute."""
    defined, uses = (KERNELS / "fetch.cu").read_text().rsplit("\nKERNEL(256)", 1)
    assert "KERNEL(4096)" in uses
    source = defined + "".join(f"\nKERNEL({length})" for length, *_ in LOOPS)
    return wl.Device("H200").compile(source)


def _replayed(module: wl.Module, kernel: str, lanes: int, apart: int, warps: int) -> float:
    numbers = [np.uint32(n) for n in (lanes.bit_length() - 1, apart, 0)]
    arrays = np.zeros(32, np.uint32), np.zeros(1 << 20, np.uint8)
    reads = clock_reads(module[kernel], warps, *arrays, *numbers)[:, -2:]
    return float(reads[:, 1].max() - reads[:, 0].min()) / 16


@pytest.mark.parametrize("apart", [1, 8, 32])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("kernel", ["red_add", "red_float", "red_max64"])
def test_lanes_of_reductions_take_turns(module: wl.Module, kernel: str, lanes: int,
                                        apart: int) -> None:  # fmt: skip
    """Of sixteen warps, an SM sends a turn with one word in a cycle, others by their sectors."""
    found = _replayed(module, kernel, lanes, apart, 16)
    assert found == pytest.approx(CYCLES[kernel, lanes, apart, 16], rel=0.18)


@pytest.mark.parametrize(
    ("kernel", "lanes", "apart"),
    [("atom_add", 32, 1), ("atom_add", 1, 8), ("atom_add", 1, 32), ("atom_exch", 4, 32),
     ("atom_cas", 1, 8), ("atom_cas", 32, 1)],
)  # fmt: skip
def test_atomics_with_results_take_longer(module: wl.Module, kernel: str, lanes: int,
                                          apart: int) -> None:  # fmt: skip
    found = _replayed(module, kernel, lanes, apart, 16)
    assert found == pytest.approx(CYCLES[kernel, lanes, apart, 16], rel=0.1)


def test_atomics_have_the_mean_latency_of_all_places(module: wl.Module) -> None:
    """Half of the lines lie in the far half of L2; the model has one latency for both."""
    numbers = [np.uint32(0)] * 3
    arrays = np.zeros(32, np.uint32), np.zeros(1 << 20, np.uint8)
    (reads,) = clock_reads(module["latency"], 1, *arrays, *numbers)
    near = [cycles for cycles in LATENCIES if cycles < 400]
    assert 0.4 < len(near) / len(LATENCIES) < 0.6
    assert (reads[-1] - reads[-2]) / 16 == pytest.approx(np.mean(LATENCIES), rel=0.06)


SERVED = [
    ("red_add", 1, 1, 0), ("red_add", 8, 1, 0), ("red_add", 32, 1, 0), ("red_add", 1, 32, 0),
    ("red_add", 4, 32, 0), ("red_add", 4, 8, 0), ("red_add", 32, 0, 1024), ("red_float", 4, 1, 0),
    ("red_float", 32, 1, 0), ("red_float", 4, 32, 0), ("red_add", 32, 0, 1),
    ("red_float", 32, 0, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "lanes", "apart", "warps_apart"),
    one_in(2, SERVED, lambda case: "-".join(map(str, case)), several=True),
)  # fmt: skip
def test_l2_serves_reductions_of_all_sms(kernel: str, lanes: int, apart: int,
                                         warps_apart: int) -> None:  # fmt: skip
    """1,056 warps on the same lines, on words side by side, or on lines all over L2: what a hundred
    more of each take."""
    gpu = wl.Device("H200", clock=1980)
    function = gpu.compile((KERNELS / "contention.cu").read_text())[kernel]
    numbers = [np.uint32(n) for n in (lanes.bit_length() - 1, apart, warps_apart)]
    data = np.zeros(1 << 23, np.uint8)
    few, many = (
        float(function.predict[132, 256](data, *numbers, np.uint32(n))["gpu__time_duration.sum"])
        for n in (20, 120)
    )
    ((recorded,),) = [
        row[-1:] for row in CONTENTION if row[:6] == [kernel, lanes, apart, warps_apart, 132, 8]
    ]
    near = 0.05 if (kernel, apart) == ("red_float", 1) else 0.2
    near = 0.26 if warps_apart == 1024 else near  # row 632: every 32nd line
    assert (many - few) * 1.98 / 100 / 1056 == pytest.approx(recorded, rel=near)


def test_one_lane_of_every_block_adds_to_one_word() -> None:
    """131,072 blocks of a recorded reduction, 1.8 ns each."""
    recorded = json.loads((VALIDATION / "data" / "spaces_sm90.json").read_text())
    space = recorded["spaces"]["reduction"]
    chosen = [64, 2, 4, 0, 0]
    options = tuple(f"-D{n}={v}" for n, v in zip(space["parameters"], chosen, strict=True))
    source = (VALIDATION / "tuning" / "kernels" / "reduction.cu").read_text()
    function = wl.Device("H200", clock="boost").compile(source, options=options)["reduction"]
    words = np.zeros(1 << 26, np.float32)
    told = function.predict[1 << 17, 64](words, np.zeros(1, np.float32)).prediction()

    expected = space["ns"][space["configurations"].index(chosen)]
    assert told.nanoseconds == pytest.approx(expected, rel=0.07)


@pytest.mark.parametrize(("length", "warps", "recorded"), one_in(
    2, LOOPS, lambda case: "-".join(map(str, case)), first=1, several=True,
))
def test_long_loops_wait_for_their_code(loops: wl.Module, length: int, warps: int,
                                        recorded: float) -> None:  # fmt: skip
    """Up to 32 KiB at full rate, beyond some 18 cycles for eight instructions."""
    arrays = np.zeros(32, np.uint32), np.zeros(1 << 14, np.float32)
    reads = clock_reads(loops[f"loop_{length}"], warps, *arrays, np.uint32(0))[:, -2:]
    found = float(reads[:, 1].max() - reads[:, 0].min()) / 8 / length
    assert found == pytest.approx(recorded, rel=0.16)


WALKS = """
__global__ void walks(const float* rows, float* sums, int apart) {
    const float* mine = rows + threadIdx.x * 64;
    float* sum = sums + threadIdx.x * 1024 + threadIdx.x % 4 * apart;
    for (int turn = 0; turn < 8; turn++)
        for (int i = 0; i < 8; i++) atomicAdd(sum + i, mine[i]);
}
"""


def test_atomics_and_loads_pass_l1_one_after_the_other() -> None:
    """32 lanes that load 32 lines and add to 32, in the same place of each line, need 65 passes
    through L1's data for both, as an H200 counts (group_point_grad_gpu of a public suite)."""
    kernel = wl.Device("H200").compile(WALKS)["walks"]
    rows, sums = np.zeros(128 * 64, np.float32), np.zeros(129 * 1024, np.float32)
    same, apart = (
        float(kernel.predict[1, 128](rows, sums, by).metric("sm__cycles_active.sum"))
        for by in (0, 8)
    )
    assert same > 64 * 4 * 65
    assert apart < same - 64 * 4 * 10
