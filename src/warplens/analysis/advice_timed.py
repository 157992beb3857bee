"""Rules that need the timing model: what warps wait for, and whether the GPU is busy."""

from __future__ import annotations

from collections.abc import Iterator

from warplens.analysis.advice import Context, Finding, rule
from warplens.analysis.stall_columns import stalls_of

_PER_ISSUE = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# reason -> what helps
CURES = {
    "long_scoreboard": "More loads in flight help: more warps, several independent loads per "
    "thread before the first use, wider loads, or data kept in shared memory or registers.",
    "short_scoreboard": "Results of shared memory, special functions or conversions are waited "
    "for: space their use further apart, or do several independent ones at a time.",
    "barrier": "Warps wait for their block at __syncthreads: balance the work before it, use "
    "smaller blocks, or warp-level synchronisation where it is enough.",
    "membar": "Memory fences are waited for: use fewer, or of a smaller scope.",
    "lg_throttle": "The queue of local and global accesses is full: use fewer and wider accesses, "
    "and avoid local memory.",
    "mio_throttle": "The queue of shared memory and special functions is full: use wider shared "
    "accesses, fewer of them, and remove bank conflicts.",
    "math_pipe_throttle": "One execution pipe is full: that is good if it does useful work; else "
    "use a cheaper operation or another pipe.",
    "wait": "Fixed latencies between dependent instructions: more warps or more independent "
    "operations per thread fill them.",
    "no_instruction": "Instructions are fetched too slowly: the code jumps far or is longer than "
    "the instruction cache; unroll less.",
    "branch_resolving": "Branches are waited for: unroll short loops, replace short branches by "
    "selections.",
    "imc_miss": "Constants are not in their cache: let all threads of a warp read one constant.",
    "sleeping": "Threads sleep or yield.",
    "tex_throttle": "The texture queue is full: fewer or wider texture accesses.",
    "drain": "Stores at the end of the kernel are waited for: coalesce them.",
    "dispatch_stall": "Operands wait for a port of the register file: instructions whose operands "
    "have all even or all odd register numbers; other unrolling or tile sizes change the numbers.",
    "gmma": "Warpgroup matrix operations are waited for: keep more of them in flight.",
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
    """Which part of the GPU comes nearest to its limit, or that none does."""
    compute = c.number("sm__throughput.avg.pct_of_peak_sustained_elapsed")
    memory = c.number("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")
    if compute is None or memory is None:
        return
    told = f"compute {compute:.0f} %, memory {memory:.0f} % of what the GPU sustains"
    if max(compute, memory) >= _BUSY:
        what = "Compute" if compute >= memory else "Memory"
        text = f"{what} is near its limit ({told}). Less of that work is what makes it faster."
    elif max(compute, memory) < 60:
        text = f"Neither limit is near ({told}): latency decides. See what warps wait for."
    elif abs(compute - memory) >= 10:
        what = "compute" if compute > memory else "memory"
        text = f"The kernel leans on {what} ({told}); look there first."
    else:
        text = f"Compute and memory are balanced ({told}): faster code needs less of both."
    yield Finding(text=text, tag="INF")


@rule("AchievedOccupancy", section="Occupancy", title="Achieved occupancy")
def achieved_occupancy(c: Context) -> Iterator[Finding]:
    """Fewer warps are resident on average than could be."""
    theoretical = 100.0 * float(c.sources.occupancy.occupancy)
    achieved = c.number("sm__warps_active.avg.pct_of_peak_sustained_active")
    most = _most_used(c)
    if achieved is None or theoretical - achieved <= 10 or (most is not None and most >= _BUSY):
        return
    yield Finding(
        tag="INF",
        text=f"{theoretical:.0f} % occupancy is possible, {achieved:.0f} % is reached on average: "
        "blocks end at different times or the grid is small. Even out the work of blocks and "
        "warps, or launch more and smaller blocks.",
        basis="model",
    )


@rule("IssueSlotUtilization", section="SchedulerStats", title="Issue slots")
def issue_slots(c: Context) -> Iterator[Finding]:
    """Schedulers find no warp that can issue in many cycles."""
    active = c.number("smsp__issue_active.avg.per_cycle_active")
    if active is None or active >= 0.6:
        return
    most = _most_used(c) or 0.0
    if most >= _BUSY:
        return
    warps = c.number("smsp__warps_active.avg.per_cycle_active") or 0.0
    yield Finding(
        tag="INF",
        text=f"A scheduler issues in {100 * active:.0f} % of its cycles; it has {warps:.1f} warps "
        "to choose from and most of them wait. The warp states tell for what.",
        basis="model",
    )


@rule("CPIStall", section="WarpStateStats", title="Most frequent wait")
def top_stall(c: Context) -> Iterator[Finding]:
    """What warps wait for most."""
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
    where = f" Most of it at {place.told}, before {place.sass}." if place else ""
    yield Finding(
        tag="INF" if most >= _BUSY else "OPT",
        text=f"A warp spends {cycles:.1f} of {latency:.1f} cycles between two instructions in "
        f"'{reason.replace('_', ' ')}'.{where} {CURES[reason]}",
        percent=None if most >= _BUSY else
        100 * min(cycles / latency, 1 - active, 1 - most / 100),
        kind="local",
        basis="model",
        place=place,
    )  # fmt: skip


@rule("LaunchOverhead", section="LaunchStats", title="Launch overhead")
def launch_overhead(c: Context) -> Iterator[Finding]:
    """The kernel is so short that starting it is a large part of its time."""
    duration = c.number("gpu__time_duration.sum")
    if duration is None or duration > 10_000:
        return
    saving = c.saving("launch")
    if saving is None or saving < 25:
        return
    yield Finding(
        text=f"Of {duration / 1000:.1f} us, about {saving:.0f} % are the start of the kernel and "
        "its blocks. Do more per launch: merge kernels, process several problems in one grid, or "
        "record the launches in a graph.",
        percent=saving,
        kind="global",
        basis="model",
        resource="launch",
    )


@rule("PMSamplingData", section="PmSampling", title="Few samples over time")
def few_samples(c: Context) -> Iterator[Finding]:
    """The sampling interval is so long that the launch's phases cannot be seen."""
    interval = c.number("profiler__pmsampler_interval_time")
    duration = c.number("gpu__time_duration.sum")
    if not interval or not duration or interval <= 0.1 * duration:
        return
    yield Finding(
        tag="WRN",
        text=f"A sample every {interval:,.0f} ns shows little of a launch of {duration:,.0f} ns. "
        "Give a shorter --pm-sampling-interval, or 0 to have one chosen.",
    )
