"""From a replay of some blocks to the whole launch: steady rate, waves, tail, the launch's end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from warplens.gpus.spec import GpuSpec
from warplens.timing.ground import Sample
from warplens.timing.question import Estimate, Pace, Question, Replay
from warplens.timing.sample import IN_STEP
from warplens.timing.stall import REASONS
from warplens.timing.state import FIRST_REASON, PROGRESS, Floats
from warplens.timing.uneven import Grid, Replayed, busiest

_MOST = 0.4  # of a replay: a share in which no warp or block has ended, to be worth while
_ALL = 0.97  # of the warps
_FILLED = 0.3  # of a replay's instructions, after which caches are filled
_LEAST_FULL = 0.1  # of a replay: with all its places taken, to tell how warps are then
_LEAST_NOTES = 8  # of a replay, to fit a line to its progress
_HARDLY_SLOWER, _UNSTEADY = 1.25, 0.1  # see keeps_up
_LAST_FREE = (
    "atomic_free", "l2_free", "answers_free", "l2_write_free", "partial_free", "dram_free",
    "port_free", "port_write_free",
)  # fmt: skip
# Of a block's time: from the end of the mean SM to that of the last, in launches of the tuning half
# of two public suites on an H200. Of no more blocks than SMs, in proportion to how much of it is
# waiting for memory. After more than IN_STEP waves 0.04 to 0.1 (asynchronous copies,
# multiplications), 0.2 to 0.4 where more than a quarter is waiting.
FEW_APART, LATE_APART, UNEVEN_APART = 0.04, 0.3, 0.08
# Of up to IN_STEP waves it grows with the root of what a block waits for memory, as sums of waits
# that are independent of each other do: 15 to 28 times the root in 14 of 21 such launches there,
# of blocks of 1,300 to 100,000 cycles on 132 SMs; the largest of n such sums with the root of
# log n.
_ROOT_APART = 8.6
_LATE_WAITS, _LEAST_APART = 0.3, 0.04
# Launches of a block end 1,370 ns after its SM, of 2 to 16 blocks 1,440, of 17 to 131 1,520, of
# more 1,470 to 1,600 (H200, launches below 7 us of the opened parts of the suites)
_SMS_TAKE_PART = 0.35
# How sharply an SM whose atomics a slice of L2 adds all the time (`generatingTriangles`, which ends
# with its mean SM) differs from those for which it does 0.4 to 0.87 of it (five uneven grids of the
# suites, which do not): a power of that part
_ONLY = 8.0


def launch_overhead_ns(gpu: GpuSpec, busy_ns: float, active_sms: int) -> float:
    """Nanoseconds of a launch in which no SM works, and those that it loses while the clock
    settles, which is over in long ones; less where few SMs take part."""
    settling = float(gpu.value("launch.settling_ns", 0.0))
    part = 1.0 - np.exp(-busy_ns / float(gpu.value("launch.settling_over_ns", 1.0)))
    many = float(((active_sms - 1) / max(1, gpu.sm_count - 1)) ** _SMS_TAKE_PART)
    alone = float(gpu.value("launch.alone_saves_ns", 0.0))
    settling = settling * float(part) * (many if alone else 1.0)
    return float(gpu.value("launch.overhead_ns", 1850.0)) - alone * (1.0 - many) + settling


def most_of_an_sm(question: Question, active_sms: int) -> float:
    """Blocks that the busiest SM runs: after some waves places are filled as they become free, so
    SMs end together."""
    share = question.blocks / active_sms
    if share > IN_STEP * question.resident:
        return share
    return float(-(-question.blocks // active_sms))


def extrapolate(question: Question, replay: Replay, active_sms: int,
                pace: Pace | None = None) -> Estimate:  # fmt: skip
    """Continues a replay's steady rate, or the pace of windows, to the whole grid."""
    n = 0 if pace else replay.blocks
    done = np.sort(replay.counts.done[:n, 0]).astype(np.float64)
    work_per_block = replay.instructions / max(1, n)
    total = question.instructions or work_per_block * question.blocks
    share = question.blocks / active_sms  # blocks of a busy SM
    mean_work = total / question.blocks
    rate, error = _steady(replay, question.resident)
    of_one_wave = not n or (n <= 1.5 * question.resident < share)
    if of_one_wave:
        rate = inner_rate(replay)  # when it ends, the next would begin
    if pace:
        rate = pace.work / pace.cycles

    def cycles(blocks: float) -> float:
        if not n:
            return float(replay.cycles)
        blocks *= mean_work / work_per_block  # of a window of each block, so many more would run
        if blocks <= n:
            low = int(np.floor(blocks))
            below = done[low - 1] if low else 0.0
            above = done[min(n, low + 1) - 1]
            return float(below + (above - below) * (blocks - low))
        return float(done[-1] + (blocks - n) * work_per_block / rate)

    most = most_of_an_sm(question, active_sms)
    mean = cycles(share)
    apart = _apart(replay, _part_apart(share, question.resident))
    if share <= IN_STEP * question.resident:
        apart = max(apart, _last_of(active_sms, replay))
    busiest = cycles(most) + apart
    if not n:  # blocks so long that none ended
        busiest, mean = most * mean_work / rate, max(1.0, share) * mean_work / rate
        if pace and share <= 1.0:
            busiest = pace.longest
        if pace and pace.fewer:
            few = most - share  # of the SMs, which have a block less than the others
            mean = few * min(pace.fewer, busiest) + (1.0 - few) * busiest
        tail = pace.tail if pace else 0.0
        busiest, mean = busiest + tail, mean + tail
    hertz = question.clock_mhz * 1e6
    overhead = launch_overhead_ns(question.gpu, busiest / hertz * 1e9, active_sms) * 1e-9 * hertz
    # Reductions and stores that nobody waits for are still on their way when the last warp ends.
    busy = max(float(replay.sm[name]) for name in _LAST_FREE)
    left = max(busy, float(replay.sm["slowest_slice"])) - replay.cycles
    served = _added(question, replay, active_sms) * share / n if n else 0.0
    ended = cycles(most) if n > share else mean  # what is on its way waits since then
    overhead += max(0.0, left - (busiest - ended), served - busiest) if n else 0.0
    active = mean * _active_share(replay) * active_sms / question.gpu.sm_count
    many = share > IN_STEP * question.resident
    living = _living(replay) if many and (pace or of_one_wave) else 0.0
    warps, states = living * active * question.gpu.sm_count, None
    if n > 2 * question.resident and mean > done[-1]:
        each = _while_full(replay, question.resident)
        if each is not None:
            sums = np.append(replay.sm["warp_cycles"], replay.counts.stalls.sum(axis=0))
            warps, *states = (sums + (mean - done[-1]) * each) * active_sms
            states[0] = total  # as much is issued as there is work
    return Estimate(
        active_cycles=active,
        mean_cycles=mean,
        busiest_cycles=busiest,
        elapsed_cycles=busiest + overhead,
        overhead_cycles=overhead,
        scale=total / max(1, replay.instructions),
        steady_blocks_per_cycle=rate / max(1.0, mean_work),
        sampling_error=error,
        active_sms=active_sms,
        warp_cycles=float(warps),
        states=None if states is None else np.array(states),
    )


def _added(question: Question, replay: Replay, active_sms: int) -> float:
    """Cycles that the replayed blocks' atomics on one place take an SM, one after another.

    Sectors that DRAM brings hold up the slice that adds, those that L2 holds do not; and where
    DRAM is busy for about as long, loads of that slice's lines wait for the atomics in front of
    them, so that neither has all of the time (validation/data/read_and_add_sm90.json).
    """
    served, gpu = float(replay.sm["slice_work"].max()), question.gpu
    read = float(replay.sm["dram_read"])
    if not served or not read:
        return served
    served += read * active_sms * float(gpu.value("l2.atomic_filled_cycles"))
    power = float(gpu.value("l2.atomic_beside_dram"))
    from_dram = read * 32 / float(replay.spec["dram_rate"])
    return float((served**power + from_dram**power) ** (1.0 / power))


def _while_full(replay: Replay, resident: int) -> Floats | None:
    """What a cycle of an SM adds to the cycles of all its warps, and to those in each state, from
    the end of its first wave of blocks to the begin of the last block: behind that fewer warps
    live, and wait less for each other, which a longer launch has no more of."""
    done = replay.counts.done[: replay.blocks]
    full = float(np.sort(done[:, 0])[resident - 1]), float(done[:, 2].max())
    if full[1] - full[0] < _LEAST_FULL * replay.cycles:
        return None
    notes = replay.counts.progress[: int(replay.sm["notes"])]
    known = notes[:, [PROGRESS.index("warp_cycles"), *range(FIRST_REASON, notes.shape[1])]]
    both = np.array([np.interp(full, notes[:, 0], column) for column in known.T])
    return np.asarray((both[:, 1] - both[:, 0]) / (full[1] - full[0]))


def _apart(replay: Replay, part: Callable[[float], float]) -> float:
    """From the mean SM's end to the last one's: memory is not as near to all of them, and nothing
    makes up for that in the blocks with which they end. It is a part of a block's time, by how much
    of it is waiting for memory; waits at mbarriers, mostly for other warps, do not count."""
    n = replay.blocks
    if not n:
        return 0.0
    life = _life(replay)
    return part(_waited(replay) / life) * life


def _last_of(many: float, replay: Replay) -> float:
    """From the mean to the last of so many SMs that wait for memory each for itself."""
    return float(_ROOT_APART * np.sqrt(_waited(replay) * np.log(max(1.0, many))))


def _life(replay: Replay) -> float:
    """The mean cycles of a replayed block."""
    done = replay.counts.done[: replay.blocks]
    return max(1.0, float((done[:, 0] - done[:, 2]).mean()))


def _waited(replay: Replay) -> float:
    """The mean cycles for which a replayed block waits for memory."""
    if not replay.blocks:
        return 0.0
    time = replay.counts.stalls.sum(axis=0).astype(np.float64)
    waited = float(time[REASONS.index("long_scoreboard")]) - float(replay.sm["phase_waits"])
    return max(0.0, waited) / max(1.0, float(time.sum())) * _life(replay)


def _part_apart(share: float, resident: int) -> Callable[[float], float]:
    """What part of their time blocks of a kind end apart, if a busy SM has `share` of them."""
    if share <= 1.0:
        return lambda waits: FEW_APART * waits
    if share <= IN_STEP * resident:
        return lambda waits: _LEAST_APART
    return lambda waits: max(_LEAST_APART, LATE_APART * min(1.0, waits / _LATE_WAITS))


def on_chip(estimate: Estimate, grid: Grid, replay: Replay) -> Estimate:
    """An estimate with the times of a grid whose blocks were placed one by one.

    What a slice of L2 adds for all SMs takes no longer if some have more of it, where the SM waits
    for nothing else: when others have ended these wait less for it.
    """
    placement, share = grid.placement, _active_share(replay)
    mean = float(placement.ends[placement.blocks > 0].mean())
    added = min(1.0, float(replay.sm["slice_work"].max()) / max(1, replay.cycles))
    busiest = placement.makespan - added**_ONLY * (placement.makespan - mean)
    busiest += _apart(replay, lambda waits: UNEVEN_APART * waits)
    return replace(
        estimate,
        active_cycles=float(placement.active.mean()) * share,
        mean_cycles=mean,
        busiest_cycles=busiest,
        idlest_cycles=float(placement.active.min()) * share,
        elapsed_cycles=busiest + estimate.overhead_cycles,
        warp_cycles=grid.warp_cycles,
        states=None,
    )


def each_alone(estimate: Estimate, loads: Sequence[tuple[Replay, float]], sms: int,
               differ: bool) -> Estimate:  # fmt: skip
    """An estimate with the times of blocks that have one of the chip's `sms` SMs each, of which
    replays, the longest first, stand for so many each; `differ`: their work does."""
    longest, many = loads[0]
    mean = sum(one.cycles * blocks for one, blocks in loads) / estimate.active_sms
    part = UNEVEN_APART if differ else FEW_APART
    apart = _apart(longest, lambda waits: part * waits)
    if not differ:
        apart = max(apart, _last_of(many, longest))
    busiest = longest.cycles + apart
    return replace(
        estimate,
        active_cycles=mean * _active_share(longest) * estimate.active_sms / sms,
        mean_cycles=mean,
        busiest_cycles=busiest,
        idlest_cycles=float(min(one.cycles for one, _ in loads)) * _active_share(longest),
        elapsed_cycles=busiest + estimate.overhead_cycles,
        warp_cycles=sum(float(one.sm["warp_cycles"]) * blocks for one, blocks in loads),
    )


def ended_by(estimate: Estimate, question: Question, replay: Replay, last: Replay) -> Estimate:
    """An estimate whose grid ends with a block that was replayed by itself, and may end last: while
    it runs others end, so that in the end it has the chip for itself."""
    begun = 0.0
    if question.blocks > question.resident * estimate.active_sms:
        life = _life(replay) if replay.blocks else estimate.mean_cycles
        begun = max(0.0, estimate.mean_cycles - life)
    longer = begun + float(last.cycles) - estimate.busiest_cycles
    if longer <= 0.0:
        return estimate
    sms = question.gpu.sm_count
    more = longer + estimate.busiest_cycles - estimate.mean_cycles
    warps = estimate.warp_cycles + more * question.warps_per_block
    return replace(
        estimate,
        active_cycles=estimate.active_cycles + more / sms,
        mean_cycles=estimate.mean_cycles + more / estimate.active_sms,
        busiest_cycles=estimate.busiest_cycles + longer,
        idlest_cycles=estimate.idlest_cycles or estimate.active_cycles,
        elapsed_cycles=estimate.elapsed_cycles + longer,
        warp_cycles=warps if estimate.warp_cycles else 0.0,
    )


def replayed_blocks(sample: Sample, replay: Replay, pace: tuple[float, float]) -> Replayed:
    """Work and time of the blocks that ended in a replay; `pace`: see Replayed."""
    trace, n = sample.trace, 0 if sample.windows else replay.blocks
    work = trace.works().astype(np.float64)
    done = replay.counts.done[:n]
    done = done[np.argsort(done[:, 3])]
    issue, memory = busiest(replay.sm, replay.spec)
    return Replayed(
        numbers=done[:, 3],
        passes=trace.passes()[done[:, 3]].astype(np.float64),
        whole=work[done[:, 3]].sum(axis=1), longest=work[done[:, 3]].max(axis=1, initial=0.0),
        cycles=(done[:, 0] - done[:, 2]).astype(np.float64), span=float(replay.cycles),
        warp_cycles=float(replay.sm["warp_cycles"]), instructions=float(replay.instructions),
        issue=issue, memory=memory, pace=pace,
    )  # fmt: skip


def _active_share(replay: Replay) -> float:
    """The part of the replayed time in which the SM had warps."""
    return min(1.0, float(replay.sm["cycles"]) / max(1, replay.cycles)) if replay.blocks else 1.0


def inner_rate(replay: Replay) -> float:
    """Warp instructions per cycle while all warps run, or else all blocks: when one has ended, the
    next would begin. Without the first three tenths, in which caches fill; if they end early, from
    two to eight tenths of all."""
    notes = replay.counts.progress[: int(replay.sm["notes"])]
    names = ("now", "issued", "finished", "cycles", "warp_cycles")
    now, issued, ended, cycles, warps = (notes[:, PROGRESS.index(name)] for name in names)
    living = np.diff(warps, prepend=0.0) / np.maximum(1.0, np.diff(cycles, prepend=0.0))
    limits = 0.2 * replay.instructions, 0.8 * replay.instructions
    for all_run in (living >= _ALL * living.max(initial=0.0), ended == 0):
        until = float(issued[all_run][-1]) if all_run.any() else 0.0
        if until >= _MOST * replay.instructions:
            limits = 0.3 * until, until
            break
    a, b = np.searchsorted(issued, limits).tolist()
    if not a < b < len(notes):
        return max(1, replay.instructions) / max(1, replay.cycles)
    return float((issued[b] - issued[a]) / max(1.0, now[b] - now[a]))


def drained_rate(replay: Replay) -> float:
    """Warp instructions per cycle from begin to end, had caches been filled at once: the oldest
    block goes first, so blocks that begin together do not end together, and those that are left
    fill the SM less and less."""
    notes = replay.counts.progress[: int(replay.sm["notes"])]
    now, issued = (notes[:, PROGRESS.index(name)] for name in ("now", "issued"))
    inner = inner_rate(replay)
    begun = int(np.searchsorted(issued, _FILLED * replay.instructions))
    lost = max(0.0, float(now[begun] - issued[begun] / inner)) if begun < len(notes) else 0.0
    return min(inner, replay.instructions / max(1.0, replay.cycles - lost))


def _living(replay: Replay) -> float:
    """Warps on the SM while none of the first blocks has ended: after those come others."""
    notes = replay.counts.progress[: int(replay.sm["notes"])]
    ended, cycles, warps = (
        notes[:, PROGRESS.index(name)] for name in ("finished", "cycles", "warp_cycles")
    )
    last = max(1, int((ended == 0).sum()) - 1)
    first = last // 10 if last < len(notes) else 0
    if last >= len(notes) or cycles[last] <= cycles[first]:
        return 0.0
    return float((warps[last] - warps[first]) / (cycles[last] - cycles[first]))


def steady_gap(replay: Replay, resident: int) -> float:
    """Cycles from the end of a block to that of the next while the SM is full; beyond all
    bounds if too few ended."""
    rate, n = _steady(replay, resident)[0], replay.blocks
    return replay.instructions / n / rate if n > 2 * resident and rate > 0.0 else 1e30


def keeps_up(replay: Replay, resident: int, interval: float) -> bool:
    """Whether an SM works off blocks as fast as the chip hands them out, one each `interval`; or
    hardly slower, while the replay's halves differ: its first blocks begin all at once, and too few
    were replayed until they no longer ended together."""
    gap, error = steady_gap(replay, resident), _steady(replay, resident)[1]
    return gap < interval or (gap < _HARDLY_SLOWER * interval and error > _UNSTEADY)


def _slope(replay: Replay, begin: float, n: int) -> float:
    """Warp instructions per cycle from a moment to the begin of the last block, by least squares:
    what blocks in the middle of theirs have done at two moments says less than all the time
    between. 0 if too little was noted."""
    notes = replay.counts.progress[: int(replay.sm["notes"])]
    now, issued = (notes[:, PROGRESS.index(name)] for name in ("now", "issued"))
    mine = (now >= begin) & (now <= float(replay.counts.done[:n, 2].max()))
    if mine.sum() < _LEAST_NOTES:
        return 0.0
    now, issued = now[mine] - now[mine].mean(), issued[mine] - issued[mine].mean()
    return float((now * issued).sum() / (now * now).sum())


def _steady(replay: Replay, resident: int) -> tuple[float, float]:
    """Warp instructions per cycle while the SM is full, and how sure that is."""
    n = replay.blocks
    if not n:
        return 0.0, 0.0
    order = np.argsort(replay.counts.done[:n, 0], kind="stable")
    done, work = replay.counts.done[:n, :2][order].astype(np.float64).T
    first, last = resident - 1, n - resident
    if last - first < max(2, resident // 2):
        return float(work[-1] / max(1.0, done[-1])), 0.0
    middle = (first + last) // 2

    def rate(a: int, b: int) -> float:
        return float((work[b] - work[a]) / max(1.0, done[b] - done[a]))

    whole = _slope(replay, done[first], n) or rate(first, last)
    return whole, abs(rate(first, middle) - rate(middle, last)) / whole if whole else 0.0
