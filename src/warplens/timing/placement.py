"""All blocks of a grid on all SMs, in order: when each SM ends, where blocks are of unlike length.

The replay knows one SM. Here a block is only its length: the cycles that it would take with an SM
for itself, and the share of what an SM can do that it asks for meanwhile. Blocks of an SM go at
full speed while together they ask for less than there is, and are slowed down alike beyond that.
When one ends, its place takes the next block of the grid, as the hardware hands them out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.compiled import native

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_SPEEDS = 4096  # rows of the table of speeds
_MOST_LOAD = 16.0  # times what an SM can do: the table's end
_NEVER = 1e300
_CLUSTERS = 8  # of SMs, to whose pairs blocks come by turns (unlike_sm90.json)
_SOONER = 10  # blocks: than that `early` SMs take their second one and later ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What becomes of a grid on the chip.

    Attributes:
        ends: cycle at which each SM's last block ends; active: cycles with blocks.
        blocks: that each SM ran; sm_of: the SM of every block, in the order of the grid.
        durations: cycles that each block was there.
    """

    ends: Floats
    active: Floats
    blocks: Ints
    sm_of: Ints
    durations: Floats

    @property
    def makespan(self) -> float:
        """Cycles until the last SM ends."""
        return float(self.ends.max(initial=0.0))


@native
def _speed(load: float, speeds: Floats) -> float:
    """Speed of blocks that ask for `load` times what an SM can do."""
    row = int(load * (_SPEEDS / _MOST_LOAD))
    if row >= _SPEEDS:
        return 1.0 / load
    return float(speeds[row])


@native
def _next_end(sm: int, slots: int, ends: Floats, begun: Floats, load: Floats, now: Floats,
              speeds: Floats) -> float:  # fmt: skip
    """When the next block of an SM ends, by the chip's time; `ends` are by the SM's own clock,
    which goes slower the more is asked of it."""
    first = _NEVER
    for place in range(slots):
        first = min(first, ends[sm * slots + place])
    if first >= _NEVER:
        return _NEVER
    return float(now[sm] + (first - begun[sm]) / _speed(load[sm], speeds))


@native
def _place(lengths: Floats, loads: Floats, slots: int, turns: Ints, gap: Floats, speeds: Floats,
           ends: Floats, who: Ints, asks: Floats, own: Floats, load: Floats, now: Floats,
           due: Floats, started: Floats, last: Floats, active: Floats, counts: Ints, sm_of: Ints,
           durations: Floats) -> None:  # fmt: skip
    """Runs all blocks. Per SM: `own` is its own clock and `now` the chip's when it was set, `load`
    what its blocks ask for, `due` when its next block ends; per place of an SM: `ends`, `who`."""
    sms, total = now.size, lengths.size
    for taken in range(turns.size):
        sm = turns[taken]
        at = sm * slots + counts[sm]
        ends[at] = lengths[taken]
        who[at], asks[at] = taken, loads[taken]
        started[taken] = 0.0
        load[sm] += loads[taken]
        sm_of[taken] = sm
        counts[sm] += 1
    taken = turns.size
    for sm in range(sms):
        for place in range(slots):  # by the SM's own clock, as long as `gap` is by the chip's
            ends[sm * slots + place] += gap[0] * place * _speed(load[sm], speeds)
        due[sm] = _next_end(sm, slots, ends, own, load, now, speeds)
    left = taken
    while left > 0:
        sm, soonest = 0, due[0]
        for other in range(1, sms):
            if due[other] < soonest:
                sm, soonest = other, due[other]
        place, first = 0, ends[sm * slots]
        for other in range(1, slots):
            if ends[sm * slots + other] < first:
                place, first = other, ends[sm * slots + other]
        at = sm * slots + place
        active[sm] += soonest - now[sm]
        own[sm], now[sm] = first, soonest
        last[sm] = soonest
        durations[who[at]] = soonest - started[who[at]]
        load[sm] = max(0.0, load[sm] - asks[at])
        ends[at] = _NEVER
        left -= 1
        if taken < total:
            begin = max(soonest, last[sms + sm])
            last[sms + sm] = begin + gap[1]
            who[at], asks[at] = taken, loads[taken]
            started[taken] = begin
            load[sm] += loads[taken]
            ends[at] = own[sm] + lengths[taken] + (begin - soonest) * _speed(load[sm], speeds)
            sm_of[taken] = sm
            counts[sm] += 1
            taken += 1
            left += 1
        due[sm] = _next_end(sm, slots, ends, own, load, now, speeds)


def speeds_of(sharpness: float) -> Floats:
    """The table of speeds: with little to do for an SM blocks go at full speed, with much in
    inverse proportion; how sharp the bend between them is."""
    load = (np.arange(_SPEEDS) + 0.5) * (_MOST_LOAD / _SPEEDS)
    found: Floats = np.power(1.0 + np.power(load, sharpness), -1.0 / sharpness)
    return found


def first_turns(total: int, sms: int, slots: int, early: tuple[int, int]) -> Ints:
    """The SM of each of a grid's first blocks, as many as there is place for.

    They come in turn to all SMs. Of grids of two rounds and more, `early` of the SMs take one as
    often as the others, too, but at the begin of every so many blocks, until they have as many as
    there are whole rounds; for what is left of the grid then see `_last_turns` (recorded on an
    H200, unlike_sm90.json: the SMs of its smallest cluster, 98 blocks).
    """
    some, every = early
    sms_in_turn, rounds = np.arange(sms), total // sms
    if not some or not rounds or slots < 2:
        return np.arange(min(total, sms * slots)) % sms
    last = _last_turns(total - rounds * sms, sms, some)
    if rounds == 1:
        return np.concatenate([sms_in_turn, last])
    others = np.tile(sms_in_turn[some:], rounds)
    at = [max(0, every * k - _SOONER - some * k) for k in range(rounds)]
    where = np.repeat(np.minimum(at, len(others)), some)
    whole = np.insert(others, where, np.tile(sms_in_turn[:some], rounds))
    turns = np.concatenate([whole, last])
    order = np.argsort(turns, kind="stable")
    firsts = np.searchsorted(turns[order], turns[order])
    found: Ints = turns[np.sort(order[np.arange(total) - firsts < slots])]
    return found


def _last_turns(left: int, sms: int, some: int) -> Ints:
    """The SMs of blocks that are left of a grid, fewer than there are SMs: one of each pair before
    the other of any, and those by clusters, the smallest one of `some` SMs first; in turn again."""
    pairs = np.arange(sms // 2)
    cluster = np.where(pairs < some // 2, -1, (pairs - some // 2) % _CLUSTERS)
    others = 2 * np.argsort(cluster, kind="stable") + 1
    return np.sort(np.concatenate([2 * pairs[:left], others[: max(0, left - len(pairs))]]))


def place(lengths: Floats, loads: Floats, sms: int, slots: int, gaps: tuple[float, float],
          speeds: Floats, early: tuple[int, int] = (0, 0)) -> Placement:  # fmt: skip
    """Places blocks of some lengths, with the share of an SM that each asks for, on SMs that hold
    `slots` each. `gaps`: cycles between two starts on an SM, of the first blocks and later;
    `early`: see first_turns."""
    total = len(lengths)
    ends = np.full(sms * slots, _NEVER)
    last, active, counts = np.zeros(2 * sms), np.zeros(sms), np.zeros(sms, np.int64)
    sm_of, durations = np.zeros(total, np.int64), np.zeros(total)
    _place(
        np.ascontiguousarray(lengths, np.float64), np.ascontiguousarray(loads, np.float64), slots,
        first_turns(total, sms, slots, early),
        np.array(gaps, np.float64), speeds, ends, np.zeros(sms * slots, np.int64),
        np.zeros(sms * slots), np.zeros(sms), np.zeros(sms), np.zeros(sms), np.zeros(sms),
        np.zeros(total), last, active, counts, sm_of, durations,
    )  # fmt: skip
    return Placement(
        ends=last[:sms], active=active, blocks=counts, sm_of=sm_of, durations=durations
    )
