"""The time of accesses that ask L2: loads, stores, what L1 writes back, and atomics, in the replay.

Which of them find their sectors is known before (`l2_answer.py`); here they wait for their slices,
for DRAM, and for each other.
"""

from __future__ import annotations

import math

from warplens.execute.coalescing import DEPTH_BITS
from warplens.timing import dram, pages
from warplens.timing.state import (
    KEEPS,
    LOCKS,
    OUTSIDE,
    SEEKS,
    SLICE_LINES,
    SLICES,
    Record,
    Trace,
    stage,
)

IDEAL_L2 = 2
# Traits of an atomic: L2 answers it, lanes fill its sectors, its turns serve several words of one
ANSWERS, FILLED, ABREAST = 1, 2, 4
_DEPTH = (1 << DEPTH_BITS) - 1
# Cycles from one try of a loop that compares and exchanges to the next, beyond an atomic's latency
_TRY = 60.0
# Tries of lanes that are left, to the power of 1.75 of their number: 5.1 n^0.75 cycles for each
# that succeeds (summed_in_loops_sm90.json, 1,000 to 34,000 lanes on a word: 15 % too quick to 19 %
# too slow)
_TRIED = 2.0
# How much longer it takes while others come for each that has gone (the same recording, 4,096
# blocks of 1,056 at a time: 1.8 to 3.5 times; 1.75 follows from that power alone)
_JOINED = 2.5
# Tries of a lane that fail for each other one that contends for its word (8 to 256 of them)
_FAILED = 0.4
_CONTENDED = 2.0  # warps at least, if tries are to be lost
# Of lanes that seek the least number, how often one tries (validation/data/least_sm90.json); of
# those that keep the most, how often one fails while the most is not known, for each doubling of
# their number (kept_most_sm90.json: 0.25 times of half a lane, 1.2 of 4, 3.2 of 66, 7.6 of 17,000)
_AGAIN, _KEPT = 1.1, 0.52
# How often a line that is loaded waits behind the atomics that wait for a slice, and for how much
# of their time: the mean line an eighth of it, 32 lines half (behind_adds_sm90.json)
_MEETS, _WAITED = 0.2, 0.55
# Sectors of an SM's atomics that wait outside it until what comes behind them waits in the SM,
# alone in their lines, of one slice; of more slices by the fourth root of how many there are; and
# what a sector takes beside others of its line (behind_adds_sm90.json: 260 to 280 of one slice, 310
# of four of a line, 370 and 430 of 3.3 slices, 570 of 17, four of a line; kept_most_sm90.json,
# 1,056 blocks of a thread: 253 to 260 of one, 303 to 305 of two)
_OUTSIDE, _BESIDE = 255.0, 0.8
# Where a part of an SM's blocks is replayed it is that part of them, but no fewer than take so many
# cycles: most of the time they are all in use
_SOON_HELD = 12500.0
# Cycles from one store to a line to the next, and how many of an SM wait for their turn until its
# others wait behind them (validation/data/same_words_sm90.json, flags_sm90.json)
_SAME_LINE, _TURNS = 2.2, 15.0
# Of the time of atomics, that in which slices serve nothing else (fitted to four kernels with loads
# and scattered atomics of the tuning halves of public suites, H200: with 1 they are too slow by 3
# to 7 %)
_ALONE = 0.85
# Sectors that DRAM reads for atomics where L2 misses one of a pair, and what each takes of the time
# of a sector that is added to (scattered_adds_sm90.json: of 16 and 24 MB, of which nothing goes
# back, 43 to 51 sectors per cycle, 56 of 1 MB)
_MISSED, _FETCHED = 1.5, 0.77
# Warps whose lanes all add to one word, then to the next: SMs come apart and use as many lines at a
# time as the root of all that they walk through, fewer SMs less (measured: 1 to 128 lines by 1 to
# 132 SMs of an H200, by kernels of validation/recorder/lanes.py)
_DEEP, _FEW_SHARERS = 8.0, 4.0
# The part of all atomics that the busiest slice gets at most where lines lie all over L2
_SPREAD = 1.0 / 60.0
# Cycles of a slice for the lanes that it serves together, and what lanes on one word take less all
# over the chip (scattered_adds_sm90.json); how much of that it takes for lanes that fill a sector
# (contention_sm90.json: 1.16 to 1.2 cycles), and, all over the chip, for sectors that come with
# others of their line, which all slices get alike (hit_rates_sm90.json: single ones come to 76 of
# 96 at a time, lines as quickly as they are sent)
_PASS, _APART_SAVE, _FILLED, _EVENLY = 1.35, 0.43, 0.875, 0.79
# Of all sectors, what the busiest slice gets of single ones, and what it gets less of others
_SINGLE = 1.0 / 76.0
_UNEVENLY = (1.0 - _EVENLY) * _SINGLE
# How much longer all over the chip a sector takes that has an answer, and one that lanes fill (the
# same recording: 41.7 and 36 sectors per cycle, 55.7 single ones without)
_ANSWERED, _FILLED_ANSWER = 1.335, 1.16
# And, in sectors, what each turn of several words of a sector takes more that has an answer; how
# much longer a sector takes that several doubles are added to; packets that go to one slice in a
# row, since lanes share its words, are the slower, so much for each of them (added_words_sm90.json:
# 26, 31 and 34 sectors per cycle, one, two and four of a line; 44; 73 packets of 32 in a row, 83)
_ANSWER, _DOUBLES, _IN_A_ROW = 0.6, 1.27, 0.0035
_STORED = 1.17  # cycles of a slice for a sector of a line that many blocks store to


@stage
def load(sm: Record, spec: Record, trace: Trace, place: int, known: int, line: int, sectors: int,
         begin: float) -> float:  # fmt: skip
    """When sectors that L1 asks for at `begin` arrive.

    `place` is the line's place in the trace, below 0 for local memory; `known` are the sectors that
    L2 holds (of local memory: surely), << 4 those of them that another SM is only just fetching.
    """
    absent, under_way = 0, 0.0
    for half in range(2 if place >= 0 else 0):
        arrival = trace.arrivals[trace.fetches[place, half]]
        bits = sectors & 3 << 2 * half
        if bits and arrival < 0.0:
            absent |= bits
        elif bits:
            under_way = max(under_way, arrival)
    if place >= 0:
        begin = pages.translated(sm, spec, line, begin)
    late = sectors & known >> 4
    found, missing = count_bits(sectors & ~absent), count_bits(absent)
    sm.l2_read += found + missing
    sm.l2_read_hit += found
    _start(sm, begin)
    sm.l2_requests += 1
    far = spec.far_share
    if place >= 0:
        far = max(far, trace.sides[place])
    latency = spec.l2_far if (line ^ line >> 9) & 255 < far else spec.l2_hit
    if spec.ideal & IDEAL_L2:
        return float(begin + latency)
    start = max(begin, sm.l2_free, sm.answers_free)
    # Slices are filled and send what they find; beside that they look up a request, and what DRAM
    # brings by 64 bytes, in turn (columns_sm90.json): whichever takes longer.
    pairs = _pairs(absent)
    cost = (found * spec.l2_found + missing * spec.l2_fill) * 32 / spec.l2_rate
    sent = max(spec.l2_request, (found + missing) * spec.l2_found * 32 / spec.l2_rate)
    sent += 2 * pairs * (spec.l2_fill - 1.0) * 32 / spec.l2_rate
    if place >= 0:
        cost *= trace.merged[place]
        sent *= trace.merged[place]
        sm.l2_saved += (found + missing) * (1.0 - trace.merged[place])
    since = begin - dram.apart(spec, begin)
    sm.l2_free = max(sm.l2_free, since) + cost
    sm.answers_free = max(sm.answers_free, since) + sent
    sm.port_free = max(begin, sm.port_free) + (found + missing) * 32 / spec.port_rate
    way = max(sm.l2_free, sm.answers_free, sm.port_free)
    if sm.behind > begin and lot(int(sm.l2_requests)) < _MEETS:
        way = max(way, begin + _WAITED * (sm.behind - begin))
    done = max(way + latency, under_way)
    # As often as L2 had to give local memory up
    if place < 0 and not known and lot(int(sm.l2_requests)) < spec.local_missing:
        sm.l2_read_hit -= found
        wanted = found if place == dram.APART else 2 * _pairs(sectors)
        done = max(done, dram.read(sm, spec, trace, place, float(wanted), start))
    if late and under_way == 0.0 and not spec.ideal & dram.IDEAL_DRAM:
        # The other has asked a moment ago: its wait in DRAM's queue has hardly begun.
        close = float(trace.shares[place]) if spec.in_step < 1.0 else 1.0  # 1: all are, to compare
        queue = close * close * max(0.0, sm.dram_free - start)
        left = close * spec.in_step * (spec.dram_latency - spec.l2_hit)
        # In step from the first to the last, they wait for what that one has drawn.
        closely = close * spec.in_step * spec.in_step
        left += closely * closely * spec.dram_spread * (trace.lots[place] - 1.0)
        done += left + queue
    if missing:
        done = max(done, dram.read(sm, spec, trace, place, 2.0 * pairs, start))
        for half in range(2):
            if absent & 3 << 2 * half:
                trace.arrivals[trace.fetches[place, half]] = done
    return float(done)


@stage
def store_local(sm: Record, spec: Record, trace: Trace, place: int, sectors: int, partial: bool,
                missing: float, begin: float) -> float:  # fmt: skip
    """When sectors of a line of local memory have left the SM (all that is stored there reaches L2,
    validation/data/stored_again_sm90.json); `partial`: they are written in part; `missing`: how
    likely L2 has written the line back since the last store."""
    if sectors == 0:
        return begin
    sm.l2_write += sectors
    _start(sm, begin)
    sm.l2_requests += 1
    if spec.ideal & IDEAL_L2:
        return begin
    since = begin - dram.apart(spec, begin)
    cost = sectors * (spec.l2_stored + missing * spec.l2_back) * 32 / spec.l2_rate
    sm.l2_free = max(sm.l2_free, since) + cost
    sm.port_write_free = max(begin, sm.port_write_free) + sectors * 32 / spec.port_write_rate
    shared = max(sm.l2_write_free, since, sm.dram_write_free - spec.dram_held)
    sm.l2_write_free = shared + sectors * 32 / spec.l2_write_rate
    if partial:
        shared = max(sm.partial_free, since)
        sm.partial_free = shared + sectors * spec.l2_partial + spec.l2_partial_line
    if missing > 0.0:
        dram.write(sm, spec, trace, place, sectors * missing, begin)
    left = max(sm.l2_free, sm.l2_write_free, sm.port_write_free)
    return float(max(left, sm.partial_free) if partial else left)


@stage
def _start(sm: Record, begin: float) -> None:
    """Before its first request an SM leaves nothing unused: all begin at the same time."""
    if sm.l2_requests == 0.0:
        sm.l2_free = sm.answers_free = begin
        sm.l2_write_free = sm.partial_free = begin


@stage
def lot(number: int) -> float:
    """A number of 0 to 1 for each, evenly spread."""
    return (number * 0x9E3779B1 >> 8 & 0xFFFF) / 65536.0


@stage
def _pairs(mask: int) -> int:
    """Halves of a line with a sector in the mask."""
    return int((mask & 3) != 0) + int((mask & 12) != 0)


@stage
def store(sm: Record, spec: Record, trace: Trace, place: int, joined: int, partial: int,
          narrow: bool, begin: float) -> float:  # fmt: skip
    """When a store to sectors of a line, at a place in the trace, has left the SM; `partial` of the
    sectors it writes in part, words of them too if it is `narrow`. What an earlier store has taken
    along is not sent again: the sectors `joined`, << 4 those that several write as a whole."""
    known = trace.hits[place]
    sectors = count_bits(trace.lines[place] & 15 & ~joined)
    if sectors == 0:
        return begin
    begin = pages.translated(sm, spec, trace.lines[place] >> 4, begin)
    old = min(sectors, count_bits(known >> 4))
    if sm.l2_write == 0.0 and sm.copy_free[0] > 0.0:
        # Blocks that wait for copies go in step all over the chip, and so do their first stores.
        sm.l2_write_free = sm.partial_free = begin
    sm.l2_write += sectors
    sm.l2_write_hit += min(sectors, count_bits(known & 15))
    _start(sm, begin)
    sm.l2_requests += 1
    if spec.ideal & IDEAL_L2:
        return begin
    back, fill = (sectors - old) * spec.changed_share, 0.0
    if partial and spec.l2_fill_line > 0.0:
        fill = count_bits(trace.fills[place] & ~known & ~(joined >> 4)) * spec.fill_share
        back = max(back, fill)
    since = begin - dram.apart(spec, begin)
    cost = (sectors * spec.l2_stored + back * spec.l2_back) * 32 / spec.l2_rate
    sm.l2_free = max(sm.l2_free, since) + max(spec.l2_request, cost)
    # What is written in part its slice looks up once more.
    looked_up = spec.l2_request + (spec.l2_again if partial else 0.0)
    sm.answers_free = max(sm.answers_free, since) + looked_up
    sm.port_write_free = max(begin, sm.port_write_free) + sectors * 32 / spec.port_write_rate
    shared = max(sm.l2_write_free, since, sm.dram_write_free - spec.dram_held)
    sm.l2_write_free = shared + sectors * 32 / spec.l2_write_rate
    left = max(sm.l2_free, sm.l2_write_free, sm.port_write_free)
    if partial:
        shared = max(sm.partial_free, since)
        cost = partial * spec.l2_partial + spec.l2_partial_line
        if narrow and partial == 1 and trace.lines[place] & 15 & ~(known >> 4):
            cost *= spec.l2_narrow
        sm.partial_free = shared + cost
        sm.l2_free = max(sm.l2_free, since) + cost * spec.l2_partial_blocks
        if fill > 0.0:
            sm.partial_free += max(0.0, spec.l2_fill_line - cost) * spec.fill_share
            dram.fill(sm, spec, trace, place, fill, begin)
    if trace.shares[place] != 0.0:
        left = max(left, _in_turn(sm, spec, trace, place, sectors, begin))
    if back > 0.0:
        dram.write(sm, spec, trace, place, back, begin)
    return float(max(left, sm.partial_free) if partial else left)


@stage
def _slice_of(line: int) -> int:
    """The slice of L2 that a line lies in, with some neighbours; see `sharing_slices`."""
    group = line // (4 * SLICE_LINES) * 2 + line // SLICE_LINES % 2
    return int((group ^ group >> 5 ^ group >> 10) % SLICES)


@stage
def _in_turn(sm: Record, spec: Record, trace: Trace, place: int, sectors: int,
             begin: float) -> float:  # fmt: skip
    """When a store of sectors has left that L2 serves after others of many blocks to its line;
    loads wait, too, when too many do."""
    turn = max(_SAME_LINE, _STORED * sectors)
    turn *= max(1.0, spec.sharers * abs(trace.shares[place]))
    if trace.passes[place, 5] < 1.0:  # what all SMs ask of the busiest slice passes with each
        turn *= trace.passes[place, 5]
        sm.busiest_free = max(begin, sm.busiest_free) + turn
        sm.slice_work[0] += turn
        _hold(sm, sm.busiest_free, _TURNS * turn)
        sm.slices_hold = max(sm.slices_hold, sm.busiest_free - _SOON_HELD)
        return float(sm.busiest_free - _TURNS * turn)
    at = _slice_of(trace.lines[place] >> 4)
    sm.slice_free[at] = max(begin, sm.slice_free[at]) + turn
    sm.slice_work[at] += turn
    _hold(sm, sm.slice_free[at], _TURNS * turn)
    sm.slices_hold = max(sm.slices_hold, sm.slice_free[at] - _SOON_HELD)
    return float(sm.slice_free[at] - _TURNS * turn)


@stage
def atomics(sm: Record, spec: Record, trace: Trace, at: int, deep: float, lane: float, less: float,
            begin: float, compares: int, traits: int, packets: float, passes: float,
            since: float) -> float:  # fmt: skip
    """When an atomic on one line, at a place in the trace, has its result.

    `lane` are the cycles of each of the lanes that use one word one after another, `less` what
    they save in all; the most lanes of a word, in all lines, are `deep`; sectors are served in turn
    as well, with so many further `passes`. With the part of the grid's blocks that use the line,
    too, this SM takes turns; `traits` and `packets`: see `_taken_of_all`. Neighbouring lines lie in
    one slice, and slices have other SMs' lines to serve (measured,
    validation/data/contention_sm90.json). Of a loop that `compares` and exchanges see `_rounds`.
    """
    line, sectors = trace.lines[at] >> 4, trace.lines[at] & 15
    begin = pages.translated(sm, spec, line, begin)
    n = count_bits(sectors)
    sm.l2_atomic += n
    _start(sm, begin)
    sm.l2_requests += 1
    served, is_spread = float(n) * deep, trace.passes[at, 5] <= _SPREAD
    if not compares and at < trace.depths.size and trace.depths[at] > 0:
        deep = float(trace.depths[at] & _DEPTH)
        served = float(trace.depths[at] >> DEPTH_BITS)
        if not is_spread:
            served = math.sqrt(served * served + passes * passes)
        elif passes > 0.0 and traits & ABREAST:
            served *= _DOUBLES / (_EVENLY if n > 1 else 1.0)
    own = max(1.0, deep * lane - less, _PASS * served)
    outside = _BESIDE * served + (1.0 - _BESIDE) * deep
    start = max(begin, sm.atomic_free)
    fetched = _fetched(trace, at)
    # What waits for DRAM fills up L2, as stores do.
    if fetched > 0.0 and not spec.ideal & dram.IDEAL_DRAM:
        start = max(start, sm.dram_free - spec.dram_held)
    if spec.added_back > 0.0:
        start = max(start, sm.dram_write_free - spec.dram_held)
        dram.write_changed(sm, spec, n * spec.added_back, n, start)
    taken = _taken_of_all(spec, n, deep, served, traits, packets, trace.passes[at, 5])
    taken += spec.atomic_sector * _FETCHED * fetched
    sm.atomic_free = start + taken
    sm.l2_free = max(sm.l2_free, begin - dram.apart(spec, begin)) + taken * _ALONE
    if not compares and (deep < _DEEP or is_spread or sm.busiest_free > 0.0):
        # Lanes on one word go on one after another while the slice adds to others; so do those of
        # warps more of which happen to meet.
        turn = max(1.0, _PASS * served)
        if traits & FILLED and served > 1.0:
            turn = _PASS * max(1.0, _FILLED * served)
        waits = max(0.0, deep * lane - less - turn) * trace.passes[at, 6]
        part = trace.passes[at, 5]
        if n > 1:  # what busy slices have more is alike
            part -= max(0.0, _UNEVENLY - max(0.0, part - _SINGLE))
        turn = (turn * part + waits) * spec.sharers
        sm.busiest_free = max(start, sm.busiest_free) + turn
        sm.slice_work[0] += turn
        _outside(sm, spec, sm.busiest_free, turn, outside, 1.0 / trace.passes[at, 5])
        _hold(sm, sm.busiest_free, 0.0)
        return _found_there(sm, spec, trace, at, start, max(sm.busiest_free, sm.atomic_free))
    if not compares and trace.passes[at, 2] <= 1.0 and trace.shares[at] > 0.0:
        # Words of several warps lie in a slice, which adds to one of them at a time.
        turn = _PASS * served * trace.passes[at, 5] * spec.sharers
        sm.slice_free[SLICES] = max(start, sm.slice_free[SLICES]) + turn
        sm.slice_work[SLICES] += turn
        _hold(sm, sm.slice_free[SLICES], 0.0)
    place = _slice_of(line)
    sharers = spec.sharers * trace.shares[at]
    if deep >= _DEEP:  # one word after the other: those of other lines go on meanwhile
        sharers = spec.sharers * trace.passes[at, 4]
    if not compares and trace.passes[at, 2] > 1.0:
        place = 0  # whichever line it is, all SMs are somewhere among them
        sharers /= max(1.0, trace.passes[at, 2] * sharers / (sharers + _FEW_SHARERS))
    turn = own * max(1.0, sharers)
    if compares == SEEKS:
        place = line % SLICES
        if not sm.sought:
            lanes = _AGAIN * spec.together * spec.warps_per_block * 32
            own = max(own, lanes * _early(spec, begin, since) * lane / trace.passes[at, 9])
        turn, sm.sought = own, 1
    elif compares == KEEPS:  # all of those lanes are in the trace
        place = line % SLICES
        lanes = spec.together * abs(trace.passes[at, 3]) * deep
        turn *= 1.0 + _KEPT * _doublings(1.0 + lanes) * _early(spec, begin, since)
    elif compares and trace.passes[at, 3] < 0.0:  # beside those that try for other words
        turn *= 1.0 - _FAILED * spec.together * trace.passes[at, 3]
    elif compares and spec.together * trace.passes[at, 3] >= _CONTENDED:
        place = (4 * line + count_bits(sectors - 1) if n == 1 else line) % SLICES
        sharers = spec.together * trace.passes[at, 3]
        beside, crowded = trace.passes[at, 7], own * trace.passes[at, 1]
        rounds = _rounds(spec, sharers, crowded, deep, beside, compares)
        turn = max(turn, rounds * trace.passes[at, 8] / trace.passes[at, 0])
    sm.slice_free[place] = max(start, sm.slice_free[place]) + turn
    sm.slice_work[place] += turn
    served_there = max(sm.slice_free[place], sm.slice_free[SLICES])
    if not compares:  # who compares waits for the answer before it asks again
        _outside(sm, spec, served_there, turn, outside, max(1.0, trace.passes[at, 2]))
        _hold(sm, sm.slice_free[place], 0.0)
    return _found_there(sm, spec, trace, at, start, max(served_there, sm.atomic_free))


@stage
def _taken_of_all(spec: Record, n: int, deep: float, served: float, traits: int,
                  packets: float, part: float) -> float:  # fmt: skip
    """Cycles that an atomic on `n` sectors of a line takes of what all SMs share, wherever it lies:
    of the way to L2, for so many packets, and of the slices, of which the busiest one has that part
    of all: few lines of words that many lanes share are uneven among them. Those of fewer slices
    than atomic_share tells of take turns in their own."""
    filled = (traits & FILLED) != 0
    if deep >= _DEEP and part > _SPREAD:
        share = spec.atomic_share
        if not traits & ANSWERS:
            share = min(share, part * spec.sharers * (_PASS if traits & ABREAST else 1.0))
        taken = (spec.atomic_lane * served - _APART_SAVE) * share
        taken = max(taken, spec.atomic_sector * n)
        return float(taken * _ANSWERED if traits & ANSWERS else taken)
    alike = (_EVENLY if n > 1 else 1.0) * (_FILLED if filled else 1.0)
    taken = spec.atomic_sector * max(1.0, served * alike)
    if traits & ANSWERS:
        taken = spec.atomic_sector * served * _ANSWERED * (_FILLED_ANSWER if filled else 1.0)
        if traits & ABREAST:
            taken += spec.atomic_sector * _ANSWER * max(0.0, packets - served)
    in_a_row = 1.0 + _IN_A_ROW * packets * (1.0 - 1.0 / max(1.0, deep))
    return float(max(taken, spec.atomic_packet * packets * in_a_row))


@stage
def _outside(sm: Record, spec: Record, until: float, turn: float, sectors: float,
             slices: float) -> None:  # fmt: skip
    """Notes an atomic that waits outside the SM until then, in one of so many slices, which take
    `turn` cycles for its sectors, and until when what comes behind has to wait in the SM: until so
    many sectors fewer are outside."""
    most = _OUTSIDE * math.sqrt(math.sqrt(slices))
    most = max(most * spec.replayed_part, min(most, _SOON_HELD * sectors / max(1.0, turn)))
    sm.sectors_left += sectors
    sm.outside_sectors[sm.next_outside % OUTSIDE] = sm.sectors_left
    sm.outside_until[sm.next_outside % OUTSIDE] = until
    sm.next_outside += 1
    last = sm.first_outside % OUTSIDE
    while sm.first_outside < sm.next_outside - 1 and (
        sm.sectors_left - sm.outside_sectors[last] >= most
        or sm.next_outside - sm.first_outside >= OUTSIDE
    ):
        sm.slices_hold = max(sm.slices_hold, sm.outside_until[last])
        sm.first_outside += 1
        last = sm.first_outside % OUTSIDE


@stage
def _hold(sm: Record, slice_free: float, lead: float) -> None:
    """Notes until when a slice is busy, for loads that come after, which do not wait for its last
    `lead` cycles."""
    sm.slowest_slice = max(sm.slowest_slice, slice_free)
    sm.behind = max(sm.behind, slice_free - lead)


@stage
def _found_there(sm: Record, spec: Record, trace: Trace, at: int, start: float,
                 served: float) -> float:  # fmt: skip
    """When an atomic has its result that is served then, and before that its line from DRAM."""
    done = served + spec.atomic_latency
    missing = _fetched(trace, at)
    if missing > 0.0:
        extra = dram.read(sm, spec, trace, at, missing, start) - spec.l2_hit - start
        done += max(0.0, extra)
    return float(done)


@stage
def _fetched(trace: Trace, at: int) -> float:
    """Sectors that DRAM reads for an atomic on a line, at a place in the trace."""
    absent = trace.lines[at] & 15 & ~trace.hits[at]
    return max(float(count_bits(absent)), _MISSED * _pairs(absent))


@stage
def _rounds(spec: Record, sharers: float, own: float, deep: float, beside: float,
            compares: int) -> float:  # fmt: skip
    """Cycles that a warp on this SM adds to a line whose `sharers` compare and exchange in loops.

    It is traced without the rounds in which another warp comes first. In each round one of those
    that are left succeeds; a round takes as long as a try, or as long as L2 takes for all of them
    (measured, validation/data/exchanges_sm90.json). Warps that do so line after line meet in the
    first of them and then stay apart: all together take hardly longer than one line. Of lanes that
    contend for a word, `deep` of each warp, one succeeds as well. The more are left, the fewer of
    them try in a round.
    """
    one = spec.atomic_latency + _TRY
    last, first = sharers * deep, sharers * (deep - 1.0)  # that are left
    all_rounds = one * sharers
    if compares != LOCKS:  # of which one has it and goes on, however many try
        tried = _TRIED * own / deep * (_steeper(last) - _steeper(first))
        all_rounds = max(all_rounds, tried * (1.0 + (_JOINED - 1.0) * spec.later))
    return float(all_rounds * min(spec.sharers, sharers / max(1.0, beside)) / sharers)


@stage
def _early(spec: Record, begin: float, since: float) -> float:
    """The part of those that look at a word that do so before the first exchange (at `begin`) is
    known, if they look as long before they try as this one, `since`; later ones find a number that
    is good already (measured, validation/data/least_sm90.json, kept_most_sm90.json)."""
    return float(min(1.0, (since + spec.atomic_latency + _TRY) / max(1.0, begin)))


@stage
def _steeper(number: float) -> float:
    """A number to the power of 1.75."""
    root = math.sqrt(number)
    return number * root * math.sqrt(root)


@stage
def _doublings(number: float) -> float:
    """The logarithm of a number from 1 on to the base of 2, straight between its whole values."""
    found = 0.0
    while number > 2.0:
        number /= 2.0
        found += 1.0
    return found + number - 1.0


@stage
def count_bits(mask: int) -> int:
    """Sectors in a mask."""
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)
