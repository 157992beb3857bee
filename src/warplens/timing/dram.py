"""DRAM: a bandwidth that all SMs share and a latency; a queue forms when it is asked for more."""

from __future__ import annotations

import math

from warplens.timing.state import Record, Trace, stage

IDEAL_DRAM = 1
APART = -2  # a place: local memory, of which each lane's word lies in another line
# Of sectors that atomics change, the time of one that goes back alone, over that of one of a long
# row, and what each further one takes (scattered_adds_sm90.json, single words: 4.5;
# hit_rates_sm90.json, lines of 128 MiB in order, read and written at 2.9 TB/s: 1.8 each)
_CHANGED, _CHANGED_MORE = 3.6, 0.9
_MOST_LOAD = 0.7  # beyond, waiting for others grows no more: what is too much is in `dram_free`


@stage
def read(sm: Record, spec: Record, trace: Trace, place: int, sectors: float,
         begin: float) -> float:  # fmt: skip
    """When sectors asked for at `begin` are back at L1; `place`: of the line in the trace, below
    0 for local memory."""
    sm.dram_read += sectors
    if spec.ideal & IDEAL_DRAM:
        return float(begin + spec.l2_hit)
    lot = trace.lots[place] if place >= 0 else 1.0
    cycles = sectors * 32 / spec.dram_rate * _stretch(trace, place, spec.dram_read_piece)
    _take(sm, spec, cycles, begin)
    alone = begin + sectors * 32 / spec.port_rate
    # Requests of other SMs come at random times: on average a read waits as u / (1 - u) for reads,
    # and in proportion for writes. It does not wait for its own SM's requests as well.
    passed = begin + 1000.0
    load = min(_MOST_LOAD, sm.dram_busy / passed)
    written = sm.dram_write_busy / passed
    wait = lot * (spec.dram_queue * load / (1.0 - load) + spec.dram_write_wait * written)
    wait += spec.dram_crowd * min(1.0, 2.0 * load)
    begun = max(sm.dram_free, alone, begin + wait)
    return float(begun + spec.dram_latency + spec.dram_spread * (lot - 1.0))


@stage
def write(sm: Record, spec: Record, trace: Trace, place: int, sectors: float,
          begin: float) -> None:  # fmt: skip
    """Takes the bandwidth of sectors that L2 writes back, of the line at a place in the trace."""
    sm.dram_write += sectors
    if not spec.ideal & IDEAL_DRAM:
        cycles = sectors * 32 / spec.dram_rate * _stretch(trace, place, spec.dram_write_piece)
        _write(sm, spec, cycles, cycles * _write_cost(sm, spec), begin)


@stage
def _write_cost(sm: Record, spec: Record) -> float:
    """A written byte's share of the bandwidth against a read one: DRAM turns from the one to the
    other the more often, the more it has read of what it has written."""
    mixed = min(1.0, sm.dram_read / max(1.0, sm.dram_write))
    alone = spec.dram_write_alone
    return float(alone + (spec.dram_write_cost - alone) * mixed)


@stage
def write_changed(sm: Record, spec: Record, sectors: float, together: int, begin: float) -> None:
    """The same of sectors that atomics change all over memory, so many of a line together: these
    in a piece's time, of which that to turn from reading to writing is a part (recorded: see
    _CHANGED)."""
    sm.dram_write += sectors
    if not spec.ideal & IDEAL_DRAM:
        stretch = max(1.0, _CHANGED / together + _CHANGED_MORE)
        cycles = sectors * 32 / spec.dram_rate * stretch
        _write(sm, spec, cycles, cycles, begin)


@stage
def _write(sm: Record, spec: Record, cycles: float, owed: float, begin: float) -> None:
    """Writes for so many cycles, which take `owed` of DRAM's in all, when there is time."""
    sm.dram_owed += owed
    sm.dram_write_busy += cycles
    _queue(sm, spec, owed, begin)
    _catch_up(sm, spec, begin)


@stage
def fill(sm: Record, spec: Record, trace: Trace, place: int, sectors: float,
         begin: float) -> None:  # fmt: skip
    """Takes the bandwidth of reading sectors of a line, at a place in the trace, that stores write
    in part."""
    sm.dram_read += sectors
    if not spec.ideal & IDEAL_DRAM:
        cycles = sectors * 32 / spec.dram_rate * _stretch(trace, place, spec.dram_read_piece)
        _take(sm, spec, cycles, begin)
        _queue(sm, spec, cycles, begin)


@stage
def apart(spec: Record, now: float) -> float:
    """Cycles by which SMs are out of step: what one left unused of what all share, others used.
    Waits for memory differ, and their sums with the root of the time (measured,
    validation/data/rounds_sm90.json)."""
    return float(spec.apart + spec.apart_root * math.sqrt(now))


@stage
def _take(sm: Record, spec: Record, cycles: float, begin: float) -> None:
    """Reads for so many cycles, at once if the SM left as many unused."""
    _catch_up(sm, spec, begin)
    sm.dram_free = max(begin - apart(spec, begin), sm.dram_free) + cycles
    sm.dram_busy += cycles


@stage
def _queue(sm: Record, spec: Record, cycles: float, begin: float) -> None:
    """What stores alone ask of DRAM: until then L2 has no room for more of them."""
    sm.dram_write_free = max(begin - apart(spec, begin), sm.dram_write_free) + cycles


@stage
def _stretch(trace: Trace, place: int, piece: float) -> float:
    """By how much a piece of a row takes longer than so many bytes among others of the row: opening
    the row costs as much as `piece` bytes, during which a quarter of its own can be moved."""
    size = trace.pieces[place] if place >= 0 else 0.0
    if place == APART:
        size = 32.0
    return max(1.0, piece / size + 0.25) if size > 0.0 else 1.0


@stage
def _catch_up(sm: Record, spec: Record, now: float) -> None:
    """Writes in the gaps that reads left until now, and at once what is too much to keep."""
    if sm.dram_busy == 0.0:
        sm.dram_free = max(sm.dram_free, now)  # before the first access nobody else had any
    idle = min(sm.dram_owed, max(0.0, now - sm.dram_free))
    sm.dram_free += idle
    forced = max(0.0, sm.dram_owed - idle - spec.dram_backlog)
    if forced > 0.0:
        sm.dram_free = max(now, sm.dram_free) + forced
    sm.dram_owed -= idle + forced
    sm.dram_busy += idle + forced
