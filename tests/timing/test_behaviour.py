"""The modelled time moves as on real machines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions
from warplens.validation.measured import alike, kendall

SOURCE = r"""
extern "C" __global__ void chase(const int* next, int* out, int n) {
    int at = next[blockIdx.x * blockDim.x + threadIdx.x];
    for (int k = 0; k < n; k++) at = next[at];
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
extern "C" __global__ void strided(int* out, int stride, int n) {
    __shared__ int t[2048];
    int v = 0;
    for (int k = threadIdx.x; k < 2048; k += blockDim.x) t[k] = k;
    __syncthreads();
    for (int k = 0; k < n; k++) v += *(volatile int*)&t[(threadIdx.x * stride + v * 0 + k) & 2047];
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
extern "C" __global__ void halves(float* out, int n, int mask) {
    float v = threadIdx.x;
    if (threadIdx.x & mask) { for (int k = 0; k < n; k++) v = v * 1.5f + 2.0f; }
    else { for (int k = 0; k < n; k++) v = v * 0.5f - 2.0f; }
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
extern "C" __global__ void scale(const float* a, float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = 2.0f * a[i];
}
"""
DURATION = "gpu__time_duration.sum"
ACTIVE = "sm__cycles_active.avg"


@pytest.fixture(scope="module")
def module() -> wl.Module:
    return wl.Device("H200", clock=1500).compile(SOURCE)


def _strided(module: wl.Module, stride: int) -> float:
    out = np.zeros(1 << 16, np.int32)
    launch = module["strided"].predict[132, 256](out, stride, 200)
    return float(launch.metric(ACTIVE))


def test_more_warps_hide_latency(module: wl.Module) -> None:
    """Four times the warps take far less than four times as long."""
    chain = np.random.default_rng(0).permutation(1 << 18).astype(np.int32)
    out = np.zeros(1 << 18, np.int32)
    one, four = (
        float(module["chase"].predict[132, threads](chain, out, 50).metric(ACTIVE))
        for threads in (32, 128)
    )
    assert four < 2.0 * one


def test_bank_conflicts_cost(module: wl.Module) -> None:
    times = [_strided(module, stride) for stride in (1, 2, 8, 32)]
    assert times == sorted(times)
    assert times[-1] > 5 * times[0]
    assert times[0] == pytest.approx(_strided(module, 33), rel=0.05)


def test_divergence_costs_what_the_masks_say(module: wl.Module) -> None:
    """Lanes of a warp that go two ways take twice the time of warps that go one way each."""
    out = np.zeros(1 << 16, np.float32)
    mixed, apart = (
        float(module["halves"].predict[132, 256](out, 2000, mask).metric(ACTIVE))
        for mask in (1, 32)
    )
    assert mixed / apart == pytest.approx(2.0, rel=0.15)


def test_time_does_not_depend_on_workers_or_repetition() -> None:
    times = set()
    for workers in (1, 2, 1):
        device = wl.Device("RTX 4090", options=LaunchOptions(workers=workers))
        a, b = np.ones(1 << 16, np.float32), np.zeros(1 << 16, np.float32)
        launch = device.compile(SOURCE)["scale"][256, 256](a, b, 1 << 16)
        times.add((launch.metric(DURATION), launch.metric(ACTIVE)))
        assert (b == 2).all()
    assert len(times) == 1


def test_prediction_leaves_memory_as_it_was(module: wl.Module) -> None:
    a, b = np.ones(1 << 16, np.float32), np.full(1 << 16, 7, np.float32)
    launch = module["scale"].predict[256, 256](a, b, 1 << 16)
    assert (b == 7).all()
    assert launch["smsp__inst_executed.sum"].basis == "model"
    real = module["scale"][256, 256](a, b, 1 << 16)
    assert (b == 2).all()
    assert real["smsp__inst_executed.sum"].basis == "exact"
    assert launch.metric("smsp__inst_executed.sum") == real.metric("smsp__inst_executed.sum")
    assert launch.metric(DURATION) == real.metric(DURATION)


def test_a_faster_clock_is_faster_and_memory_is_not() -> None:
    a, b = np.ones(1 << 16, np.float32), np.zeros(1 << 16, np.float32)
    out = []
    for clock in (1000, 2000):
        kernel = wl.Device("H200", clock=clock).compile(SOURCE)["scale"]
        launch = kernel.predict[256, 256](a, b, 1 << 16)
        out.append((float(launch.metric(DURATION)), float(launch.metric(ACTIVE))))
    assert out[1][0] < out[0][0]
    assert out[1][1] > out[0][1]  # DRAM takes more of the shorter cycles


def test_the_parts_of_a_warp_state_add_up(module: wl.Module) -> None:
    """Every resident warp is in one state in every cycle."""
    a, b = np.ones(1 << 18, np.float32), np.zeros(1 << 18, np.float32)
    launch = module["scale"].predict[1024, 256](a, b, 1 << 18)
    stalls = launch.timing.answers.stalls
    warps = float(launch.metric("smsp__warps_active.sum"))
    assert sum(stalls.values()) == pytest.approx(warps, rel=0.02)
    per_issue = float(launch.metric("smsp__average_warp_latency_per_inst_issued.ratio"))
    issued = float(launch.metric("smsp__inst_issued.sum"))
    assert per_issue == pytest.approx(warps / issued, rel=1e-6)
    selected = launch.metric("smsp__average_warps_issue_stalled_selected_per_issue_active.ratio")
    assert selected == pytest.approx(1.0)


def test_the_schedule_shows_every_issue_once(module: wl.Module) -> None:
    a, b = np.ones(1 << 12, np.float32), np.zeros(1 << 12, np.float32)
    view = module["scale"].predict[16, 256](a, b, 1 << 12).schedule(cycles=3000)
    issues = [s for s in view.spans if s.reason == "selected"]
    per_cycle = {(s.begin, s.warp % 4) for s in issues}
    assert len(per_cycle) == len(issues)  # one warp per sub-partition and cycle
    document = json.loads(view.json())
    assert len(document["spans"]) == len(view.spans)
    assert json.loads(view.perfetto())["traceEvents"]
    assert "sub-partition 3" in str(view)


def test_ablation_names_the_bottleneck(module: wl.Module) -> None:
    out = np.zeros(1 << 16, np.int32)
    table = module["strided"].predict[132, 256](out, 32, 200).ablate(pairs=False)
    assert table.rows[0].resources == ("banks",)
    assert table["banks"].saving > 0.5
    assert table["dram"].saving < 0.1


def test_rank_correlation() -> None:
    a = np.array([1.0, 2.0, 3.0, 4.0])
    assert kendall(a, a * 2) == 1.0
    assert kendall(a, -a) == -1.0
    assert kendall(a, np.array([1.0, 2.0, 4.0, 3.0])) == pytest.approx(4 / 6)


def test_values_a_small_share_apart_are_alike() -> None:
    values = np.array([15.1, 26.0, 15.0, 15.2, 16.0])
    assert alike(values, 0.02).tolist() == [15.0, 26.0, 15.0, 15.0, 16.0]


def test_bad_policy_is_refused_by_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    from warplens.cli.main import main

    with pytest.raises(SystemExit):
        main(["profile", "x.cu", "--scheduler", "fastest"])
    assert "invalid choice" in capsys.readouterr().err


def test_many_small_blocks_with_an_atomic_each() -> None:
    """A grid of 12.5 million blocks costs no memory for each of them, and a hundred times as
    many blocks on one counter take about a hundred times as long."""
    source = "__global__ void add(int* sum) { if (threadIdx.x == 0) atomicAdd(sum, 1); }"
    kernel = wl.Device("RTX 4060").compile(source)["add"]
    few, many = (
        kernel.predict[grid, 8](np.zeros(1, np.int32)).metric(DURATION)
        for grid in (125_000, 12_500_000)
    )

    assert 80 < many / few < 125


@pytest.mark.long
def test_the_example_of_the_readme_runs_to_its_end() -> None:
    """The ladder of reductions, with blocks of eight threads at its end."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(root / "examples" / "ladder.py")], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert "wrong" not in done.stdout
