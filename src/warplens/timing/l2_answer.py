"""What L2 holds when its accesses come: which of them find their sectors, and by which fetch.

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
from warplens.execute.buffers import sparse, sparse_copy
from warplens.execute.trace import BEFORE
from warplens.timing.begun import Grid, begun
from warplens.timing.contention import contention
from warplens.timing.in_step import LOOP, bit_of, counts, in_step
from warplens.timing.picking import chosen, taken
from warplens.timing.ranges import Range
from warplens.timing.sharing import Sharing
from warplens.timing.state import Floats, Ints, Records
from warplens.timing.touched import Touched, different, distinct, users_of
from warplens.timing.warmth import shares

Numbers = npt.NDArray[np.int32]
_WAYS = 16
_READ, _WRITE, _ATOMIC = 1, 2, 4
_NO_READ = 1 << 62  # a fetch for what is written, which needs no DRAM, or for an atomic
_BEFORE = 1 << 61  # a fetch before the window of what is replayed
_MINE_LATER = 1 << 60  # an access that is replayed finds it there
_MINE = 1  # among users of a fetch: accesses that are replayed; other bits: other SMs in turn
_STEPS = 6  # to find a factor
_TO_TELL = 3  # waves that lie apart and use a line: so do those between
_TOGETHER = 0.25  # of what falls to an SM: so much of it never does so in a single step
_ALONE = 0.5  # of a fetch falls to this SM: more than to any other


# A place in the tag store: the line there (by its number, from 1), its sectors, which of them are
# written, in which step the last came, by which fetches its halves did, when it was used last, and
# how many lines had come until then
_PLACE = np.dtype([
    ("fetched", "i8"), ("by", "i4", 2), ("used", "i4"), ("line", "i4"), ("came", "i4"),
    ("valid", "u1"), ("written", "u1"), ("unused", "u2"),
])  # fmt: skip


@native
def _walk(accesses: Records, asking: Ints, lines: Ints, numbers: Ints, order: Ints, steps: Ints,
          hits: npt.NDArray[np.uint8], fetches: npt.NDArray[np.int32], users: Ints,
          ways: npt.NDArray[np.int32], filled: npt.NDArray[np.uint8],
          where: npt.NDArray[np.int32], places: Records, when: Ints, waves: int, between: Ints,
          stays: npt.NDArray[np.uint8]) -> int:  # fmt: skip
    """Sends accesses through the tag store; returns the sectors brought in. `asking`: per access
    the user of fetches that it stands for, 0: none; `numbers`: of lines; `when`: per fetch its
    step; `ways`: per set its `places`, of which so many are `filled`; `where`: per line its place,
    if it has one. `between`: the lines that come before each of the waves, of so many steps, and
    that nobody asks for here; but for those that stay (by their numbers), what was used longer ago
    than all places' worth of lines is gone."""
    brought = clock = used = others = 0
    room, end = ways.shape[0] * _WAYS, waves
    for i in range(order.size):
        access, asks = accesses[order[i]], asking[order[i]]
        if steps[i] > end:
            wave = (steps[i] - 1) // waves
            end = (wave + 1) * waves
            others += min(between[wave], room + 1)
        first, count = access.first_line, access.n_lines
        kind, step = access.kind, steps[i]
        for j in range(first, first + count):
            sectors = lines[j] & 15
            number = numbers[j] + 1
            clock += 1
            at = where[number]
            if at == 0:
                index = number % ways.shape[0]  # neighbours have sets of their own
                if filled[index] < _WAYS:
                    used += 1
                    at = used
                    ways[index, filled[index]] = at
                    filled[index] += 1
                else:
                    at = ways[index, 0]  # the least recently used (warmth_sm90.json)
                    for way in range(1, _WAYS):
                        if places[ways[index, way]].used < places[at].used:
                            at = ways[index, way]
                    where[places[at].line] = 0
                where[number] = at
                places[at].line = number
                places[at].valid = places[at].written = 0
            place = places[at]
            came = others + brought // 4
            if came - place.came > room and others and not stays[number - 1]:
                place.valid = place.written = 0
            place.used, place.came = clock, came
            valid = place.valid
            found = valid & sectors
            missing = sectors & ~found
            if kind == _WRITE:
                hits[j] = found | (place.written & sectors) << 4
                place.written |= sectors
            else:
                hits[j] = found | (found if place.fetched == step else 0) << 4
            if missing:
                place.fetched = step
            for half in range(2):
                bits = 3 << 2 * half
                if missing & bits:
                    if kind == _WRITE and valid & bits:
                        valid |= missing & bits
                    else:
                        # DRAM is read by 64 bytes, but nothing is read for what is written.
                        valid |= missing & bits if kind == _WRITE else bits
                        brought += 2
                        place.by[half] = brought // 2
                        when[brought // 2] = step
                        if kind != _READ:
                            users[brought // 2] = _NO_READ
                        elif asks == 0:
                            users[brought // 2] = _BEFORE
                fetch = place.by[half]
                fetches[j, half] = fetch
                if sectors & bits:
                    if when[fetch] == step:
                        users[fetch] |= asks
                    elif asks == _MINE:
                        users[fetch] |= _MINE_LATER
            place.valid = valid
    return brought


def _prime(number: int) -> int:
    """The largest prime number up to another one; 1 below 2. So many sets are all used by rows of
    lines, however far apart they begin."""
    while number > 3 and any(number % i == 0 for i in range(2, int(number**0.5) + 1)):
        number -= 1
    return max(1, number)


@dataclass(frozen=True, slots=True, kw_only=True)
class L2Answer:
    """Per line of each access: sectors found and << 4, of loads, those that another SM is only just
    fetching, of stores, those written before; for atomics and popular stores the part of all blocks
    that share its slice, for what another SM is only just fetching how much of that is waited for
    (`shares`); how many atomics the warp makes, how much longer each takes for those of other
    lines, how many it walks through, and what parts of all blocks share its sectors and its line
    (`passes`); the fetches, numbered from 1, that brought its halves. `arrivals`, per fetch: -1 if
    an access that is replayed must make it, 0 if others have."""

    hits: npt.NDArray[np.uint8]
    shares: npt.NDArray[np.float32]
    passes: npt.NDArray[np.float32]
    fetches: npt.NDArray[np.int32]
    arrivals: Floats
    late_steps: int  # in which this SM asks for what another is only just fetching
    own_steps: int  # in which it asks for what it alone uses
    footprint: int  # bytes that the sample brought in
    begun: float = 0.0  # sectors that the chip reads from DRAM before what is replayed
    of_others: float = 0.0  # the share of what is replayed that others have brought as they began


def answer(touched: Touched, resident: int, size_bytes: float, stride: int,
           share: Sharing, grid: Grid | None = None, added: float = 1.0) -> L2Answer:  # fmt: skip
    """Runs the accesses sampled through L2 in the order of waves of `resident` blocks; every
    `stride`-th block of the grid runs on the same SM. `grid`: to follow what blocks that were not
    sampled bring as they begin, see begun.py. `added`: of the lines that atomics are the first to
    ask for, the part that blocks that were not sampled have not asked for.
    """
    context, lines = touched.context, touched.lines
    hits = np.zeros(len(lines), np.uint8)
    shares = sparse(len(lines), np.float32)
    passes = sparse((len(lines), 10), np.float32)
    fetches = np.zeros((len(lines), 2), np.int32)
    users, when = sparse((2, 2 * len(lines) + 1), np.int64)
    if not len(context):
        return L2Answer(
            hits=hits, shares=shares, passes=passes, fetches=fetches,
            arrivals=_by_lot(users, when, share)[0], footprint=0, late_steps=0, own_steps=0,
        )  # fmt: skip
    ordinal = touched.turns
    step = touched.steps(resident)
    order = _order(touched, resident, step)
    steps = taken(step, order) + 1
    n_sets = _prime(int(size_bytes / 128 / _WAYS))
    places, place = np.unique(touched.sm_of(stride), return_inverse=True)
    entry = np.ascontiguousarray(context["entry"])
    asking = np.where(entry == 0, _MINE, taken(2 << np.maximum(0, bit_of(place)), touched.block))
    asking[entry == BEFORE] = 0
    brought = _walk(
        context, asking, lines, touched.line, order, steps, hits, fetches, users,
        np.zeros((n_sets, _WAYS), np.int32), np.zeros(n_sets, np.uint8),
        np.zeros(touched.n_lines + 1, np.int32), np.zeros(touched.n_lines + 1, _PLACE), when,
        int(ordinal.max()) + 1, *_between(touched, resident, stride, share),
    )  # fmt: skip
    del order, steps, asking
    if added < 1.0:
        _find_added(touched, step, hits, added)
    users, when = users[: brought // 2 + 1], when[: brought // 2 + 1]
    loads, judged = _replayed_loads(touched), None
    if share.is_of_wave:
        judged = _of_first_wave(touched, loads, resident, fetches, len(users))
    sectors, part, known = 0.0, 0.0, None
    if grid:
        wanted = _kept(np.flatnonzero(_used(users)), n_sets * _WAYS)
        known = begun(touched, resident, grid, ordinal, when, wanted, fetches)
    if known:
        held = known.fetches[fetches]
        _give(hits, held, touched)
        part = float(held[chosen(touched.at, taken(entry == 0, touched.access))].any(axis=1).mean())
        after = np.where(known.fetches, _BEFORE, users)
        if (entry == BEFORE).any():  # a window, before which they were made
            sectors = known.sectors
            arrivals, own = _by_lot(users, when, share, judged)
            arrivals[known.fetches], own[known.fetches] = 0.0, False
        else:
            arrivals, own = _by_lot(after, when, _with_others(share, users, after), judged)
        users = after
    else:
        arrivals, own = _by_lot(users, when, share, judged)
    wave = np.arange(len(touched.blocks)) // max(1, resident)
    contention(touched, resident, shares, passes, wave * stride + touched.sm_of(stride))
    is_mine = _are_mine(users)
    closely = in_step(users, is_mine, when, share, len(places))
    others = is_mine & (arrivals == 0.0)
    if share.fresh < 1.0:  # what earlier waves have brought nobody is only just fetching
        some = np.flatnonzero(others)
        turn = np.maximum(0, when[some] - 1) // (int(ordinal.max()) + 1)
        first = touched.blocks[np.minimum(turn * resident, len(touched.blocks) - 1)]
        at_once = grid.at_once if grid else 0
        others[some] = (first < at_once) | _are_fresh(
            touched, fetches, some, len(others), first, at_once, share
        )
    asked_at, when_asked = loads[0], step[loads[1]]
    _wait_for_others(touched, asked_at, when_asked, hits, shares, fetches, when, others, closely)
    late_steps, own_steps = _kinds_of_steps(asked_at, when_asked, hits, fetches, own)
    return L2Answer(
        hits=hits, shares=shares, passes=passes, fetches=fetches,
        arrivals=arrivals, begun=sectors, of_others=part, footprint=32 * int(brought),
        late_steps=late_steps, own_steps=own_steps,
    )  # fmt: skip


def _between(touched: Touched, resident: int, stride: int,
             share: Sharing) -> tuple[Ints, npt.NDArray[np.uint8]]:  # fmt: skip
    """Per wave of sampled blocks the lines of the waves that the grid has between it and the one
    before, as many each as that one used; and which lines stay, since waves that lie apart use
    them, so that those between do."""
    wave = np.arange(len(touched.blocks)) // max(1, resident)
    between, stays = np.zeros(int(wave[-1]) + 1, np.int64), np.zeros(touched.n_lines, np.uint8)
    firsts = np.flatnonzero(np.diff(wave, prepend=-1))
    turns = touched.blocks // stride
    lasts = turns[np.append(firsts[1:], len(turns)) - 1]
    skipped = np.maximum(0, turns[firsts[1:]] - lasts[:-1] - 1)
    if not share.is_of_wave or len(between) < _TO_TELL or not skipped.any():
        return between, stays
    apart = np.append(0, np.cumsum(skipped > 0))[wave]  # stretches of waves
    stays[:] = users_of(touched, apart, np.ones(len(touched.user), np.bool_)) >= _TO_TELL
    passing = ~taken(stays.astype(np.bool_), touched.used)
    own = different(wave[chosen(touched.user, passing)], chosen(touched.used, passing))
    own = np.append(own, np.zeros(len(between) - len(own), np.int64))
    rounds = lasts - turns[firsts] + 1
    between[1:] = (own / rounds)[:-1] * skipped
    return between, stays


def _find_added(touched: Touched, step: Ints, hits: npt.NDArray[np.uint8],
                part: float) -> None:  # fmt: skip
    """Enters for atomics that are replayed what those of blocks that were not sampled have brought:
    all but a part, the more the later, since what is asked for at random is found more often the
    more of it was asked for."""
    mine = touched.is_replayed & (touched.kind == _ATOMIC)
    at, when = chosen(touched.at, mine), step[chosen(touched.access, mine)]
    sectors = (touched.lines[at] & 15).astype(np.uint8)
    absent = np.flatnonzero(sectors & ~hits[at])
    at = at[absent[np.argsort(when[absent], kind="stable")]]
    rarer = _decay(part)
    chance = np.exp(-rarer * (np.arange(len(at)) + 0.5) / max(1, len(at)))
    found = at[_lots(at) >= chance]
    hits[found] |= (touched.lines[found] & 15).astype(np.uint8)


def _decay(mean: float) -> float:
    """The number c for which exp(-c x) has a mean from 0 to 1: (1 - exp(-c)) / c."""
    found = 1.0 / mean
    for _ in range(_STEPS):
        found = float(-np.expm1(-found)) / mean
    return max(0.0, found)


def _wait_for_others(touched: Touched, at: Numbers, when_asked: Ints, hits: npt.NDArray[np.uint8],
                     shares: npt.NDArray[np.float32], fetches: npt.NDArray[np.int32], when: Ints,
                     others: npt.NDArray[np.bool_],
                     closely: npt.NDArray[np.float32]) -> None:  # fmt: skip
    """Marks what this SM asks for (`at`, in the step `when_asked`) while it is only just fetched by
    another, which makes a fetch of the same step in its place (`others`), and how much of that it
    waits for."""
    for half in range(2):
        number = fetches[at, half]
        late = others[number] & (when[number] == when_asked + 1)
        bits = (touched.lines[at] & 3 << 2 * half).astype(np.uint8)
        hits[at[late]] |= bits[late] << np.uint8(4)
        shares[at[late]] = closely[number[late]]


def _replayed_loads(touched: Touched) -> tuple[Numbers, Numbers]:
    """Places of lines that loads of the replayed SM ask for, and the access that does."""
    mine = touched.is_replayed & (touched.kind == _READ)
    return chosen(touched.at, mine), chosen(touched.access, mine)


def _kinds_of_steps(at: Numbers, when: Ints, hits: npt.NDArray[np.uint8],
                    fetches: npt.NDArray[np.int32],
                    own: npt.NDArray[np.bool_]) -> tuple[int, int]:  # fmt: skip
    """In how many steps loads that are replayed ask for what another SM is only just fetching, and
    in how many for what this one alone uses, by its `own` fetches."""
    late, alone = hits[at] >> 4 > 0, own[fetches[at]].any(axis=1)
    return len(distinct(when[late])), len(distinct(when[alone]))


def _are_fresh(touched: Touched, fetches: npt.NDArray[np.int32], some: Ints, count: int,
               first: Ints, at_once: int, share: Sharing) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Which of `some` of so many fetches, each of a wave that begins with a block (`first`), are of
    lines that earlier waves have not brought; where those are not known, by lot."""
    found: npt.NDArray[np.bool_] = _lots(some) < share.fresh
    if not share.brought or not at_once:
        return found
    lines = np.zeros(count, np.int64)
    for half in range(2):
        lines[fetches[:, half]] = touched.lines >> 4
    lines = lines[some]
    wave = first // max(1, at_once)
    for turn, brought in enumerate(share.brought if at_once else (), 1):
        mine = np.flatnonzero(wave == turn)
        found[mine] = ~np.isin(lines[mine], brought)
    return found


def _are_mine(users: Ints) -> npt.NDArray[np.bool_]:
    """Which fetches accesses that are replayed ask for in the step in which they are made."""
    return _whose(users, _MINE | _NO_READ | _BEFORE, _MINE, _MINE)


def _are_of_others(users: Ints) -> npt.NDArray[np.bool_]:
    """Which fetches accesses that are replayed find, but need not make."""
    return _whose(users, _MINE | _MINE_LATER | _NO_READ | _BEFORE, _MINE_LATER, _MINE_LATER)


def _used(users: Ints) -> npt.NDArray[np.bool_]:
    """Which fetches accesses that are replayed find, or may have to make, and need DRAM."""
    return _whose(users, _MINE | _MINE_LATER | _NO_READ | _BEFORE, _MINE, _MINE | _MINE_LATER)


def _whose(users: Ints, bits: int, least: int, most: int) -> npt.NDArray[np.bool_]:
    """Which fetches have users that, of some bits, make a number in a range."""
    found = np.empty(len(users), np.bool_)
    _note_whose(users, bits, least, most, found.view(np.uint8))
    return found


@native
def _note_whose(users: Ints, bits: int, least: int, most: int,
                found: npt.NDArray[np.uint8]) -> None:  # fmt: skip
    for i in range(users.size):
        its = users[i] & bits
        found[i] = 1 if least <= its and its <= most else 0


def _kept(numbers: Ints, n_lines: int) -> Ints:
    """Those fetches at which L2 of `n_lines` still has what was brought before all of them: once it
    is full, more and more is replaced."""
    lot = _lots(numbers)
    found: Ints = numbers[lot < np.exp(-np.maximum(0.0, numbers / (2.0 * n_lines) - 1.0))]
    return found


def _with_others(share: Sharing, before: Ints, users: Ints) -> Sharing:
    """The same where others have made some fetches as they began, which are no longer the SM's: as
    many bytes come from DRAM, for those who read them as they begin."""
    part = share.part * int(_used(before).sum()) / max(1, int(_used(users).sum()))
    return replace(share, part=min(1.0, part))


def _give(hits: npt.NDArray[np.uint8], halves: npt.NDArray[np.bool_],
          touched: Touched) -> None:  # fmt: skip
    """Enters halves of lines that L2 holds: none is only just being fetched."""
    reads = np.zeros(len(hits), np.bool_)
    reads[touched.at] = touched.kind == _READ
    for half in range(2):
        mine, bits = halves[:, half], np.uint8(3 << 2 * half)
        sectors = (touched.lines & 15).astype(np.uint8) & bits
        hits[mine] |= sectors[mine]
        hits[mine & reads] &= ~(bits << np.uint8(4))


def warmed(answer: L2Answer, touched: Touched, held: tuple[Range, ...]) -> L2Answer:
    """The answer of an L2 that holds some lines before: their first fetch is made already."""
    if not held or not len(touched.context):
        return answer
    line = touched.lines >> 4
    is_held = _lots(line) < shares(line, held)
    fetches, hits, arrivals = answer.fetches, answer.hits.copy(), sparse_copy(answer.arrivals)
    halves = np.zeros(fetches.shape, np.bool_)
    for half in range(2):
        number = fetches[:, half].astype(np.int64)
        first = np.full(touched.n_lines, 1 << 62)
        used = number > 0
        np.minimum.at(first, touched.line[used], number[used])
        mine = used & is_held & (first[touched.line] == number)
        arrivals[number[mine]] = np.where(arrivals[number[mine]] < 0.0, 0.0, arrivals[number[mine]])
        halves[:, half] = mine
    _give(hits, halves, touched)
    left = 1.0 - float(is_held.mean())
    return replace(
        answer, hits=hits, arrivals=arrivals, begun=answer.begun * left,
        of_others=answer.of_others * left,
    )  # fmt: skip


def _order(touched: Touched, resident: int, step: Ints) -> Ints:
    """The accesses in the order of their steps. Among warps at the same point it is arbitrary, but
    the same in every run."""
    known = {} if touched.orders is None else touched.orders
    if resident not in known:
        key = touched.warp.astype(np.uint64)
        key <<= np.uint64(32)
        key |= touched.turns.astype(np.uint64)
        _scrambled(key)
        key >>= np.uint64(32)
        key |= step.astype(np.uint64) << np.uint64(32)
        known[resident] = _sorted(key)
    return known[resident]


def _sorted(keys: npt.NDArray[np.uint64]) -> Ints:
    """The stable order of keys that are nearly all different: several times as quick as asking for
    a stable one."""
    order = np.argsort(keys)
    ordered = taken(keys, order)
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    for first in same[np.diff(same, prepend=-2) > 1].tolist():
        last = int(np.searchsorted(ordered, ordered[first], "right"))
        order[first:last].sort()
    return order


def _of_first_wave(touched: Touched, loads: tuple[Numbers, Numbers], resident: int,
                   fetches: Numbers, count: int) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Which of so many fetches the replayed SM's first `resident` blocks use, by its `loads`."""
    at, access = loads
    found = np.zeros(count, np.bool_)
    found[fetches[at[touched.block[access] < resident]]] = True
    return found


def _by_lot(users: Ints, when: Ints, share: Sharing,
            judged: npt.NDArray[np.bool_] | None = None,
            ) -> tuple[Floats, npt.NDArray[np.bool_]]:  # fmt: skip
    """Per fetch -1 if it falls to this SM, else 0, and whether the first is likely: to one of the
    sampled SMs that use it, the more rarely the more of them do, but not to more than the SM's part
    of all. In long loops those that the same SMs make in the same step fall to the same one: to the
    SM that is ahead. `judged`: those that tell what others fetch for this SM; None: all."""
    is_mine = _are_mine(users)
    arrivals, is_likely = sparse(len(users), np.float64), np.zeros(len(users), np.bool_)
    if not is_mine.any():
        return arrivals, is_likely
    of_others = _are_of_others(users)
    n_others = np.count_nonzero(of_others)
    at = np.flatnonzero(is_mine)
    near, far = counts(users[at], share.beside)
    chance = 1.0 / np.maximum(1.0, np.maximum(near, np.where(far > 1, far * share.ratio, 1.0)))
    chance *= _factor(np.append(chance, np.zeros(n_others)), share)
    is_likely[at] = chance > _ALONE
    if judged is not None:
        of_others &= judged
        n_others = np.count_nonzero(of_others)
    if n_others and share.are_alike:  # others are as often ahead as this SM is
        mine = chance if judged is None else chance[judged[at]]
        lacking = share.part * (len(mine) + n_others) - float(mine.sum())
        of_one = min(1.0, max(0.0, lacking / n_others))
        is_likely[of_others] = of_one > _ALONE
        at = np.flatnonzero(is_mine | of_others)
        both = np.full(len(at), of_one)
        both[is_mine[at]] = chance
        chance = both
    if len(distinct(when[at])) >= LOOP:
        falls = _in_turn(users[at], when[at], chance)
    else:
        falls = _lots(at) < chance
    arrivals[at[falls]] = -1.0
    return arrivals, is_likely


def _in_turn(users: Ints, when: Ints, chance: Floats) -> npt.NDArray[np.bool_]:
    """Of fetches those that fall to this SM, if all that the same SMs make in a step fall to one of
    them, and they take turns; each for itself where these are a good part of all that fall to it,
    which would be many more or none."""
    group, of_group = np.unique(users, return_inverse=True)
    steps, step = np.unique(when, return_inverse=True)
    there, of_pair = np.unique(of_group * len(steps) + step, return_inverse=True)
    turn = np.arange(len(there)) - np.searchsorted(there // len(steps), there // len(steps))
    begin = _lots(group)
    begin, turn = begin[of_group], turn[of_pair]
    together = np.floor((turn + 1) * chance + begin) > np.floor(turn * chance + begin)
    are_many = np.bincount(of_pair)[of_pair] > _TOGETHER * float(chance.sum())
    alone = _lots(np.arange(len(users))) < chance
    found: npt.NDArray[np.bool_] = np.where(are_many, alone, together)
    return found


def _factor(chances: Floats, share: Sharing) -> float:
    """By what to multiply chances, none of which gets larger than 1, for the SM's part of all."""
    factor = share.part / float(chances.mean())
    if factor <= 1.0 or not share.is_exact:
        return min(1.0, factor)
    for _ in range(_STEPS):
        factor *= share.part / max(1e-9, float(np.minimum(1.0, chances * factor).mean()))
    return factor


def _scrambled(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers without order, always the same (the finaliser of SplitMix64), in their place."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers ^= numbers >> np.uint64(shift)
        numbers *= np.uint64(factor)
    numbers ^= numbers >> np.uint64(31)
    return numbers


def _lots(numbers: Ints) -> Floats:
    """A number from 0 to 1 for each of some."""
    drawn = _scrambled(numbers.astype(np.uint64))
    drawn >>= np.uint64(11)
    found: Floats = drawn / 2.0**53
    return found
