"""Textures and surfaces in the replay: their units, and sectors that L1 does not hold.

A sub-partition sends one warp's coordinates after the other; the units take lanes in turns and give
texels back in the registers of the warp, later than loads do. Sectors that L1 does not hold come
from L2 and DRAM as loads' do, what is written to surfaces leaves as stores do.
"""

from __future__ import annotations

from warplens.timing import l1, l2, lsu, sent
from warplens.timing.state import (
    TEXTURES_HELD,
    TEXTURES_KNOWN,
    TEXTURES_QUEUED,
    Record,
    Records,
    State,
    Trace,
    stage,
)

TURNS = 8.0  # of a warp's samples: an SM has four units
SECTOR_LEAVES = 1.5  # cycles of the units for a sector that is written to a surface
# Of what L2 takes for stores of threads to sectors in part, and of a slice's time for an atomic
_IN_PART, _COMBINED = 0.78, 0.9
_DEEPER = 2.0  # cycles of the latency for each turn beyond those (texture_times_sm90.json)


@stage
def perform(state: State, sub: Record, spec: Record, inst: Record, trace: Trace, warp: Record,
            now: int) -> int:  # fmt: skip
    """When a warp has its samples; what it does to a surface is on its way. The SM's first ones
    bring the object's description, for which all wait that read."""
    sm = state.sm[0]
    if sm.texture_known == 0.0:
        sm.texture_known = now + spec.texture_header
    start = _begin(sm, sub, spec, inst, now)
    if inst.tex_written == 0.0:
        start = max(start, sm.texture_known)
    latency = inst.latency + _DEEPER * max(0.0, inst.texture - TURNS)
    done = start + latency
    left, missed = start, 0.0
    if not inst.surface:
        sm.tex_looked += inst.tex_sectors
    elif inst.tex_written == 0.0:
        sm.surface_looked += inst.tex_sectors
    while lsu.has_access(trace, warp):
        access = trace.accesses[warp.access]
        warp.access += 1
        first, count = access.first_line, access.n_lines
        if access.kind == lsu.READ:
            before = sm.tex_missed + sm.surface_missed
            there = _read(sm, state.l1, spec, inst, trace, first, count, start)
            missed = max(missed, sm.tex_missed + sm.surface_missed - before)
            if there > 0.0:
                done = max(done, there + latency - spec.texture_ahead)
        elif access.kind == lsu.WRITE:
            n_bytes = access.lanes * access.size
            left = max(left, _write(sm, spec, trace, first, count, n_bytes, start))
        else:
            left = max(left, _combine(sm, spec, trace, access, start))
    if missed > 0.0:
        sm.texture_done[sm.next_done] = done
        sm.next_done = (sm.next_done + 1) % TEXTURES_KNOWN
    if left > start:
        warp.known = max(warp.known, int(left + spec.l2_hit))
        warp.stores = max(warp.stores, int(left))
        sm.pending = max(sm.pending, float(warp.known))
    sm.texture_free = max(
        sm.texture_free, lsu.held_until(sm, spec), sm.slices_hold
    )
    return int(done)


@stage
def _begin(sm: Record, sub: Record, spec: Record, inst: Record, now: int) -> float:
    """When the units begin with a warp's samples. They have room for some; for those beyond them
    the queue waits. Nor do they begin before most of the earlier ones that miss L1 are done."""
    sent = max(float(now), sub.sent)
    sub.sent = sent + inst.sends
    taken = max(sent, sm.texture_begun[sm.next_texture])
    sub.taken[sub.next_taken] = taken
    sub.next_taken = (sub.next_taken + 1) % TEXTURES_HELD
    held = int(min(TEXTURES_KNOWN - 1.0, spec.texture_turns / max(1.0, inst.texture)))
    oldest = sm.texture_done[(sm.next_done - held) % TEXTURES_KNOWN]
    begun = max(sm.texture_free, taken, oldest)
    sm.texture_begun[sm.next_texture] = begun
    sm.next_texture = (sm.next_texture + 1) % TEXTURES_QUEUED
    sm.texture_free = begun + inst.texture
    return float(begun)


@stage
def _read(sm: Record, lines: Records, spec: Record, inst: Record, trace: Trace, first: int,
          count: int, begin: float) -> float:  # fmt: skip
    """When the last of some lines' sectors that L1 does not hold yet is there; 0 if all are."""
    last, asked = 0.0, 0
    for at in range(first, first + count):
        line, sectors = trace.lines[at] >> 4, trace.lines[at] & 15
        place = l1.look_up(lines, line, 0)
        missing = sectors & ~lines[place].valid if place >= 0 else sectors
        if spec.ideal & lsu.IDEAL_L1:
            continue
        if place >= 0:
            there = float(l1.arrival(lines[place], sectors & ~missing))
            last = max(last, there if there > begin + spec.l1_hit else 0.0)
        if missing == 0:
            continue
        known = trace.hits[at]
        there = l2.load(sm, spec, trace, at, known, line, missing, begin + asked)
        asked += 1
        place = place if place >= 0 else -1 - place
        l1.fill(lines, place, line, missing, 0, int(there))
        if inst.surface:
            sm.surface_missed += l2.count_bits(missing)
        else:
            sm.tex_missed += l2.count_bits(missing)
        # what comes passes L1's data as samples do
        sm.texture_free += l2.count_bits(missing) * 32 / spec.l1_bytes_per_cycle
        last = max(last, there)
    return float(last)


@stage
def _write(sm: Record, spec: Record, trace: Trace, first: int, count: int, n_bytes: int,
           begin: float) -> float:  # fmt: skip
    """When the sectors of a surface that a warp writes have left the SM."""
    done, total = begin, 0
    for i in range(first, first + count):
        total += l2.count_bits(trace.lines[i] & 15)
    lacking = total - n_bytes / 32.0
    for i in range(count):
        joined = trace.joins[first + i]
        partial = sent.in_part(trace, first + i, joined, lacking, i == 0, i == count - 1)
        gone = l2.store(sm, spec, trace, first + i, joined, partial, False, begin + i)
        if partial:
            saved = partial * spec.l2_partial + spec.l2_partial_line
            sm.partial_free -= (1.0 - _IN_PART) * saved
            gone = max(sm.l2_free, sm.l2_write_free, sm.port_write_free, sm.partial_free)
        done = max(done, gone)
    return float(done)


@stage
def _combine(sm: Record, spec: Record, trace: Trace, access: Record,
             begin: float) -> float:  # fmt: skip
    """When a request of reductions of a surface has left the SM: sector by sector, one for each
    lane on a word (texture_times_sm90.json: an H100 takes 3 cycles of an SM for each where all SMs
    do so, however they lie)."""
    free, before = max(begin, sm.atomic_free), sm.l2_atomic
    for i in range(access.first_line, access.first_line + access.n_lines):
        l2.atomics(sm, spec, trace, i, float(access.lanes_on_a_word), spec.atomic_lane,
                   lsu.INTEGERS_SAVE, begin, 0, 0, 0.0, 0.0, 0.0)  # fmt: skip
    sent = max(sm.l2_atomic - before, float(access.lanes_on_a_word))
    sm.atomic_free = free + _COMBINED * spec.atomic_share * sent
    sm.l2_atomic = before + sent
    return float(sm.atomic_free)
