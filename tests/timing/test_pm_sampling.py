"""Counters over a launch's time: they add up, show phases, and agree with an exact replay."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import warplens as wl
from warplens.api import LaunchOptions, PmSampling
from warplens.session.launch import Launch

SOURCE = r"""
extern "C" __global__ void phases(const float4* in, float4* out, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = i, b = i + 1, c = i + 2, d = i + 3;
    for (int k = 0; k < rounds; k++) {  // arithmetic only
        a = a * 1.5f + 2.0f; b = b * 1.5f + 2.0f; c = c * 1.5f + 2.0f; d = d * 1.5f + 2.0f;
    }
    float4 s = make_float4(a, b, c, d);
    for (int k = 0; k < n; k++) {  // memory only
        float4 v = in[i + k * gridDim.x * blockDim.x];
        s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w;
    }
    out[i] = s;
}
extern "C" __global__ void add(const float* a, float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] += a[i];
}
"""
READ = "pmsampling:dram__read_throughput.avg.pct_of_peak_sustained_elapsed"
FMA = "pmsampling:sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_active"
INST = "pmsampling:sm__inst_executed_realtime.sum"
BLOCKS = "pmsampling:sm__ctas_launched.sum"
ACTIVE = "pmsampling:sm__cycles_active.avg"
WARPS = "pmsampling:tpc__warps_active_realtime.sum.per_cycle_active"
STATES = "pmsampling:smsp__warps_issue_stalled_{}.avg"


def _phases(**options: int) -> Launch:
    sampling = PmSampling(**options)
    device = wl.Device("RTX 4060", options=LaunchOptions(pm_sampling=sampling))
    data = np.ones((24 * 256 * 6 * 24, 4), np.float32)
    out = np.zeros((24 * 256 * 6, 4), np.float32)
    return device.compile(SOURCE)["phases"][24 * 6, 256](data, out, 24, 400)


def _add(exact: bool) -> Launch:
    device = wl.Device("RTX 4060", options=LaunchOptions(exact_timing=exact))
    a, b = np.ones(1 << 19, np.float32), np.ones(1 << 19, np.float32)
    return device.compile(SOURCE)["add"][1 << 11, 256](a, b, len(a))


@pytest.fixture(scope="module")
def phases() -> Launch:
    return _phases()


def _values(launch: Launch, name: str) -> npt.NDArray[np.float64]:
    return np.array([value for _, value in launch[name].instances])


def test_samples_cover_the_launch(phases: Launch) -> None:
    """One sample per interval from the start to the end, 100 at least, all in the model's time."""
    duration = float(phases["gpu__time_duration.sum"])
    interval = float(phases["profiler__pmsampler_interval_time"])
    times = np.array([float(key) for key, _ in phases[INST].instances])

    assert len(times) == int(np.ceil(duration / interval)) >= 100
    assert np.allclose(np.diff(times[:-1]), interval, atol=1)
    assert times[-1] == pytest.approx(duration, abs=1)
    assert phases[INST].basis == "model"


def test_samples_add_up(phases: Launch) -> None:
    """Over all samples there are as many instructions, blocks and active cycles as counted."""
    assert _values(phases, INST).sum() == pytest.approx(
        float(phases["smsp__inst_executed.sum"]), rel=1e-3
    )
    assert _values(phases, BLOCKS).sum() == pytest.approx(144, rel=1e-3)
    assert _values(phases, ACTIVE).sum() == pytest.approx(
        float(phases["sm__cycles_active.avg"]), rel=1e-3
    )


def test_states_are_the_resident_warps(phases: Launch) -> None:
    """In every sample, the warps of all states are the active warps (96 schedulers)."""
    states = sum(
        _values(phases, STATES.format(reason))
        for reason in ("selected", "not_selected", "wait", "long_scoreboard", "short_scoreboard",
                       "barrier", "membar", "lg_throttle", "mio_throttle", "imc_miss", "drain",
                       "math_pipe_throttle", "no_instruction", "branch_resolving", "misc")
    )  # fmt: skip
    cycles = float(phases["profiler__pmsampler_interval_time"]) * phases.clock_mhz / 1e3
    warps = _values(phases, WARPS)

    assert np.abs(np.asarray(states)[:-1] * 96 / cycles - warps[:-1]).max() < 0.03 * warps.max()


def test_phases_show(phases: Launch) -> None:
    """Nothing before the first block; then the FMA pipe works alone, at the end DRAM alone."""
    fma, read = _values(phases, FMA), _values(phases, READ)
    busy = np.flatnonzero(fma > 0.5 * fma.max())
    early, late = busy[:3], np.flatnonzero(read > 0.5 * read.max())[-20:]

    assert fma[0] == read[0] == 0  # the launch itself takes a while
    assert read[early].max() < 0.05 * read.max()
    assert fma[late].max() < 0.1 * fma.max()


def test_extrapolated_as_replayed() -> None:
    """A timeline made of sampled blocks looks like that of a replay of all."""
    sampled, exact = _add(False), _add(True)
    for name, near in ((WARPS, 0.08), (READ, 0.12)):
        points = np.linspace(0, 1, 50)
        a, b = (
            np.interp(points, np.linspace(0, 1, len(values)), values)
            for values in (_values(sampled, name), _values(exact, name))
        )
        assert np.abs(a - b).mean() < near * b.max(), name


def test_one_block_per_sm() -> None:
    """Blocks that all start at once are launched once, and nothing is repeated at the end."""
    device = wl.Device("H200")
    a, b = np.ones(1 << 14, np.float32), np.ones(1 << 14, np.float32)
    launch = device.compile(SOURCE)["add"][64, 256](a, b, len(a))
    blocks = _values(launch, BLOCKS)
    first = int(np.flatnonzero(blocks)[0])

    assert blocks[first : first + 3].sum() == pytest.approx(64)
    assert not blocks[first + 3 :].any()


def test_interval_and_buffer() -> None:
    """An interval is kept; what the buffer does not hold is dropped, and told."""
    launch = _phases(interval=2000, buffer_bytes=2000)
    kept, dropped = len(launch[INST].instances), launch["profiler__pmsampler_dropped_samples"]

    assert launch["profiler__pmsampler_interval_time"].number == 2000
    assert launch["profiler__pmsampler_buffer_size_bytes"].number == 2000
    assert kept + int(float(dropped)) == int(np.ceil(launch["gpu__time_duration.sum"].number / 2e3))
    assert kept == 2000 // (8 * 13)


def test_passes() -> None:
    """With one pass the second group is not there."""
    launch = _phases(max_passes=1)

    assert launch[FMA].number is not None
    assert launch[READ].number is None and launch[READ].instances == ()
    assert launch["profiler__pmsampler_pass_groups"].number == 1


def test_cycles_on_older_chips() -> None:
    """Up to compute capability 8.0 the interval is in cycles."""
    device = wl.Device("A100", options=LaunchOptions(pm_sampling=PmSampling(interval=500)))
    a, b = np.ones(1 << 16, np.float32), np.ones(1 << 16, np.float32)
    launch = device.compile(SOURCE)["add"][256, 256](a, b, len(a))
    rows = {row.name for row in launch.section("PmSampling").rows}

    assert launch["profiler__pmsampler_interval_cycles"].number == 500
    assert "profiler__pmsampler_interval_cycles" in rows
    assert "profiler__pmsampler_interval_time" not in rows


def test_names_with_a_trigger_group(phases: Launch) -> None:
    """Newer chips' names are understood; a base name means all its values."""
    long = "pmsampling:TPC.TriageCompute.sm__cycles_active.avg"

    assert phases[long] == phases[ACTIVE]
    shown = phases.result(section_set=None, metrics=["pmsampling:sm__cycles_active"])
    assert [row.name for row in shown.sections[0].rows] == [ACTIVE]


def test_few_samples_are_told() -> None:
    """An interval longer than a tenth of the launch is warned about."""
    told = [one for one in _phases(interval=50_000).advice() if one.identifier == "PMSamplingData"]

    assert [one.tag for one in told] == ["WRN"]


@pytest.mark.parametrize(
    ("gpu", "grid", "block"),
    [("H200", 256, 256), ("H200", 2048, 32), ("H200", 7, 64), ("RTX 4060", 2048, 32)],
)
def test_no_more_warps_than_there_are(gpu: str, grid: int, block: int) -> None:
    """No sample shows more warps than the launch has or the SMs hold, and states add up to them."""
    device = wl.Device(gpu)
    n = grid * block
    launch = device.compile(SOURCE)["add"][grid, block](
        np.ones(n, np.float32), np.ones(n, np.float32), n
    )
    warps = _values(launch, WARPS)
    places = device.gpu.sm_count * device.gpu.max_warps_per_sm
    per_sm = _values(launch, "pmsampling:tpc__warps_active_realtime.avg.per_cycle_active") / 2
    sections = launch.section("PmSampling_WarpStates")
    states = {row.name: sum(v for _, v in row.value.instances) for row in sections.extra}
    whole = {row.name: float(row.value) for row in sections.extra}

    assert warps.max() <= min(n // 32, places) * (1 + 1e-4)
    assert per_sm.max() <= device.gpu.max_warps_per_sm * (1 + 1e-4)
    assert states == pytest.approx(whole, rel=1e-3, abs=1e-3)
    assert 4 * sum(whole.values()) == pytest.approx(
        float(launch["pmsampling:tpc__warps_active_realtime.sum.per_cycle_active"])
        * float(launch["gpc__cycles_elapsed.max"]) / device.gpu.sm_count, rel=0.01,
    )  # fmt: skip
