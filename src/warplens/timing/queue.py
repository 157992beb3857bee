"""The queue of a sub-partition's memory instructions, in front of the SM's load/store units, and
what goes through it besides."""

from __future__ import annotations

from warplens.timing.state import MAX_HELD, MEMORY, SHARED, VARIABLE, Record, State, stage

# Memory instructions of a sub-partition in front of a store to shared memory when its registers are
# read: four more of each have left for the banks then, of the five that sources_sm90.json tells of
_READ_BEFORE = 1
_SHARED_KEPT = 21.0  # cycles for which an access to shared memory is seen to wait behind the queue
_AT_ONCE = 2.0  # cycles of waiting in which no turns are seen
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
def enter(state: State, spec: Record, index: int, now: int, room: float,
          kind: int) -> tuple[float, float]:  # fmt: skip
    """When an instruction of a warp issued now has its addresses, and when it reaches the SM's
    units, where there is `room` for it from then on. `SM.gain` is by how much it is there before
    those that were issued earlier and that it passes, which are what others' times include."""
    number = index % spec.sub_partitions
    sm, sub, warp = state.sm[0], state.subs[number], state.warps[index]
    place = (sub.next_left + MAX_HELD - spec.queue_held) % MAX_HELD
    begin = max(float(now), sub.queue_free, warp.queue_free, sub.left[place])
    last = max(begin, sm.lsu_free, room)
    start = last
    if last > begin + _AT_ONCE:
        start = begin + (last - begin) * _share_before(state, spec, number, begin)
        start = min(last, max(start, sub.last_left + spec.lsu_interval))
    sm.gain = last - start
    sm.lsu_free = last + spec.lsu_interval
    sub.queue_free = begin + spec.agu_turn
    warp.queue_free = begin + spec.agu_interval
    sub.addressed[sub.next_addressed] = warp.queue_free
    sub.next_addressed = (sub.next_addressed + 1) % spec.queue_entries
    _take_place(sub, spec, start, kind)
    return float(begin), float(start)


@stage
def _take_place(sub: Record, spec: Record, start: float, kind: int) -> None:
    """An instruction waits until it reaches the units at `start`."""
    sub.left[sub.next_left] = start
    sub.behind_other += 1
    sub.behind_shared += 1
    if kind == SHARED:
        sub.behind_shared, sub.shared_left = 0, start + _SHARED_KEPT
    if kind != MEMORY:
        kept = _SHARED_KEPT if kind == SHARED else 0.0
        sub.behind_other, sub.other_left = 0, start + kept
    sub.last_left = start
    sub.next_left = (sub.next_left + 1) % MAX_HELD


@stage
def _share_before(state: State, spec: Record, number: int, begin: float) -> float:
    """Of all instructions that wait for the SM's units, those that go before another one of a
    sub-partition: the ones that have left their sub-partitions, and then, since these take turns,
    as many of each other one as of its own and one more (beside_loads_sm90.json)."""
    total, before = 0, 0.0
    for i in range(spec.sub_partitions):
        sub = state.subs[i]
        sub.waiting = _waiting(sub, spec, begin)
        total += sub.waiting
    if total <= spec.units_held:
        return 1.0
    inside = 1.0 - spec.units_held / total
    own = state.subs[number].waiting * inside
    for i in range(spec.sub_partitions):
        n = own
        if i != number:
            n = min(state.subs[i].waiting * inside, own + 1.0)
        before += n
    return float((spec.units_held + before) / total)


@stage
def _waiting(sub: Record, spec: Record, now: float) -> int:
    """How many instructions of a sub-partition have not reached the SM's units."""
    n, most, place = 0, spec.queue_held + spec.queue_entries, sub.next_left + MAX_HELD - 1
    while n < most and sub.left[(place - n) % MAX_HELD] > now:
        n += 1
    return int(n)


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
    return float(sub.left[(sub.next_left + MAX_HELD - 1 - _READ_BEFORE) % MAX_HELD])


@stage
def room_of_numbers_at(sub: Record, spec: Record, now: int) -> float:
    """When it takes another read of lanes' own numbers, which has places of its own beside accesses
    to global memory, but not beside those to shared memory (starts_sm90.json,
    lane_numbers_sm90.json)."""
    room = sub.others[sub.next_other]
    return float(max(room, room_at(sub)) if holds_shared(sub, spec, now) else room)


@stage
def pass_by(state: State, spec: Record, index: int, inst: Record, now: int) -> float:
    """When an instruction of another unit (constants' addresses, special registers and functions)
    leaves the queue: those before it go first, as soon as there is room for them; not those that
    wait for the way to L2 (recorded states of transposes and other scattered stores). Special
    functions wait for no memory instruction (beside_loads_sm90.json)."""
    sm, sub = state.sm[0], state.subs[index % spec.sub_partitions]
    if inst.depth == NUMBERS:
        return _read_numbers(state, spec, index, inst, now)
    if inst.kind == VARIABLE:
        if spec.special_turn > 0.0:  # it takes some of the SM's units
            sm.lsu_free = max(sm.lsu_free, float(now)) + spec.special_turn
        return float(now)
    return float(now) if sm.pushed_back > now else max(float(now), sub.last_left)


@stage
def _read_numbers(state: State, spec: Record, index: int, inst: Record, now: int) -> float:
    """When lanes' own numbers are read, in turns of the SM's units (lane_numbers_sm90.json)."""
    sm, sub = state.sm[0], state.subs[index % spec.sub_partitions]
    if sm.pushed_back > now:
        return max(float(now), left_before(sub, spec))
    if holds_shared(sub, spec, now):
        left = enter(state, spec, index, now, sm.numbers_free, NUMBERS)[1]
    else:
        left = max(float(now), sub.last_left, sm.numbers_free)
        _take_place(sub, spec, left, NUMBERS)
    turn = inst.interval / spec.sub_partitions
    sm.numbers_free = left + turn
    sm.lsu_free = max(sm.lsu_free, left) + turn
    sub.others[sub.next_other] = left
    sub.next_other = (sub.next_other + 1) % spec.queue_held
    return float(left)
