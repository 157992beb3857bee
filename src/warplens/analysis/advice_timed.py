"""Rules that need the timing model: why warps stall, and whether the GPU is busy."""

from __future__ import annotations

from collections.abc import Iterator

from warplens.analysis.advice import Context, Finding, rule
from warplens.analysis.stall_columns import stalls_of

_PER_ISSUE = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# reason -> what helps
CURES = {
    "long_scoreboard": "Keep more loads in flight (more warps, several independent loads per "
    "thread before the first use, wider loads), or keep data in shared memory or registers.",
    "short_scoreboard": "Warps wait for results of shared memory, special functions or "
    "conversions: issue several independent ones before the first result is used.",
    "barrier": "Warps wait for their block at __syncthreads(): balance the work before it, use "
    "smaller blocks, or __syncwarp() where that suffices.",
    "membar": "Warps wait for memory fences: use fewer, or a narrower scope.",
    "lg_throttle": "The LSU queue for local and global accesses is full: use fewer and wider "
    "accesses, and avoid local memory.",
    "mio_throttle": "The MIO queue (shared memory, special functions) is full: use fewer and wider "
    "shared memory accesses, and remove bank conflicts.",
    "math_pipe_throttle": "An execution pipe is oversubscribed: fine if all of its work is "
    "needed; else use a cheaper operation or another pipe.",
    "wait": "Warps wait out fixed latencies between dependent instructions: more warps or more "
    "independent operations per thread hide them.",
    "no_instruction": "Instruction fetch is too slow: the code jumps far or exceeds the "
    "instruction cache; unroll less.",
    "branch_resolving": "Warps wait for branch targets: unroll short loops, replace short "
    "branches by selections.",
    "imc_miss": "Constant loads miss the cache: let all threads of a warp read the same constant.",
    "sleeping": "Threads call __nanosleep() or yield.",
    "tex_throttle": "The TEX queue is full: use fewer or wider texture accesses.",
    "drain": "Warps that have exited wait for their stores: coalesce them.",
    "dispatch_stall": "Register bank conflicts delay operands: all register numbers of an "
    "instruction are even, or all odd; another unroll factor or tile size changes them.",
    "gmma": "Warps wait for warpgroup matrix operations: keep more of them in flight.",
}
_BUSY = 80.0


def _most_used(c: Context) -> float | None:
    """The larger of compute and memory throughput in percent."""
    compute = c.number("sm__throughput.avg.pct_of_peak_sustained_elapsed")
    memory = c.number("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")
    known = [value for value in (compute, memory) if value is not None]
    return max(known) if known else None


@rule("SOLBottleneck", section="SpeedOfLight", title="Bottleneck")
def bottleneck(c: Context) -> Iterator[Finding]:
    """Whether compute or memory throughput limits the kernel, or latency does."""
    compute = c.number("sm__throughput.avg.pct_of_peak_sustained_elapsed")
    memory = c.number("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")
    if compute is None or memory is None:
        return
    told = f"compute throughput {compute:.0f} %, memory throughput {memory:.0f} %"
    if max(compute, memory) >= _BUSY:
        what = "Compute" if compute >= memory else "Memory"
        text = f"{what} throughput is near its peak ({told}): only doing less of that work helps."
    elif max(compute, memory) < 60:
        text = f"The kernel is latency-bound ({told}). The stall breakdown shows why warps wait."
    elif abs(compute - memory) >= 10:
        what = "compute" if compute > memory else "memory"
        text = f"The kernel uses {what} more ({told}); look there first."
    else:
        text = f"Compute and memory are balanced ({told}): to run faster, reduce both."
    yield Finding(text=text, tag="INF")


@rule("AchievedOccupancy", section="Occupancy", title="Achieved occupancy")
def achieved_occupancy(c: Context) -> Iterator[Finding]:
    """Achieved occupancy is well below theoretical occupancy."""
    theoretical = 100.0 * float(c.sources.occupancy.occupancy)
    achieved = c.number("sm__warps_active.avg.pct_of_peak_sustained_active")
    most = _most_used(c)
    if achieved is None or theoretical - achieved <= 10 or (most is not None and most >= _BUSY):
        return
    yield Finding(
        tag="INF",
        text=f"Achieved occupancy is {achieved:.0f} %, theoretical occupancy {theoretical:.0f} %: "
        "blocks end at different times, or the grid is small. Balance the work of blocks and "
        "warps, or launch more and smaller blocks.",
        basis="model",
    )


@rule("IssueSlotUtilization", section="SchedulerStats", title="Issue slots")
def issue_slots(c: Context) -> Iterator[Finding]:
    """Schedulers have no eligible warp in many cycles."""
    active = c.number("smsp__issue_active.avg.per_cycle_active")
    if active is None or active >= 0.6:
        return
    most = _most_used(c) or 0.0
    if most >= _BUSY:
        return
    warps = c.number("smsp__warps_active.avg.per_cycle_active") or 0.0
    yield Finding(
        tag="INF",
        text=f"A scheduler issues in {100 * active:.0f} % of its cycles; of its {warps:.1f} active "
        "warps, most are stalled. The stall breakdown shows which reasons dominate.",
        basis="model",
    )


@rule("CPIStall", section="WarpStateStats", title="Largest stall")
def top_stall(c: Context) -> Iterator[Finding]:
    """One stall reason accounts for much of the time between two issues of a warp."""
    active = c.number("smsp__issue_active.avg.per_cycle_active")
    latency = c.number("smsp__average_warp_latency_per_inst_issued.ratio")
    if active is None or not latency or active >= 0.8:
        return
    waits = {reason: c.number(_PER_ISSUE.format(reason)) or 0.0 for reason in CURES}
    reason, cycles = max(waits.items(), key=lambda item: item[1])
    if cycles < 0.3 * latency:
        return
    most = _most_used(c) or 0.0
    by_instruction = stalls_of(c.sources.timing).get(reason)
    place = None if by_instruction is None else c.worst(by_instruction)
    where = f" Most are at {place.told}, before {place.sass}." if place else ""
    yield Finding(
        tag="INF" if most >= _BUSY else "OPT",
        text=f"{reason.replace('_', ' ').capitalize()} stalls take {cycles:.1f} of the "
        f"{latency:.1f} cycles between two issues of a warp.{where} {CURES[reason]}",
        percent=None if most >= _BUSY else
        100 * min(cycles / latency, 1 - active, 1 - most / 100),
        kind="local",
        basis="model",
        place=place,
    )  # fmt: skip


@rule("LaunchOverhead", section="LaunchStats", title="Launch overhead")
def launch_overhead(c: Context) -> Iterator[Finding]:
    """Launch overhead is a large part of the duration of a short kernel."""
    duration = c.number("gpu__time_duration.sum")
    if duration is None or duration > 10_000:
        return
    saving = c.saving("launch")
    if saving is None or saving < 25:
        return
    yield Finding(
        text=f"About {saving:.0f} % of the {duration / 1000:.1f} us is launch overhead: starting "
        "the kernel and its blocks. Do more per launch: fuse kernels, process several problems in "
        "one grid, or use a CUDA graph.",
        percent=saving,
        kind="global",
        basis="model",
        resource="launch",
    )


@rule("PMSamplingData", section="PmSampling", title="Too few PM samples")
def few_samples(c: Context) -> Iterator[Finding]:
    """The sampling interval is too long to resolve the phases of the launch."""
    interval = c.number("profiler__pmsampler_interval_time")
    duration = c.number("gpu__time_duration.sum")
    if not interval or not duration or interval <= 0.1 * duration:
        return
    yield Finding(
        tag="WRN",
        text=f"A sampling interval of {interval:,.0f} ns is too long for a launch of "
        f"{duration:,.0f} ns. Set a shorter --pm-sampling-interval, or 0 to choose one "
        "automatically.",
    )
