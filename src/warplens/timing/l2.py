"""The L2 cache: which accesses find their sectors, and the time of those that ask.

All SMs share L2, so what one SM finds there depends on the others. Before the cycle loop, the
accesses of all sampled blocks are put in the order in which a wave of blocks makes them and go
through one tag store of the chip's capacity (scaled to the part of the chip that was sampled). The
answer, what L2 holds and by which fetch per line of each access, is what the loop looks up here.
A fetch that several SMs use falls to one of them by lot; which of that SM's accesses it is that
goes to DRAM, the loop decides: the first one that L1 does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.coalescing import DEPTH_BITS
from warplens.execute.trace import BEFORE
from warplens.timing import dram, rows
from warplens.timing.fills import fills
from warplens.timing.joins import joins
from warplens.timing.ranges import Range
from warplens.timing.sharing import Sharing
from warplens.timing.state import SLICE_LINES, SLICES, Floats, Ints, Record, Records, Trace, stage
from warplens.timing.touched import Touched, distinct
from warplens.timing.warmth import shares

IDEAL_L2 = 2
_DEPTH = (1 << DEPTH_BITS) - 1
_WAYS = 16
_READ, _WRITE, _ATOMIC = 1, 2, 4
_NO_READ = 1 << 62  # a fetch for what is written, which needs no DRAM, or for an atomic
_BEFORE = 1 << 61  # a fetch before the window of what is replayed
_MINE = 1  # among users of a fetch: accesses that are replayed; other bits: other SMs in turn
_PLACES = 60  # of other SMs among these bits
# Cycles from one try of a loop that compares and exchanges to the next, beyond an atomic's latency
_TRY = 60.0
# Loads go behind the atomics that wait for a slice, but for those of so many cycles (top states of
# validation/data/kinds_sm90.json)
_IN_SLICES = 1000.0
_LINES = 0.57  # L2 takes the longer for each of several lines that warps contend for: power
# Warps whose lanes all add to one word, then to the next: SMs come apart and use as many lines at a
# time as the root of all that they walk through, fewer SMs less (measured: 1 to 128 lines by 1 to
# 132 SMs of an H200, by kernels of validation/recorder/lanes.py)
_DEEP, _FEW_SHARERS = 8.0, 4.0
_PENDING = 0.6  # of DRAM's latency is left when another SM asks for what one has just asked for


@stage
def load(sm: Record, spec: Record, trace: Trace, place: int, known: int, line: int, sectors: int,
         begin: float) -> float:  # fmt: skip
    """When sectors that L1 asks for at `begin` arrive.

    `place` is the line's place in the trace, below 0 for local memory; `known` are the sectors that
    L2 holds, << 4 those of them that another SM is only just fetching.
    """
    absent, under_way = 0, 0.0
    for half in range(2 if place >= 0 else 0):
        arrival = trace.arrivals[trace.fetches[place, half]]
        bits = sectors & 3 << 2 * half
        if bits and arrival < 0.0:
            absent |= bits
        elif bits:
            under_way = max(under_way, arrival)
    late = sectors & known >> 4
    found, missing = count_bits(sectors & ~absent), count_bits(absent)
    sm.l2_read += found + missing
    sm.l2_read_hit += found
    _start(sm, begin)
    sm.l2_requests += 1
    latency = spec.l2_far if (line ^ line >> 9) & 255 < spec.far_share else spec.l2_hit
    if spec.ideal & IDEAL_L2:
        return float(begin + latency)
    start = max(begin, sm.l2_free)
    cost = max(spec.l2_request, (found + missing * spec.l2_fill) * 32 / spec.l2_rate)
    if place >= 0:
        cost *= trace.merged[place]
    sm.l2_free = max(sm.l2_free, begin - dram.apart(spec, begin)) + cost
    sm.port_free = max(begin, sm.port_free) + (found + missing) * 32 / spec.port_rate
    way = max(sm.l2_free, sm.port_free, sm.slowest_slice - _IN_SLICES)
    done = max(way + latency, under_way)
    if place < 0 and spec.local_missing > 0.0:  # as often as L2 had to give it up
        lot = int(sm.l2_requests) * 0x9E3779B1 >> 8 & 0xFFFF
        if lot < spec.local_missing * 0x10000:
            sm.l2_read_hit -= found
            wanted = found if place == dram.APART else 2 * _pairs(sectors)
            done = max(done, dram.read(sm, spec, trace, place, wanted, start))
    if late and under_way == 0.0 and not spec.ideal & dram.IDEAL_DRAM:
        # The other has asked a moment ago: its wait in DRAM's queue has hardly begun.
        queue = max(0.0, sm.dram_free - start)
        done += _PENDING * (spec.dram_latency - spec.l2_hit) + queue
    if missing:
        pairs = _pairs(absent)  # DRAM is read by 64 bytes
        done = max(done, dram.read(sm, spec, trace, place, 2 * pairs, start))
        for half in range(2):
            if absent & 3 << 2 * half:
                trace.arrivals[trace.fetches[place, half]] = done
    return float(done)


@stage
def write_back(sm: Record, spec: Record, trace: Trace, sectors: int, apart: bool,
               begin: float) -> float:  # fmt: skip
    """When sectors of local memory that L1 had no room for have left the SM; `apart`: they were
    written word by word, in lines of their own."""
    sm.l2_write += sectors
    _start(sm, begin)
    if spec.ideal & IDEAL_L2:
        return begin
    since = begin - dram.apart(spec, begin)
    sm.l2_free = max(sm.l2_free, since) + sectors * 32 / spec.l2_rate
    sm.port_write_free = max(begin, sm.port_write_free) + sectors * 32 / spec.port_write_rate
    shared = max(sm.l2_write_free, since, sm.dram_write_free - spec.dram_held)
    sm.l2_write_free = shared + sectors * 32 / spec.l2_write_rate
    if apart:
        shared = max(sm.partial_free, since)
        sm.partial_free = shared + sectors * spec.l2_partial + spec.l2_partial_line
    if spec.local_missing > 0.0:
        place = dram.APART if apart else -1
        dram.write(sm, spec, trace, place, sectors * spec.local_missing, begin)
    left = max(sm.l2_free, sm.l2_write_free, sm.port_write_free)
    return float(max(left, sm.partial_free) if apart else left)


@stage
def _start(sm: Record, begin: float) -> None:
    """Before its first request an SM leaves nothing unused: all begin at the same time."""
    if sm.l2_requests == 0.0:
        sm.l2_free = sm.l2_write_free = sm.partial_free = sm.fill_free = begin


@stage
def _pairs(mask: int) -> int:
    """Halves of a line with a sector in the mask."""
    return int((mask & 3) != 0) + int((mask & 12) != 0)


@stage
def store(sm: Record, spec: Record, trace: Trace, place: int, partial: int, narrow: bool,
          begin: float) -> float:  # fmt: skip
    """When a store to sectors of a line, at a place in the trace, has left the SM; `partial` of the
    sectors it writes in part, words of them too if it is `narrow`. What an earlier store has taken
    along is not sent again."""
    joined, known = trace.joins[place], trace.hits[place]
    sectors = count_bits(trace.lines[place] & 15 & ~joined)
    if sectors == 0:
        return begin
    old = min(sectors, count_bits(known >> 4))
    if sm.l2_write == 0.0 and sm.copy_free[0] > 0.0:
        # Blocks that wait for copies go in step all over the chip, and so do their first stores.
        sm.l2_write_free = sm.partial_free = sm.fill_free = begin
    sm.l2_write += sectors
    sm.l2_write_hit += min(sectors, count_bits(known & 15))
    _start(sm, begin)
    sm.l2_requests += 1
    if spec.ideal & IDEAL_L2:
        return begin
    back = (sectors - old) * spec.dram_write_share
    since = begin - dram.apart(spec, begin)
    cost = (sectors * spec.l2_stored + back * spec.l2_back) * 32 / spec.l2_rate
    sm.l2_free = max(sm.l2_free, since) + max(spec.l2_request, cost)
    sm.port_write_free = max(begin, sm.port_write_free) + sectors * 32 / spec.port_write_rate
    shared = max(sm.l2_write_free, since, sm.dram_write_free - spec.dram_held)
    sm.l2_write_free = shared + sectors * 32 / spec.l2_write_rate
    left = max(sm.l2_free, sm.l2_write_free, sm.port_write_free)
    if partial:
        shared = max(sm.partial_free, since)
        cost = partial * spec.l2_partial + spec.l2_partial_line
        sm.partial_free = shared + cost * (spec.l2_narrow if narrow else 1.0)
        # It is what reaches DRAM in time that has to be completed from there.
        fill = count_bits(trace.fills[place] & ~known & ~(joined >> 4)) * spec.dram_write_share
        if fill > 0.0 and spec.l2_fill_line > 0.0:
            line = spec.l2_fill_line * spec.dram_write_share
            sm.fill_free = max(sm.fill_free, since) + line
            dram.fill(sm, spec, fill, begin)
    if back > 0.0:
        dram.write(sm, spec, trace, place, back, begin)
    return float(max(left, sm.partial_free, sm.fill_free) if partial else left)


@stage
def atomics(sm: Record, spec: Record, trace: Trace, at: int, deep: float, lane: float,
            less: float, begin: float, compares: int) -> float:  # fmt: skip
    """When an atomic on one line, at a place in the trace, has its result.

    `lane` are the cycles of each of the lanes that use one word one after another, `less` what
    they save in all; the most lanes of a word, in all lines, are `deep`; sectors are served in turn
    as well. With the part of the grid's blocks that use the line, too, this SM takes turns.
    Neighbouring lines lie in one slice, and slices have other SMs' lines to serve (measured,
    validation/data/contention_sm90.json). Of a loop that `compares` and exchanges see `_rounds`.
    """
    known, line, sectors = trace.hits[at], trace.lines[at] >> 4, trace.lines[at] & 15
    n = count_bits(sectors)
    sm.l2_atomic += n
    _start(sm, begin)
    sm.l2_requests += 1
    served = float(n) * deep
    if not compares and at < trace.depths.size and trace.depths[at] > 0:
        deep = float(trace.depths[at] & _DEPTH)
        served = float(trace.depths[at] >> DEPTH_BITS)
    own = max(1.0, deep * lane - less, 1.27 * served)
    start = max(begin, sm.atomic_free)
    busy = max(1.0, spec.atomic_lane * served)
    sm.atomic_free = start + max(spec.atomic_sector * n, busy * spec.atomic_share)
    group = line // SLICE_LINES
    place = (group ^ group >> 5 ^ group >> 10) % SLICES
    sharers = spec.sharers * trace.shares[at]
    if not compares and deep >= _DEEP and trace.passes[at, 2] > 1.0:
        place = 0  # whichever line it is, all SMs are somewhere among them
        sharers /= max(1.0, trace.passes[at, 2] * sharers / (sharers + _FEW_SHARERS))
    turn = own * max(1.0, sharers)
    if compares and trace.shares[at] > 0.0:
        place = line % SLICES
        sharers, crowd = spec.together * trace.shares[at], trace.passes[at, 1]
        turn = max(turn, _rounds(spec, sharers, own * crowd) / trace.passes[at, 0])
    sm.slice_free[place] = max(start, sm.slice_free[place]) + turn
    sm.slice_work[place] += turn
    if not compares:  # who compares waits for the answer before it asks again
        sm.slowest_slice = max(sm.slowest_slice, sm.slice_free[place])
    done = max(sm.slice_free[place], sm.atomic_free) + spec.atomic_latency
    missing = n - min(n, count_bits(known & 15))
    if missing:
        extra = dram.read(sm, spec, trace, at, missing, start) - spec.l2_hit - start
        done += max(0.0, extra)
    return float(done)


@stage
def _rounds(spec: Record, sharers: float, own: float) -> float:
    """Cycles that a warp on this SM adds to a line whose `sharers` compare and exchange in loops.

    It is traced without the rounds in which another warp comes first. In each round one of those
    that are left succeeds; a round takes as long as a try, or as long as L2 takes for all of them
    (measured, validation/data/exchanges_sm90.json). Warps that do so line after line meet in the
    first of them and then stay apart: all together take hardly longer than one line.
    """
    one = spec.atomic_latency + _TRY
    few = min(sharers, one / own)
    all_rounds = one * few + own * (sharers * sharers - few * few) / 2
    return float(all_rounds * spec.sharers / sharers)


@stage
def count_bits(mask: int) -> int:
    """Sectors in a mask."""
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)


@native
def _walk(accesses: Records, asking: Ints, lines: Ints, order: Ints, steps: Ints,
          hits: npt.NDArray[np.uint8], fetches: npt.NDArray[np.int32], users: Ints,
          tags: Ints, valid: npt.NDArray[np.uint8],
          written: npt.NDArray[np.uint8], fetched: Ints, by: Ints) -> int:  # fmt: skip
    """Sends accesses through the tag store; returns the sectors brought in. `asking`: per access
    the user of fetches that it stands for, 0: none."""
    brought = clock = 0
    n_sets = tags.shape[0]
    for i in range(order.size):
        access, asks = accesses[order[i]], asking[order[i]]
        first, count = access.first_line, access.n_lines
        for j in range(first, first + count):
            line, sectors = lines[j] >> 4, lines[j] & 15
            clock += 1
            index = (line ^ line >> 11 ^ line >> 19) % n_sets
            way = -1
            empty = -1
            for w in range(tags.shape[1]):
                if tags[index, w] == line + 1:
                    way = w
                    break
                if empty < 0 and tags[index, w] == 0:
                    empty = w
            if way < 0:
                # Not the least recently used: the hardware's choice is not that, and any order of
                # use that is kept would lose everything to a loop a little larger than the cache.
                way = empty if empty >= 0 else (clock * 0x9E3779B1 >> 16) % tags.shape[1]
                tags[index, way] = line + 1
                valid[index, way] = written[index, way] = 0
            found = valid[index, way] & sectors
            kind = access.kind
            if kind == _WRITE:
                hits[j] = found | (written[index, way] & sectors) << 4
                written[index, way] |= sectors
            else:
                hits[j] = found | (found if fetched[index, way] == steps[i] else 0) << 4
            missing = sectors & ~found
            if missing:
                fetched[index, way] = steps[i]
            for half in range(2):
                bits = 3 << 2 * half
                if kind == _WRITE and missing & bits and valid[index, way] & bits:
                    valid[index, way] |= missing & bits
                elif missing & bits:
                    # DRAM is read by 64 bytes, but nothing is read for what is written.
                    valid[index, way] |= missing & bits if kind == _WRITE else bits
                    brought += 2
                    by[index, way, half] = brought // 2
                    if kind != _READ:
                        users[brought // 2] = _NO_READ
                    elif asks == 0:
                        users[brought // 2] = _BEFORE
                fetches[j, half] = by[index, way, half]
                if sectors & bits:
                    users[by[index, way, half]] |= asks
    return brought


@dataclass(frozen=True, slots=True, kw_only=True)
class L2Answer:
    """Per line of each access: sectors found and << 4, of loads, those that another SM is only just
    fetching, of stores, those written before; for atomics the part of all blocks that share it; how
    many atomics the warp makes, and how much longer each takes for those of other lines; the
    fetches, numbered from 1, that brought its halves. `arrivals`, per fetch: -1 if an access that
    is replayed must make it, 0 if others have."""

    hits: npt.NDArray[np.uint8]
    shares: npt.NDArray[np.float32]
    passes: npt.NDArray[np.float32]
    fetches: npt.NDArray[np.int32]
    arrivals: Floats
    lots: Floats  # see rows.py
    pieces: npt.NDArray[np.float32]
    fills: npt.NDArray[np.uint8]  # see fills.py
    joins: npt.NDArray[np.uint8]  # see joins.py
    footprint: int  # bytes that the sample brought in


def answer(touched: Touched, resident: int, size_bytes: float, stride: int,
           share: Sharing) -> L2Answer:  # fmt: skip
    """Runs the accesses sampled through L2 in the order of waves of `resident` blocks; every
    `stride`-th block of the grid runs on the same SM.

    Of one wave, every warp makes its first access, then every warp its second, and so on.
    """
    context, lines = touched.context, touched.lines
    hits = np.zeros(len(lines), np.uint8)
    shares = np.zeros(len(lines), np.float32)
    passes = np.ones((len(lines), 3), np.float32)
    fetches = np.zeros((len(lines), 2), np.int32)
    users = np.zeros(2 * len(lines) + 1, np.int64)
    if not len(context):
        return L2Answer(
            hits=hits, shares=shares, passes=passes, fetches=fetches,
            arrivals=_by_lot(users, share), footprint=0,
            lots=np.ones(len(lines)), pieces=np.zeros(len(lines), np.float32),
            fills=np.zeros(len(lines), np.uint8), joins=np.zeros(len(lines), np.uint8),
        )  # fmt: skip
    warp, by_warp = touched.warp, touched.by_warp
    ordinal = np.empty(len(warp), np.int64)
    ordinal[by_warp] = np.arange(len(warp)) - np.searchsorted(warp[by_warp], warp[by_warp])
    wave = touched.block // max(1, resident)
    # Among warps at the same point the order is arbitrary, but the same in every run.
    mixed = _scrambled(warp.astype(np.uint64) << np.uint64(32) | ordinal.astype(np.uint64))
    step = wave * (int(ordinal.max()) + 1) + ordinal
    key = step.astype(np.uint64) << np.uint64(32) | mixed >> np.uint64(32)
    order = _sorted(key)
    steps = step[order] + 1
    n_sets = max(1, int(size_bytes / 128 / _WAYS))
    tags = np.zeros((n_sets, _WAYS), np.int64)
    valid = np.zeros((n_sets, _WAYS), np.uint8)
    place = np.unique(touched.sm_of(stride), return_inverse=True)[1][touched.block]
    entry = context["entry"]
    asking = np.where(entry == 0, _MINE, 2 << np.maximum(0, place - 1) % _PLACES)
    asking[entry == BEFORE] = 0
    brought = _walk(
        context, asking, lines, order, steps, hits, fetches, users, tags, valid,
        np.zeros(tags.shape, np.uint8), np.zeros(tags.shape, np.int64),
        np.zeros((*tags.shape, 2), np.int64),
    )  # fmt: skip
    _contention(touched, shares, passes)
    return L2Answer(
        hits=hits, shares=shares, passes=passes, fetches=fetches,
        arrivals=_by_lot(users[: brought // 2 + 1], share),
        footprint=32 * int(brought), lots=rows.lots(touched), pieces=rows.pieces(touched),
        fills=fills(touched, step, int(place.max()) + 1), joins=joins(touched),
    )  # fmt: skip


def warmed(answer: L2Answer, touched: Touched, held: tuple[Range, ...]) -> L2Answer:
    """The answer of an L2 that holds some lines before: their first fetch is made already."""
    if not held or not len(touched.context):
        return answer
    line = touched.lines >> 4
    lot = (_scrambled(line.astype(np.uint64)) >> np.uint64(11)) / 2.0**53
    is_held = lot < shares(line, held)
    fetches, hits, arrivals = answer.fetches, answer.hits.copy(), answer.arrivals.copy()
    reads = np.zeros(len(line), np.bool_)
    reads[touched.at] = (touched.context["kind"] == _READ)[touched.access]
    for half in range(2):
        number = fetches[:, half].astype(np.int64)
        first = np.full(touched.n_lines, 1 << 62)
        used = number > 0
        np.minimum.at(first, touched.line[used], number[used])
        mine = used & is_held & (first[touched.line] == number)
        arrivals[number[mine]] = np.where(arrivals[number[mine]] < 0.0, 0.0, arrivals[number[mine]])
        bits = np.uint8(3 << 2 * half)
        sectors = (touched.lines & 15).astype(np.uint8) & bits
        hits[mine] |= sectors[mine]
        late = mine & reads
        hits[late] &= ~(bits << np.uint8(4))
    return replace(answer, hits=hits, arrivals=arrivals)


def _sorted(keys: npt.NDArray[np.uint64]) -> Ints:
    """The stable order of keys that are nearly all different: several times as quick as asking for
    a stable one."""
    order = np.argsort(keys)
    ordered = keys[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    for first in same[np.diff(same, prepend=-2) > 1].tolist():
        last = int(np.searchsorted(ordered, ordered[first], "right"))
        order[first:last].sort()
    return order


def _by_lot(users: Ints, share: Sharing) -> Floats:
    """Per fetch -1 if it falls to this SM, else 0: to one of the sampled SMs that use it, the more
    rarely the more of them do, but not to more than the SM's part of all."""
    near = _counted(users, min(share.beside, _PLACES + 1))
    far = _counted(users, _PLACES + 1) - near + (users & 1)
    is_mine = users & (_MINE | _NO_READ | _BEFORE) == _MINE
    chance = 1.0 / np.maximum(1.0, np.maximum(near, np.where(far > 1, far * share.ratio, 1.0)))
    if is_mine.any():
        chance *= min(1.0, share.part / chance[is_mine].mean())
    lot = (_scrambled(np.arange(len(users), dtype=np.uint64)) >> np.uint64(11)) / 2.0**53
    return np.where(is_mine & (lot < chance), -1.0, 0.0)


def _counted(numbers: Ints, bits: int) -> Ints:
    """How many of the lowest bits are set."""
    found: Ints = np.bitwise_count(numbers & ((1 << bits) - 1)).astype(np.int64)
    return found


def _scrambled(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers without order, always the same (the finaliser of SplitMix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ numbers >> np.uint64(shift)) * np.uint64(factor)
    return numbers ^ numbers >> np.uint64(31)


def _contention(touched: Touched, shares: npt.NDArray[np.float32],
                passes: npt.NDArray[np.float32]) -> None:  # fmt: skip
    """Per line of an atomic access: the part of all blocks that touch the same line, the atomics
    of its warp, and how much longer one takes for the lines that are used at the same time."""
    n_blocks = len(touched.blocks)
    mine = (touched.context["kind"] == _ATOMIC)[touched.access]
    if not mine.any() or n_blocks < 2:
        return
    at, line = touched.at[mine], touched.used[mine]
    pairs = distinct(line * n_blocks + touched.user[mine])
    part = np.bincount(pairs // n_blocks, minlength=touched.n_lines)[line] / n_blocks
    shares[at] = np.where(part * n_blocks > 1, part, 0.0)
    warps, made = np.unique(touched.warp[touched.context["kind"] == _ATOMIC], return_counts=True)
    passes[at, 0] = np.sqrt(made[np.searchsorted(warps, touched.warp[touched.access[mine]])])
    passes[at, 1] = np.maximum(1.0, len(distinct(line)) / passes[at, 0] ** 2) ** _LINES
    passes[at, 2] = _walked(touched, mine, line)


def _walked(touched: Touched, mine: npt.NDArray[np.bool_], line: Ints) -> Floats:
    """Per line of an atomic access the root of the lines that its warp's atomics walk through, one
    at a time; 1 if they use several at a time."""
    warp = touched.warp[touched.access[mine]]
    alone = (touched.context["n_lines"] == 1)[touched.access[mine]]
    several = np.unique(warp[~alone])
    n_lines = int(touched.n_lines)
    pairs = distinct(warp.astype(np.int64) * n_lines + line)
    warps, walked = np.unique(pairs // n_lines, return_counts=True)
    found = np.sqrt(walked[np.searchsorted(warps, warp)].astype(np.float64))
    found[np.isin(warp, several)] = 1.0
    return found
