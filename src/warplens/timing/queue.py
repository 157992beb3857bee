"""The queue of a sub-partition's memory instructions, in front of the SM's load/store units, and
what goes through it besides."""

from __future__ import annotations

from warplens.timing.state import MEMORY, SHARED, VARIABLE, Record, State, stage

# Cycles for which an access to shared memory that has reached the units keeps its place in the
# queue: of the SM's 60 accesses 56.5, 58.8, 59.9 and 60.4 are seen to wait where each takes 4, 8,
# 16 and 32 cycles (queues_sm90.json)
_SHARED_KEPT = 21.0
# Memory instructions of a sub-partition that wait with their registers read (sources_sm90.json)
_READ_BEFORE = 5
NUMBERS = -9  # Code.depth of reads of lanes' own numbers


@stage
def room_at(sub: Record) -> float:
    """When the queue takes another memory instruction: one has its addresses."""
    return float(sub.addressed[sub.next_addressed])


@stage
def full_of(sub: Record, spec: Record, now: int) -> int:
    """What fills the queue: MEMORY if nothing but accesses to global and local memory waits."""
    waits = sub.other_left > now and sub.behind_other < spec.queue_held
    return SHARED if waits else MEMORY


@stage
def holds_shared(sub: Record, spec: Record, now: int) -> bool:
    """Whether accesses to shared memory wait."""
    return bool(sub.shared_left > now and sub.behind_shared < spec.queue_held)


@stage
def enter(sm: Record, sub: Record, spec: Record, now: int, room: float,
          kind: int) -> tuple[float, float]:  # fmt: skip
    """When an instruction issued now has its addresses, and when it reaches the SM's shared units,
    where there is `room` for it from then on."""
    begin = max(float(now), sub.queue_free, sub.left[sub.next_left])
    start = max(begin, sm.lsu_free, room)
    sm.lsu_free = start + spec.lsu_interval
    sub.queue_free = begin + spec.agu_interval
    sub.addressed[sub.next_addressed] = sub.queue_free
    sub.next_addressed = (sub.next_addressed + 1) % spec.queue_entries
    _take_place(sub, spec, start, kind)
    return float(begin), float(start)


@stage
def _take_place(sub: Record, spec: Record, start: float, kind: int) -> None:
    """An instruction waits until it reaches the units at `start`."""
    sub.left[sub.next_left] = start + (_SHARED_KEPT if kind == SHARED else 0.0)
    sub.behind_other += 1
    sub.behind_shared += 1
    if kind == SHARED:
        sub.behind_shared, sub.shared_left = 0, sub.left[sub.next_left]
    if kind != MEMORY:
        sub.behind_other, sub.other_left = 0, sub.left[sub.next_left]
    sub.last_left = start
    sub.next_left = (sub.next_left + 1) % spec.queue_held


@stage
def storing(state: State, spec: Record, after: float) -> int:
    """How many sub-partitions have stores that wait until `after`, one at least: they take
    turns."""
    found = 0
    for i in range(spec.sub_partitions):
        found += int(state.subs[i].store_left > after)
    return max(1, found)


@stage
def left_before(sub: Record, spec: Record) -> float:
    """When no more than so many memory instructions of a sub-partition are in front of its last
    one, as which a store to shared memory has its registers read (sources_sm90.json)."""
    n = spec.queue_held
    return float(sub.left[(sub.next_left + 2 * n - 1 - _READ_BEFORE) % n])


@stage
def room_of_numbers_at(sub: Record, spec: Record, now: int) -> float:
    """When it takes another read of lanes' own numbers, which has places of its own beside accesses
    to global memory, but not beside those to shared memory (starts_sm90.json,
    lane_numbers_sm90.json)."""
    room = sub.others[sub.next_other]
    return float(max(room, room_at(sub)) if holds_shared(sub, spec, now) else room)


@stage
def pass_by(sm: Record, sub: Record, spec: Record, inst: Record, now: int) -> float:
    """When an instruction of another unit (constants' addresses, special registers and functions)
    leaves the queue: those before it go first, as soon as there is room for them; not those that
    wait for the way to L2 (recorded states of transposes and other scattered stores), and before
    special functions only where some are to shared memory."""
    if inst.depth == NUMBERS:
        return _read_numbers(sm, sub, spec, inst, now)
    passes = sm.pushed_back > now
    if inst.kind == VARIABLE:
        if spec.special_turn > 0.0:  # it takes some of the SM's units
            sm.lsu_free = max(sm.lsu_free, float(now)) + spec.special_turn
        passes = passes or not holds_shared(sub, spec, now)
    return float(now) if passes else max(float(now), sub.last_left)


@stage
def _read_numbers(sm: Record, sub: Record, spec: Record, inst: Record, now: int) -> float:
    """When lanes' own numbers are read, in turns of the SM's units (lane_numbers_sm90.json)."""
    if sm.pushed_back > now:
        return max(float(now), left_before(sub, spec))
    if holds_shared(sub, spec, now):
        left = enter(sm, sub, spec, now, sm.numbers_free, NUMBERS)[1]
    else:
        left = max(float(now), sub.last_left, sm.numbers_free)
        _take_place(sub, spec, left, NUMBERS)
    turn = inst.interval / spec.sub_partitions
    sm.numbers_free = left + turn
    sm.lsu_free = max(sm.lsu_free, left) + turn
    sub.others[sub.next_other] = left
    sub.next_other = (sub.next_other + 1) % spec.queue_held
    return float(left)
