"""Who waits for whom in L2: blocks and warps whose atomics and stores meet in slices and words."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.sorting import sorted_by
from warplens.timing.picking import chosen, taken
from warplens.timing.state import SLICE_LINES, Floats, Ints
from warplens.timing.touched import (
    Numbers,
    Touched,
    different,
    distinct,
    numbered,
    numbers_of,
    ranks,
    times_of,
    users_of,
    which_of,
)

_WRITE, _ATOMIC = 2, 4
# Of the blocks, from which they wait for each other that store to a line; up to so many such lines
# stores go from one line's slice to the next one's (32 lines do, same_words_sm90.json)
_POPULAR, _FEW_POPULAR = 0.3, 32
# Of further lines those that blocks of all so many parts of the grid store to, of which up to so
# many still keep the busiest slice longer than all together (the same recording: 1,024 lines take
# 1.7 times what stores of single sectors take elsewhere)
_PARTS, _MANY_POPULAR = 4, 1024
_SURELY_SHARED = 3.5  # blocks of the sample
_STEPS_APART = 2  # of warps' atomics: so close they may meet
_SECTOR_BYTES, _SCATTERED = 32, 4  # lines of an atomic whose lanes go anywhere
# Slices among which atomics are spread beside the most popular lines of one of them: so many, but
# fewer the more it happens that pairs of lines share one. Of so few and so many pairs it does not,
# of those between it does (scattered_adds_sm90.json: times are those of 96 slices, the busiest of
# which has one of 16 pairs, 1 to 2 of 32, 2 of 64, 2 to 4 of 128, 4 to 6 of 256, but 6 of 512 and
# 22 of 2,048)
_SLICES, _FEWER_SLICES = 76.0, 23.0
_APART, _MEETING, _STILL_MEETING, _EVEN = 16.0, 64.0, 256.0, 512.0
# The same of stores (same_words_sm90.json: 32 to 1,024 lines)
_STORED_SLICES = 48.0
# Stores of a block to a line, and blocks of the sample that store to it: of 128 blocks that do so
# behind each barrier a slice is slow (waves_sm90.json); of four that write some bytes each no
# slice is (cpy_f32_q8_0 of a public suite)
_AGAIN, _MANY_BLOCKS = 8.0, 8
_MEET = 2.0  # blocks of a wave in each of the slices that they use, if these are all there are
_AT_A_TIME = 1 << 18  # numbers that are made to be added up
_LINES = 0.57  # L2 takes the longer for each of several lines that warps contend for: power


def contention(touched: Touched, resident: int, shares: npt.NDArray[np.float32],
               passes: npt.NDArray[np.float32], at_once: Ints) -> None:  # fmt: skip
    """Per line of an atomic access of the replayed SM: the part of all blocks that touch the same
    slice's lines (of stores too, see `_same_stores`), the same line, and the same sectors of it in
    the same steps, below 0 for lanes that have words of their own there; the atomics of its warp,
    and how much longer one takes for the lines that are used at the same time. So many of the
    sampled blocks are `resident` together. `passes` is told of atomics and of such stores only."""
    n_blocks = len(touched.blocks)
    if n_blocks > 1:
        _same_stores(touched, resident, shares, passes)
    mine = touched.kind == _ATOMIC
    told = np.flatnonzero(touched.is_replayed[mine])  # others' is asked by nobody
    if not len(told):
        return
    every = bool(mine.all())
    at, access = (one if every else chosen(one, mine) for one in (touched.at, touched.access))
    names, line = numbered(touched.used if every else chosen(touched.used, mine))
    slices = numbered(sharing_slices(touched.lines[touched.first[names]] >> 4))[1]
    del mine, names
    group, mine_at = taken(slices, line), at[told]
    passes[mine_at] = 1.0
    user = taken(touched.block, access)
    passes[mine_at, 5] = _busiest_at_once(group, user, resident, told, _busiest_slice)
    passes[mine_at, 6] = _in_a_row(touched.lines, at, group)
    del user
    is_atomic = touched.context["kind"] == _ATOMIC
    warp_of = np.zeros(len(is_atomic), np.int32)
    warp_of[is_atomic] = numbered(touched.warp[is_atomic])[1]
    # What one warp does follows from its own atomics.
    mine_warp = warp_of[access[told]]
    own = np.flatnonzero(taken(which_of(mine_warp, int(warp_of.max()) + 1)[warp_of], access))
    warp = warp_of[access[own]]
    visited = np.maximum(1.0, _visited(access[own], warp, line[own])[mine_warp])
    passes[mine_at, 0] = np.sqrt(visited)
    some = _Atomics(mine_at, access, warp_of, line, _steps(touched, is_atomic), told)
    in_turn = _in_turn(touched, is_atomic)
    del at, group  # no room is taken for them meanwhile
    _exchanged(touched, passes, at_once, some, in_turn)
    if n_blocks < 2:
        return
    group = taken(slices, line)
    part = in_turn.different(group, touched.block)[group[told]] / n_blocks
    shares[mine_at] = np.where(part * n_blocks > 1, part, 0.0)
    part = in_turn.different(line, touched.block)[line[told]] / n_blocks
    passes[mine_at, 4] = np.where(part * n_blocks > 1, part, 0.0)
    walked = _walked(touched, access[own], warp, line[own], group[own])
    passes[mine_at, 2] = walked[np.searchsorted(own, told)]


class _Atomics(NamedTuple):
    """Per line of an atomic access the access and its line's number; per access the number of its
    warp, and of its step; which lines of accesses are of the replayed SM, and their places in the
    table of lines."""

    at: Numbers
    access: Numbers
    warp_of: Numbers
    line: Numbers
    step_of: Numbers
    told: Ints


class _InTurn(NamedTuple):
    """Atomic accesses warp by warp, and so block by block; per access where its lines begin among
    those of all atomics, and end."""

    accesses: Numbers
    begins: Numbers
    ends: Numbers

    def different(self, group: Numbers, item_of: Numbers) -> Numbers:
        """How many different items, warps or blocks by their accesses, each group has."""
        found, last = np.zeros((2, int(group.max()) + 1), np.int32)
        _count_different(*self, group, item_of, last, found)
        return found


def _in_turn(touched: Touched, is_atomic: npt.NDArray[np.bool_]) -> _InTurn:
    counts = np.where(is_atomic, touched.context["n_lines"], 0)
    ends = np.cumsum(counts, dtype=np.int32)
    return _InTurn(touched.by_warp[is_atomic[touched.by_warp]], ends - counts, ends)


@native
def _count_different(accesses: Numbers, begins: Numbers, ends: Numbers, group: Numbers,
                     item_of: Numbers, last: Numbers, found: Numbers) -> None:  # fmt: skip
    """Counts for its group what is of another item than the one before it there."""
    for i in range(accesses.size):
        access = accesses[i]
        its = item_of[access] + 1
        for j in range(begins[access], ends[access]):
            if last[group[j]] != its:
                last[group[j]] = its
                found[group[j]] += 1


def _exchanged(touched: Touched, passes: npt.NDArray[np.float32], at_once: Ints,
               atomics: _Atomics, in_turn: _InTurn) -> None:  # fmt: skip
    """The same of what loops of compare and exchange need: who meets at the same words."""
    n_blocks = len(touched.blocks)
    access, line, told = atomics.access, atomics.line, atomics.told
    mine_at, mine = atomics.at, access[told]
    # What two or three blocks touch may just happen to be the same of many: all of it is shared as
    # often as that happens. Warps that come to the same place in other steps do not meet there.
    meeting = _meetings(touched, atomics)
    met = meeting[told]
    warps = in_turn.different(meeting, atomics.warp_of)[met]
    blocks = in_turn.different(meeting, touched.block)
    is_rare = blocks / n_blocks * n_blocks < min(_SURELY_SHARED, n_blocks)
    by_chance = taken(is_rare, meeting)
    others = _part_of_others(chosen(meeting, by_chance), blocks, n_blocks)
    part = blocks[met] / n_blocks
    meet = np.where(by_chance[told], others, part * (warps / blocks[met]))
    del is_rare, blocks
    meet *= n_blocks / touched.sampled  # the others touch nothing at all
    # Lanes that scatter over lines have words of their own in each sector, four or eight of them
    words = _SECTOR_BYTES // np.maximum(1, touched.context["size"])[mine]
    scatter = (touched.context["n_lines"] >= _SCATTERED)[mine]
    passes[mine_at, 3] = np.where(scatter, -meet / words, meet)
    for column, lines in ((1, line[~by_chance]), (9, line)):
        among = np.maximum(1.0, _evenly_used(lines) / passes[mine_at, 0] ** 2)
        passes[mine_at, column] = among**_LINES
    del by_chance, lines
    unit_of = numbered(at_once)[1][touched.block]
    units = int(unit_of.max(initial=0)) + 1
    asked = meeting[told].astype(np.int64) * units + unit_of[mine]
    keys, warp = _beside(access, meeting, unit_of, which_of(unit_of[mine], units),
                         atomics.warp_of)  # fmt: skip
    names, beside = numbered(keys)
    del keys
    passes[mine_at, 7] = different(beside, warp)[np.searchsorted(names, asked)]
    passes[mine_at, 8] = _changing(touched, access, line)[line[told]]


def _part_of_others(rare: Numbers, blocks: Numbers, n_blocks: int) -> float:
    """What part of all `blocks` beside one meet at some places, in the mean; 0 of no places."""
    total = _sum_of(lambda at: blocks[rare[at]] / n_blocks - 1.0 / n_blocks, len(rare))
    return total / max(1, len(rare))


def _sum_of(values: Callable[[slice], Floats], count: int, begin: int = 0) -> float:
    """The sum of so many values, of which there are never many at a time: added up in the order in
    which NumPy adds up all of them."""
    if count <= _AT_A_TIME:
        return float(np.add.reduce(values(slice(begin, begin + count))))
    half = count // 2 - count // 2 % 8
    return _sum_of(values, half, begin) + _sum_of(values, count - half, begin + half)


def _meetings(touched: Touched, atomics: _Atomics) -> Numbers:
    """Per line of an atomic access a number for where it goes, and in which step: the word, if all
    lanes use one, else the line's sectors."""
    made, step_of = touched.context, atomics.step_of
    one = made["lanes_on_a_word"] == made["lanes"]
    word_of = np.where(one, made["words"].astype(np.int32) + 1, 0).astype(np.int32)
    places = np.empty(len(atomics.access), np.int64)
    _note_places(touched.kind, touched.at, touched.access, touched.lines, word_of, places)
    place = numbers_of(places)
    _note_steps(place, atomics.access, step_of, int(step_of.max()) + 1, places)
    del place
    return numbers_of(places)


@native
def _note_places(kind: npt.NDArray[np.uint8], at: Numbers, access: Numbers, lines: Ints,
                 word_of: Numbers, places: Ints) -> None:  # fmt: skip
    n = 0
    for i in range(at.size):
        if kind[i] == _ATOMIC:
            places[n] = lines[at[i]] << 6 | word_of[access[i]]
            n += 1


@native
def _note_steps(place: Numbers, access: Numbers, step_of: Numbers, steps: int,
                places: Ints) -> None:  # fmt: skip
    for i in range(place.size):
        places[i] = np.int64(place[i]) * steps + step_of[access[i]]


def _beside(access: Numbers, meeting: Numbers, unit_of: Numbers,
            wanted: npt.NDArray[np.bool_], warp_of: Numbers) -> tuple[Ints, Numbers]:  # fmt: skip
    """Of uses by wanted units (of accesses) a number for where they meet and the unit, and their
    warps."""
    count = _count_wanted(access, unit_of, wanted.view(np.uint8))
    keys, warp = np.empty(count, np.int64), np.empty(count, np.int32)
    _note_beside(access, meeting, unit_of, wanted.view(np.uint8), warp_of, len(wanted), keys, warp)
    return keys, warp


@native
def _count_wanted(access: Numbers, unit_of: Numbers, wanted: npt.NDArray[np.uint8]) -> int:
    n = 0
    for i in range(access.size):
        n += wanted[unit_of[access[i]]]
    return n


@native
def _note_beside(access: Numbers, meeting: Numbers, unit_of: Numbers,
                 wanted: npt.NDArray[np.uint8], warp_of: Numbers, units: int, keys: Ints,
                 warp: Numbers) -> None:  # fmt: skip
    n = 0
    for i in range(access.size):
        unit = unit_of[access[i]]
        if wanted[unit]:
            keys[n] = np.int64(meeting[i]) * units + unit
            warp[n] = warp_of[access[i]]
            n += 1


def sharing_slices(lines: Ints) -> Ints:
    """Numbers that lines have in common which lie in one slice of L2, see SLICE_LINES."""
    found: Ints = lines // (4 * SLICE_LINES) * 2 + (lines // SLICE_LINES & 1)
    return found


def _in_a_row(lines: Ints, at: Numbers, slices: Ints) -> float:
    """Of accesses to lines (<< 4 sectors, at their places) in the most popular slice (`slices`:
    their numbers), by all of them, the part that meets a sector which the one before has met, too.
    """
    lines = lines[at[slices == times_of(slices).argmax()]]
    met = np.concatenate([(lines >> 4 << 2 | bit)[lines >> bit & 1 > 0] for bit in range(4)])
    counts = np.bincount(numbered(met)[1])
    again = float((counts * (counts - 1)).sum()) / max(1, len(lines) * (len(lines) - 1))
    return min(1.0, again) * len(lines) / len(slices)


def _same_stores(touched: Touched, resident: int, shares: npt.NDArray[np.float32],
                 passes: npt.NDArray[np.float32]) -> None:  # fmt: skip
    """Of stores to a few lines that many blocks store to, the part of all blocks that touch the
    same slice's; of stores to more lines that blocks all over the grid store to, what the busiest
    slice gets of all of them."""
    n_blocks = len(touched.blocks)
    stores = touched.kind == _WRITE
    # No more blocks than stores come to a line: most need not be looked at.
    times = times_of(chosen(touched.used, stores), touched.n_lines)
    some = stores & taken(times >= min(_PARTS, _POPULAR * n_blocks), touched.used)
    if not some.any():
        return
    often = users_of(touched, np.arange(n_blocks), some) >= _POPULAR * n_blocks
    if 0 < np.count_nonzero(often) <= _FEW_POPULAR:
        mine = stores & taken(often, touched.used)
        stored = touched.at[mine]
        number = numbered(sharing_slices(touched.lines[stored] >> 4))[1]
        part = different(number, touched.user[mine])[number] / n_blocks
        shares[stored] = np.where(part >= _POPULAR, part, 0.0)
        passes[stored, 5] = 1.0
        return
    everywhere = users_of(touched, _PARTS * np.arange(n_blocks) // n_blocks, some) == _PARTS
    if 0 < np.count_nonzero(everywhere) <= _MANY_POPULAR:
        stored = touched.at[stores & taken(everywhere, touched.used)]
        shares[stored] = 1.0
        busiest = _busiest(numbered(sharing_slices(touched.lines[stored] >> 4))[1])
        passes[stored, 5] = min(1.0, busiest + 1.0 / _STORED_SLICES)
    elif n_blocks > resident:
        _stores_of_waves(touched, resident, some, shares, passes)


def _stores_of_waves(touched: Touched, resident: int, stores: npt.NDArray[np.bool_],
                     shares: npt.NDArray[np.float32],
                     passes: npt.NDArray[np.float32]) -> None:  # fmt: skip
    """The same of lines that many blocks of a wave store to, time after time, below 0."""
    stored, user = chosen(touched.at, stores), chosen(touched.user, stores)
    line = numbered(chosen(touched.used, stores))[1]
    blocks = different(line, user)
    often = (blocks >= _MANY_BLOCKS)[line] & (np.bincount(line) >= _AGAIN * blocks)[line]
    if not often.any():
        return
    among = stores.copy()
    among[stores] = often
    stored = stored[often]
    shares[stored] = -1.0
    group = numbered(sharing_slices(touched.lines[stored] >> 4))[1]
    told = np.flatnonzero(touched.is_replayed[among])
    part = _busiest_at_once(group, touched.user[among], resident, told, _busiest)
    passes[stored[told], 5] = np.minimum(1.0, part + 1.0 / _STORED_SLICES)


def _busiest_at_once(group: Ints, user: Ints, resident: int, told: Ints,
                     part_of: Callable[[Ints], float]) -> Floats:  # fmt: skip
    """Per line of an access that is asked for (`told`) the part of all beside it that the busiest
    slice gets (`part_of` accesses by the numbers of their slices), of those in its wave of blocks
    and of those in waves that begin half a wave later: blocks that come one after the other may add
    to places that do, so that few slices have all to do at a time. Where a wave's blocks do not
    meet in slices it is what it is in the whole grid."""
    whole, asked = part_of(group), user[told]
    found: Floats = np.full((2, len(told)), whole)
    if user.max() >= resident:
        if (np.diff(user) < 0).any():
            order = sorted_by(user, int(user.max()) + 1)
            group, user = group[order], user[order]
        for later, begin in enumerate((0, resident // 2)):
            wave = (asked - begin) // max(1, resident)  # below 0: as of the first wave
            for number in distinct(wave[wave >= 0]).tolist():
                ends = begin + max(1, resident) * np.array((number, number + 1))
                first, last = np.searchsorted(user, ends.astype(user.dtype))
                slices = numbered(group[first:last])[1]
                blocks = user[first:last] - user[first]
                in_turn = np.arange(last - first, dtype=np.int32)
                if different(slices, blocks, in_turn).mean() >= _MEET:
                    found[later:, wave == number] = max(whole, part_of(slices))
    return np.asarray(found.mean(axis=0))


def _busiest(places: Ints) -> float:
    """The part of all accesses that the most popular of some places, numbered, gets, as far as that
    is not by chance."""
    counts = times_of(places)
    most = float(counts.max())
    return float(max(1.0 / len(counts), (most - 2.0 * most**0.5) / len(places)))


def _busiest_slice(slices: Ints) -> float:
    """The part of all atomics that the busiest slice gets: that of its most popular lines, and what
    else falls to it; `slices`: numbers that pairs of lines which share a slice have in common."""
    counts = times_of(slices).astype(np.float64)
    total, again = float(len(slices)), float((counts * (counts - 1.0)).sum())
    used = total * (total - 1.0) / again if again else _EVEN  # as many as are used alike often
    more, less = (used - _APART) / (_MEETING - _APART), (_EVEN - used) / (_EVEN - _STILL_MEETING)
    fewer = _FEWER_SLICES * max(0.0, min(1.0, more, less))
    return _busiest(slices) + 1.0 / (_SLICES - fewer)


def _visited(access: Ints, warp: Ints, line: Ints) -> Floats:
    """Per warp how many of its atomics are elsewhere than those before; per use of a line, one
    access after the other, all are numbered."""
    times = np.bincount(warp[_begins(access)])
    return np.asarray(times * different(warp, line) / np.maximum(1, np.bincount(warp)))


def _steps(touched: Touched, is_atomic: npt.NDArray[np.bool_]) -> Ints:
    """Per atomic access how many its warp has made before that touch anything, in steps of some."""
    some = is_atomic & (touched.context["n_lines"] > 0)
    return ranks(touched.warp, touched.by_warp[some[touched.by_warp]]) // np.int32(_STEPS_APART)


def _evenly_used(lines: Ints) -> float:
    """As how many lines that are used alike often some lines count, by their numbers: those count
    less that are used less often than others."""
    counts = times_of(lines).astype(np.float64)
    return float(counts.sum() ** 2 / max(1.0, (counts * counts).sum()))


def _changing(touched: Touched, access: Ints, line: Ints) -> Floats:
    """Per line the part of all atomic accesses to it that can have changed a word.
    Of lanes that exchange one word in a loop all but one try again; where none does, each has left
    the word as it was (a sum of halves that a small number does not change)."""
    accesses = access[_begins(access)]
    made = touched.context[accesses]
    order = np.argsort(touched.warp[accesses], kind="stable")
    before, after = order[:-1], order[1:]
    again = made["instruction"][before] == made["instruction"][after]
    again &= touched.warp[accesses[before]] == touched.warp[accesses[after]]
    again &= made["lanes"][after] < made["lanes"][before]
    changing = made["lanes_on_a_word"] <= 1
    changing[before[again]] = True
    of_access = np.zeros(len(touched.context), np.uint8)
    of_access[accesses] = changing
    all_uses = times_of(line)
    changed = np.zeros(len(all_uses), np.int64)
    _count_changes(access, line, of_access, changed)
    return np.asarray(changed / np.maximum(1, all_uses))


@native
def _count_changes(access: Numbers, line: Numbers, changing: npt.NDArray[np.uint8],
                   changed: Ints) -> None:  # fmt: skip
    for i in range(access.size):
        changed[line[i]] += changing[access[i]]


def _begins(access: Numbers) -> npt.NDArray[np.bool_]:
    """Which uses of lines, access by access, are the first of theirs."""
    found = np.ones(len(access), np.bool_)
    np.not_equal(access[1:], access[:-1], out=found[1:])
    return found


def _walked(touched: Touched, access: Ints, warp: Ints, line: Ints, group: Ints) -> Floats:
    """Per line of an atomic access how many slices serve the lines that its warp's atomics walk
    through, one at a time: the root of how many these are, but as many as an atomic and the one
    behind it ask; 1 if most of them use several lines at a time, and for those that do. `warp`:
    numbered without gaps; `group`: numbers of what lies in one slice."""
    walked = different(warp, line)
    found = np.maximum(np.sqrt(walked), _alternating(warp, group))[warp]
    has_several = (touched.context["n_lines"] != 1)[access]
    several = np.bincount(warp[has_several & _begins(access)], minlength=len(walked))
    mostly = 2 * several > np.bincount(warp[_begins(access)], minlength=len(walked))
    found[mostly[warp] | has_several] = 1.0
    return found


def _alternating(warp: Ints, group: Ints) -> Floats:
    """Per warp how many slices of L2, by the groups of lines that lie in one, an atomic and the one
    behind it ask in the mean."""
    order = sorted_by(warp, int(warp.max()) + 1)
    warps, groups = warp[order], group[order]
    changes = (np.diff(groups) != 0) & (np.diff(warps) == 0)
    return 1.0 + np.bincount(warps[1:][changes], minlength=int(warp.max()) + 1) / np.maximum(
        1, np.bincount(warp) - 1
    )
