"""The load/store path behind the queue of a sub-partition: the SM's units, L1, then L2, DRAM."""

from __future__ import annotations

from warplens.timing import data_path, l1, l2, phases, queue, sent, shared
from warplens.timing.scoreboard import NO_BARRIER
from warplens.timing.state import (
    CAST,
    MEMORY,
    SHARED,
    STORES_TAKEN,
    Counts,
    Record,
    Records,
    State,
    Trace,
    stage,
)

GLOBAL, SHARED_SPACE, LOCAL = 0, 1, 2
READ, WRITE, ATOMIC = 1, 2, 4
IDEAL_L1, IDEAL_COALESCING = 4, 16
_LOCAL_BIT = 1 << 50
# L1 looks up four lines at a time, of unlike banks of tags: the numbers whose bits are the parities
# of these bits of a line's number (fitted to all of l1_lines_sm90.json and generic_sm90.json; those
# above the eighth are not known)
_TAG_BANK_LOW, _TAG_BANK_HIGH = 0b10110101, 0b11011010
# Cycles for which a load waits behind a store of lines in part, for each of these, beyond those
# that the store takes; the next one behind it that makes more passes than these few keeps what
# follows for two cycles each of them (row_walks_sm90.json, row_walks_few_sm90.json; that loads of
# few passes do not count: avgpool_backward of a public suite)
_TURN, _FEW_PASSES = 0.25, 4
_ABREAST = 1.5  # lanes of each turn of an atomic's sectors, from which on they count as several
_COUNTER_BITS, _COUNTER = 16, 0xFFFF
# Of doubles a lane on one of more than two words takes so much longer than of floats, and sectors
# of more than two need further passes, so many for each lane (kept_most_sm90.json)
DOUBLES, _DOUBLE_PASS = 1.25, 0.36
INTEGERS_SAVE = 0.5  # cycles of an access whose lanes add whole numbers to one word
# Code.depth of shuffles and the like (`passes` through the data path, no access), of asynchronous
# copies to shared memory, and of what closes a group of these
SHUFFLE, COPY, COPIED = -2, -3, -4
CHECK = -5  # of looks at mbarriers
DISTANT = -6  # of what may access another block's shared memory, which traces do not have


NAMED = -7  # of barriers of the block that registers name
INDEXED = -8  # of loads of constants by registers
EMPTIES = -10  # of what makes L1 forget all lines


@stage
def named(trace: Trace, warp: Record) -> int:
    """The barrier that a register names, as `depth` of others; 0 if that is not known."""
    if not has_access(trace, warp):
        return 0
    found = trace.accesses[warp.access].first_line
    warp.access += 1
    return int(found)


@stage
def has_access(trace: Trace, warp: Record) -> bool:
    """Whether a warp's next access is of the instruction where it is. Accesses of instructions that
    are no memory instructions here are left behind: they must not hide those that follow."""
    while warp.access < warp.last_access:
        access = trace.accesses[warp.access]
        if access.entry == warp.entry and access.instruction == warp.pc:
            return True
        if access.entry > warp.entry:
            return False
        if access.entry == warp.entry and access.instruction > warp.pc:
            return False
        warp.access += 1
    return False


@stage
def perform(state: State, counts: Counts, spec: Record, inst: Record, trace: Trace, warp: Record,
            index: int, now: int) -> tuple[float, float, float]:  # fmt: skip
    """Carries out a memory instruction: when its result is there, when its sources are read, when
    a store has left the SM."""
    sm, sub, room = state.sm[0], state.subs[index % spec.sub_partitions], 0.0
    if inst.kind == MEMORY:
        is_store = inst.write == NO_BARRIER and inst.depth != COPY
        room = sm.tag_free if is_store else sm.looked_up[sm.next_looked_up]
        if has_access(trace, warp) and trace.accesses[warp.access].space == SHARED_SPACE:
            room = sm.shared_left[sm.next_shared]
    elif inst.kind == SHARED:
        room = sm.shared_left[sm.next_shared]
    begin, start = queue.enter(state, spec, index, now, room, inst.kind)
    warp.queued = max(warp.queued, int(start) - now)
    read = begin + spec.sources_load
    if inst.kind == SHARED and inst.depth == SHUFFLE:
        turns = 0
        if has_access(trace, warp):  # values beyond the first that the lanes of a MATCH compare
            turns = trace.accesses[warp.access].words - 1
            warp.access += 1
        latency = inst.latency + turns * spec.match_turn
        return shared.shuffle(sm, spec, latency, inst.interval * (1 + turns), start), read, read
    # Where no lane takes part, the way is the same.
    if inst.depth == EMPTIES:
        l1.empty(state.l1)
    done = start + (spec.shared_latency if inst.kind == SHARED else spec.l1_hit)
    left = start + spec.sources_load
    if not has_access(trace, warp):
        if inst.depth == DISTANT:
            done = start + spec.distant_latency
        elif inst.kind == SHARED:  # it passes the data path all the same
            shared.pass_through(sm, spec, start)
    while has_access(trace, warp):
        access = trace.accesses[warp.access]
        warp.access += 1
        if access.space == phases.SPACE:
            if access.kind == READ:
                warp.phase = access.first_line
            else:
                phases.add(state, counts, spec, access.first_line, start + spec.phase_arrival)
            continue
        done = _serve(sm, sub, state, spec, inst, trace, index, access, start, now)
        kind, space = access.kind, access.space
        if inst.depth == COPY and space == GLOBAL:
            warp.copied = max(warp.copied, int(done + spec.copy_extra))
        sources = spec.sources_load
        if kind != READ:
            words = max(4, access.size) // 4
            sources = spec.sources_store + int(spec.wide_extra * (words - 1))
        read, left = begin + sources, start + sources
        if space == SHARED_SPACE and kind != READ:
            read = max(begin, queue.left_before(sub, spec)) + sources
        elif space != SHARED_SPACE and kind != READ:
            read = _taken(sm, begin, max(start, sm.tag_begun)) + sources
        if kind == WRITE and space == GLOBAL:
            held, arrived = spec.in_flight, done + spec.l2_hit
            if access.lanes * access.size % 32:  # L2 completes the sector
                arrived += spec.partial_known
            if sm.partial_free >= done:
                held = spec.partial_held
            left = max(sm.tag_free, done - held)
            warp.known = max(warp.known, int(arrived))
        if kind == ATOMIC and space == GLOBAL:
            arrived = done + spec.l2_hit - spec.atomic_latency + spec.partial_known
            warp.known = max(warp.known, int(arrived))
            if inst.answers:  # its warp waits for that before it ends
                left = done
        if space == GLOBAL:
            sm.pending = max(sm.pending, done if kind == READ else float(warp.known))
    if inst.depth == CHECK:
        done += spec.phase_check
    elif inst.depth == COPIED:
        done = max(start + inst.latency, float(warp.copied))
    return done, read, left


@stage
def _taken(sm: Record, begin: float, start: float) -> float:
    """When a store's registers are read: when it leaves its sub-partition's queue for the two
    places in front of the SM's units. (Recorded with stores that L2 completes, states_sm90.json:
    what a warp does next has its result two stores' time after its own store's registers have been
    read. Loads' are read when they begin with their addresses, sources_sm90.json.)"""
    taken = max(begin, sm.stored[sm.next_stored])
    sm.stored[sm.next_stored] = start
    sm.next_stored = (sm.next_stored + 1) % STORES_TAKEN
    return float(taken)


@stage
def _leave_place(sm: Record, spec: Record, when: float) -> None:
    """Notes when a load or atomic gives up its place in front of L1."""
    sm.looked_up[sm.next_looked_up] = when
    sm.next_looked_up = (sm.next_looked_up + 1) % spec.tags_held


@stage
def _serve(sm: Record, sub: Record, state: State, spec: Record, inst: Record, trace: Trace,
           index: int, access: Record, start: float, now: int) -> float:  # fmt: skip
    """When an access has its data, or a store is on its way."""
    kind, space, lanes, size = access.kind, access.space, access.lanes, access.size
    first, count = access.first_line, access.n_lines
    if space == SHARED_SPACE:
        is_atomic, is_store = kind == ATOMIC, kind == WRITE
        passes = count * inst.interval if is_atomic else count
        if is_atomic and inst.merges:
            passes = access.passes
        if inst.contends == CAST:  # lanes of a bank take turns in rounds
            passes = inst.interval * (shared.CAST_PASSES_WIDE if size > 4 else shared.CAST_PASSES)
        if kind == READ:
            state.warps[index].looked = now
        if is_store and inst.kind == MEMORY:  # by generic address (generic_sm90.json)
            passes = max(passes, (lanes * size + 127) // 128 + 1)
        done = shared.access(sm, state.warps[index], sub, spec, passes, lanes, size, is_atomic,
                             is_store, start)  # fmt: skip
        if inst.contends:
            word = access.cycles << 8 | access.turns
            slot = state.slots[state.warps[index].block]
            done = shared.exchanged(sm, slot, state.warps[index], spec, index, word, size, start,
                                    done)  # fmt: skip
        return float(done)
    sm.requests += 1
    if kind == ATOMIC:
        deep, passes = float(access.lanes_on_a_word), 0.0
        lane, less = spec.atomic_lane, INTEGERS_SAVE
        if inst.float_atomic:
            less = 0.0
            lane = spec.float_atomic_lane if count == 1 else spec.float_atomic_apart
            if inst.float_atomic > 1:
                lane *= DOUBLES if access.lanes > 2.0 * deep else 1.0
                passes = _DOUBLE_PASS * access.lanes / count
        start = max(start, held_until(sm, spec) - sm.gain)
        traits = int(inst.answers > 0) * l2.ANSWERS
        sectors = _sectors(trace, access)
        if access.size <= 4 and _fill(access, sectors):  # wider ones were not recorded
            traits |= l2.FILLED
        if lanes > _ABREAST * deep * sectors:
            traits |= l2.ABREAST
        _leave_place(sm, spec, start)
        data_path.pass_loaded(sm, _columns(trace, first, count), start)
        start = _send_atomic(sm, spec, access, inst, start)
        done = start
        for i in range(first, first + count):
            at = l2.atomics(sm, spec, trace, i, deep, lane, less, start, inst.compares,
                            traits, access.cycles / count, passes, now - state.warps[index].loaded)
            done = max(done, at)
            l1.drop(state.l1, trace.lines[i] >> 4)
        _push_back(sm, spec)
        return float(done)
    if spec.ideal & IDEAL_COALESCING:
        count = min(count, max(1, (lanes * size + 127) // 128))
    begin = sm.tag_begun = max(start, sm.tag_free - sm.gain)
    sm.tags += count
    if kind == READ:
        state.warps[index].loaded = now
        since = sm.is_turned
        begin += sm.turn
        sm.turn = 0.0
        if access.passes > _FEW_PASSES:
            sm.is_turned = since * 2 % 4
    if kind == WRITE:
        sm.tag_free = max(sm.tag_free, begin) + count
        sm.tag_cycles += count
        sub.store_left = begin
        turns = queue.storing(state, spec, now + sent.STORES_WAIT)
        done = _store(sm, state.l1, spec, trace, index, space, first, count, lanes * size,
                      size < 4, inst.passing, turns, begin, now)  # fmt: skip
    else:
        passes = access.passes
        if spec.ideal & IDEAL_COALESCING:
            passes = 0
        tags_free = sm.tag_free
        done, parts = _load(sm, state, spec, inst, trace, index, space, first, count, passes,
                            lanes * size, size < 4, begin)  # fmt: skip
        turns = int(sm.tag_free - max(tags_free, begin))
        sm.tag_cycles += turns
        if since == 2 and passes > _FEW_PASSES:
            sm.tag_free += max(0, 2 * passes - turns)
        whole = max(turns, passes, (lanes * size + 127) // 128) + parts
        back = shared.back(state.warps[index], sub, spec, shared.FROM_L1, whole, begin, whole,
                           lanes * size)  # fmt: skip
        done = max(done, spec.l1_hit + back)
    _push_back(sm, spec)
    return float(done)


@stage
def _fill(access: Record, sectors: int) -> bool:
    """Whether an atomic's lanes have words in most of each of so many sectors, all of them or as
    many to a word as to the others."""
    bytes_used = access.lanes * access.size // max(1, access.lanes_on_a_word)
    return bool(bytes_used >= 16 * sectors)


@stage
def _sectors(trace: Trace, access: Record) -> int:
    """Of all lines of an access."""
    sectors = 0
    for i in range(access.first_line, access.first_line + access.n_lines):
        sectors += l2.count_bits(trace.lines[i] & 15)
    return sectors


@stage
def _columns(trace: Trace, first: int, count: int) -> float:
    """Passes of an atomic through L1's data: one more than lines whose sectors of one number it
    asks for, of that number of which most are. (Counted on an H200: of lanes on words drawn by lot,
    11 such lines, 12.8 to 13.3 passes; of few words fewer, scattered_adds_sm90.json.)"""
    columns = 0
    for i in range(first, first + count):
        for sector in range(4):
            columns += (trace.lines[i] >> sector & 1) << 8 * sector
    low, high = max(columns & 255, columns >> 8 & 255), max(columns >> 16 & 255, columns >> 24)
    return float(max(low, high) + 1)


@stage
def _send_atomic(sm: Record, spec: Record, access: Record, inst: Record, start: float) -> float:
    """When the last lanes of a global atomic have left the SM: they go in turns, those that compare
    and exchange with twice the data, and those that return something take a cycle more each."""
    cycles, turns = access.cycles, access.turns
    if spec.ideal & IDEAL_COALESCING:
        cycles, turns = 1, 1
    cycles += (cycles - turns) * (inst.interval - 1)
    if inst.answers:
        cycles += turns
    sm.sent_free = max(start, sm.sent_free) + cycles
    return float(sm.sent_free - 1.0)


@stage
def _push_back(sm: Record, spec: Record) -> None:
    """The miss path holds so much; beyond, loads and stores wait in front of L1's tags, and others
    behind them when the places there are taken."""
    latest = held_until(sm, spec)
    sm.tag_free = max(sm.tag_free, sm.slices_hold)
    if latest > sm.tag_free:
        sm.tag_free = latest
        if _partial_held_until(sm, spec) >= latest:
            sm.pushed_back = latest


@stage
def held_until(sm: Record, spec: Record) -> float:
    """When the miss path takes more."""
    latest = max(sm.l2_free, sm.port_free, sm.l2_write_free, sm.pages_free)
    latest -= spec.in_flight
    latest = max(latest, _partial_held_until(sm, spec))
    return float(max(latest, sm.port_write_free - spec.write_held))


@stage
def _partial_held_until(sm: Record, spec: Record) -> float:
    """The same for stores to sectors in part and for atomics alone."""
    partial = max(sm.partial_free, sm.atomic_free, sm.sent_free)
    return float(partial - spec.partial_held)


@stage
def _in_data(spec: Record, sectors: int, passes: int, n_bytes: int, filled: int) -> float:
    """Cycles of an access in L1's data: so many passes through its banks (0: not known, as its
    sectors need), as many lanes at a time as the SM has load/store units, and before them the
    sectors that misses bring in, which take the same path, but not the way back, on which
    `n_bytes` go at L1's rate."""
    wanted = float(passes) if passes else sectors * 32 / spec.l1_bytes_per_cycle
    cycles = max(spec.lsu_interval, wanted)
    cycles += filled * 32 / spec.l1_bytes_per_cycle
    return float(max(cycles, min(n_bytes, sectors * 32) / spec.l1_bytes_per_cycle))


@stage
def _tag_bank(line: int) -> int:
    """Which of L1's four banks of tags a line is in."""
    high = l1.parity_of_byte(line & _TAG_BANK_HIGH)
    return l1.parity_of_byte(line & _TAG_BANK_LOW) | high << 1


@stage
def _load(sm: Record, state: State, spec: Record, inst: Record, trace: Trace, index: int,
          space: int, first: int, count: int, passes: int, n_bytes: int, narrow: bool,
          begin: float) -> tuple[float, int]:  # fmt: skip
    """When a load has its data, and how many passes it makes more than once: see `_parts`. Loads
    that straddle sectors and wait for all their lines hold up those behind them a little."""
    done, total, hits, missing, banks = 0.0, 0, 0, 0, 0
    lines = state.l1
    passes_by = inst.depth == COPY and inst.passes_l1  # to shared memory by itself
    wanted = begin
    awaited = 0  # lines that are on their way already
    there, late = 0, 0  # lines of which something is there, and of which something is not
    for i in range(count):
        line, sectors = trace.lines[first + i] >> 4, trace.lines[first + i] & 15
        known = trace.hits[first + i]
        if space == LOCAL:
            line = line | _LOCAL_BIT | index << 36
        banks += 1 << _tag_bank(line) * _COUNTER_BITS
        place = l1.look_up(lines, line, inst.passing)
        if space == LOCAL:  # what L1 still has a place for has been used that short a time ago
            known = sectors if place >= 0 else 0
        settled = sent.loaded(sm, line)
        hit = lines[place].valid & sectors if place >= 0 and not inst.passes_l1 else 0
        if spec.ideal & IDEAL_L1:
            hit = sectors
            there += 1
        elif not hit:
            late += 1
        else:
            done = max(done, float(l1.arrival(lines[place], hit)), settled)
            here = l1.there(lines[place], hit, begin)
            there += int(here != 0)
            late += int(here != sectors)
            awaited += int(here != hit)
        hits += l2.count_bits(hit)
        total += l2.count_bits(sectors)
        if hit != sectors:
            fetch = -1 - int(count > 1) if space == LOCAL else first + i
            takes_a_place = place < 0 and not passes_by
            if takes_a_place:
                begin = max(begin, state.arriving[sm.next_arriving] - missing)
            arrives = l2.load(sm, spec, trace, fetch, known, line, sectors & ~hit,
                              max(begin + missing, settled))
            missing += 1
            if takes_a_place:
                state.arriving[sm.next_arriving] = arrives
                sm.next_arriving = (sm.next_arriving + 1) % state.arriving.size
            if inst.passes_l1:  # nobody finds the line behind it (added_lines_sm90.json)
                if place >= 0:
                    lines[place].valid = 0
            else:
                place = place if place >= 0 else -1 - place
                l1.fill(lines, place, line, sectors & ~hit, inst.passing, int(arrives))
            done = max(done, arrives)
    if late and not passes_by:
        for _ in range((awaited + 1) // 2):
            begin = max(begin, state.pending[sm.next_pending])
            state.pending[sm.next_pending] = done
            sm.next_pending = (sm.next_pending + 1) % state.pending.size
    if begin > wanted:  # L1 has no place for what is on its way (held_loads_sm90.json)
        sm.lsu_free = max(sm.lsu_free, begin)
    turns = missing  # one by one
    for bank in range(4):
        turns = max(turns, banks >> bank * _COUNTER_BITS & _COUNTER)
    sm.tag_free = max(sm.tag_free, begin) + turns
    _note(sm, 2 if space == LOCAL else 0, total, hits)
    if passes_by:
        return float(max(done, begin + spec.l1_hit)), 0
    straddles = total > (n_bytes + 31) // 32
    if narrow and straddles:
        passes = max(passes, int(spec.l1_narrow))
    cycles = _in_data(spec, total, passes, n_bytes, total - hits)
    _leave_place(sm, spec, begin if late else max(begin, sm.data_free))
    if late:
        done = data_path.pass_arrived(sm, cycles, max(done, begin + spec.l1_hit))
    else:
        done = max(done, data_path.pass_loaded(sm, cycles, begin) + cycles - 1.0 + spec.l1_hit)
    parts = _parts(passes, there, late)
    sm.data_cycles += parts
    further = float(parts)
    if late and parts == 0 and straddles:
        further = spec.l1_pending
    if further > 0.0:
        data_path.hold(sm, further, begin)
    return float(done), parts


@stage
def _parts(passes: int, there: int, late: int) -> int:
    """How many passes of a load take part twice, of whose lines some are there at least in part and
    some are not, or not as a whole: once for the lanes whose words are there, and once, when the
    last of the others has come, for the rest. Loads of lines that all are on their way pass as
    often as if they were there (counted and timed, in_flight_sm90.json). Where a line has a pass of
    its own, no pass is divided."""
    return min(passes, there, late) if passes < there + late else 0


@stage
def _store(sm: Record, lines: Records, spec: Record, trace: Trace, index: int, space: int,
           first: int, count: int, n_bytes: int, narrow: bool, passing: int, turns: int,
           begin: float, now: int) -> float:  # fmt: skip
    done, total, hits, longer = begin, 0, 0, 0.0
    for i in range(count):
        total += l2.count_bits(trace.lines[first + i] & 15)
    lacking = total - n_bytes / 32.0
    is_alone = n_bytes <= 4 * total  # each word in a sector of its own
    between = turns * count * (1 + int(narrow))
    # A clock that stands while anything but stores passes L1's data
    busy = sm.data_cycles - sm.store_cycles
    passing_l1 = _in_data(spec, total, 0, 0, 0)
    sm.store_cycles += passing_l1
    leaves = sent.leave_at(sm, spec, count, begin, now) - busy
    for i in range(count):
        line, sectors = trace.lines[first + i] >> 4, trace.lines[first + i] & 15
        if space == LOCAL:
            line = line | _LOCAL_BIT | index << 36
        place = l1.look_up(lines, line, passing)
        hits += l2.count_bits(lines[place].valid & sectors) if place >= 0 else 0
        given_up = 0.0 if place >= 0 and lines[place].stored else spec.local_missing
        place = place if place >= 0 else -1 - place
        # The line has its place, and loads find the sectors that were written as a whole (counted
        # on an H200, stored_lines_sm90.json); L2 gets local memory, too (stored_again_sm90.json).
        is_whole = lacking <= 0.0 or (lacking < 2.0 and 0 < i < count - 1) or space == LOCAL
        known = sectors if is_whole and not (space == LOCAL and narrow) else 0  # nor parts of words
        l1.fill(lines, place, line, known, passing, now)
        if space == LOCAL:
            if count == 1:  # of several lines hardly any are joined
                sectors &= ~sent.joined_local(sm, line, sectors, busy, between, index, begin)
                sent.note_leaving(sm, line, leaves, 1, 0, index)
            apart = -1 - int(count > 1 and lacking > 0.0)
            gone = l2.store_local(sm, spec, trace, apart, l2.count_bits(sectors),
                                  lacking > 0.0, given_up, begin)  # fmt: skip
            done = max(done, gone)
            lines[place].stored = 1
        else:
            is_again = sent.is_again(sm, line, begin + i)
            joined = sent.joined(sm, trace, first + i, busy, between, narrow, index, begin + i)
            if is_again and joined == 0:
                is_lost = sent.is_lost(trace, first, count, line)
                if is_lost:
                    lines[place].valid = 0
                sent.settle(sm, line, is_lost, begin + i)
            partial = sent.in_part(trace, first + i, joined, lacking, i == 0, i == count - 1)
            if partial:
                longer += spec.l1_partial_line
            gone = l2.store(sm, spec, trace, first + i, joined, partial, narrow, begin + i)
            sent.note_leaving(sm, line, leaves, count, i, index)
            done = max(done, gone)
    _note(sm, 3 if space == LOCAL else 1, total, hits)
    data_path.pass_loaded(sm, passing_l1, begin)
    if longer > 0.0:  # lines go one by one, and what is behind them waits (row_walks_sm90.json)
        each = total if is_alone else count
        sm.tag_free += longer + (each - count)
        sm.is_turned, sm.turn = 1, _TURN * each
        data_path.hold(sm, total * (0.5 - 32 / spec.l1_bytes_per_cycle) + longer, begin)
    return done


@stage
def _note(sm: Record, kind: int, sectors: int, hits: int) -> None:
    sm.l1_sectors += sectors
    sm.l1_hits += hits
    sm.l1_looked[kind] += sectors
    sm.l1_found[kind] += hits
