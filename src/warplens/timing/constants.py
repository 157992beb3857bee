"""Loads from constant banks whose index is in a register: one word of a warp after another."""

from __future__ import annotations

from warplens.timing import lsu
from warplens.timing.fetch import IDEAL_FETCH, bank_place, place_of
from warplens.timing.state import (
    CONSTANT_WAYS,
    INDEXED_HELD,
    Record,
    State,
    Trace,
    stage,
)


@stage
def load(state: State, spec: Record, inst: Record, trace: Trace, warp: Record, index: int,
         now: int) -> float:  # fmt: skip
    """When all lanes have their words. Lanes that ask for different ones take turns, a turn of one
    warp long after the other; those of several warps interleave (measured,
    validation/data/constants_sm90.json). A line that the SM never had comes from L2. Seven of a
    sub-partition wait or have theirs (constant_states_sm90.json)."""
    words, first, count = 1, 0, 0
    if lsu.has_access(trace, warp):
        access = trace.accesses[warp.access]
        warp.access += 1
        words, first, count = access.words, access.first_line, access.n_lines
    if spec.ideal & IDEAL_FETCH:
        return float(now + inst.latency)
    sm = state.sm[0]
    begin = max(float(now), sm.indexed_free)
    sm.indexed_free = begin + words * spec.indexed_word
    sub = state.subs[index % spec.sub_partitions]
    if inst.depth != lsu.INDEXED:  # by an offset: three wait for their turn
        last = sub.indexed[(sub.next_indexed - 3) % INDEXED_HELD] - spec.indexed_word
        sub.pipe_free[inst.pipe] = max(sub.pipe_free[inst.pipe], last)
    sub.indexed[sub.next_indexed] = sm.indexed_free
    sub.next_indexed = (sub.next_indexed + 1) % INDEXED_HELD
    done = begin + inst.latency + (words - 1) * spec.indexed_turn
    for i in range(first, first + count):
        line = trace.lines[i] >> 4
        held = state.indexed[place_of(state.indexed, line, CONSTANT_WAYS)]
        held.used = now * 64 + i - first  # orders what is used in one cycle
        if held.tag != line + 1:
            place = bank_place(line)
            done += spec.indexed_miss if state.met[place] else spec.l2_hit
            state.met[place] = 1
            held.tag, held.ready = line + 1, int(done)
        done = max(done, float(held.ready))
    return float(done)
