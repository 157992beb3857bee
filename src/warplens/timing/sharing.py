"""How much of what the sampled blocks use the rest of the chip uses, too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.execute.memory import DeviceMemory
from warplens.timing.footprints import Footprints, footprints
from warplens.timing.picking import taken
from warplens.timing.state import Floats, Ints
from warplens.timing.touched import (
    Numbers,
    Touched,
    beside_and_apart,
    distinct,
    numbered,
    users_of,
)

Flags = npt.NDArray[np.bool_]
_READ = 1
_WHOLE = 0.25  # of the lines of neighbours or of all: both halves are used, then both always are
_LEAST_WAVE = 0.5  # of a wave: so many of its blocks tell what it reads
_ROOM, _MOST_WAVES = 0.5, 16  # of L2: what SMs near both partitions use is kept in both
_LEAST_APART = 3  # SMs that are not beside each other, to tell from them what is shared
_SMS_OF_WORD = 16  # two bits of 32 for each
_PATTERN = 0.5  # of the users that lines met twice tell: if those met thrice tell fewer, the sample
# follows a pattern of the grid's


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Which part of what the chip's blocks share is seen in the sampled ones.

    Attributes:
        lines: that a wave of the sampled blocks uses; chip_lines: that the chip uses meanwhile.
        beside: SMs sampled beside each other, the replayed one first; the others are all over.
        ratio: SMs of the chip for each that is not beside others.
        part: of the lines that an SM reads, those that it has to fetch itself at most;
            is_exact: not fewer either; is_of_wave: whatever earlier waves have brought.
        fresh: of the lines that a wave reads, those that earlier waves have not brought;
            brought: the lines that the first wave has read, the first two, and so on, if known.
        are_alike: SMs read as much as each other, and bring as much of it to L2.
    """

    lines: float = 1.0
    chip_lines: float = 1.0
    beside: int = 1 << 30
    ratio: float = 1.0
    part: float = 1.0
    is_exact: bool = False
    is_of_wave: bool = False
    fresh: float = 1.0
    brought: tuple[Ints, ...] = ()
    are_alike: bool = True


@dataclass(frozen=True, slots=True)
class Arrays:
    """Per line (`of`) the number of the allocation it lies in, and how many lines each has; those
    that lie in none, or none that is known, count as one without an end."""

    of: Numbers
    sizes: Floats

    def count(self, lines: Flags) -> Floats:
        """How many of some lines there are in each."""
        return np.bincount(self.of[lines], minlength=len(self.sizes)).astype(np.float64)


def arrays_of(touched: Touched, extents: Ints | None) -> Arrays:
    """The allocations that lines lie in, from first lines and ends of all, ascending."""
    if extents is None or not len(extents):
        return Arrays(np.zeros(touched.n_lines, np.int32), np.array([np.inf]))
    number, names = touched.allocations(extents), touched.lines[touched.first] >> 4
    ends = np.append(0, extents[:, 1])
    numbers, of = numbered(np.where(names < ends[number], number, 0))
    sizes = np.append(np.inf, (extents[:, 1] - extents[:, 0]).astype(np.float64))
    return Arrays(of, sizes[numbers])


def extents_of(memory: DeviceMemory) -> Ints:
    """First lines and ends of all allocations, ascending."""
    every = [s for space in (memory, *memory.peers) for s in space.segments]
    ends = sorted((s.base >> 7, -(-(s.base + s.size) >> 7)) for s in every)
    return np.array(ends, np.int64).reshape(-1, 2)


def sharing(touched: Touched, wave: int, active_sms: int, stride: int, *, blocks: int = 0,
            size_lines: float = 0.0, extents: Ints | None = None,
            grid: tuple[int, int, int] | None = None, sampled: int = 0) -> Sharing:  # fmt: skip
    """What a wave of `wave` sampled blocks shares with the blocks of all `active_sms` SMs. Of
    `sampled` blocks (0: as many as touch any lines) some may have left at once.

    If all that the grid's `blocks` use fits into an L2 of `size_lines`, of the whole grid instead:
    lines then stay from wave to wave. `extents`: first lines and ends of the allocations, of which
    no more than all can be used. `grid`: to follow lines from block to block, see footprints.py.
    """
    names = touched.blocks
    if not len(names):
        return Sharing()
    places, place = np.unique(touched.sm_of(stride), return_inverse=True)
    every = np.ones(len(touched.user), np.bool_)
    of_wave = taken(np.arange(len(names)) < wave, touched.user)
    reads = touched.kind == _READ
    if len(places) >= active_sms:
        lines = _lines_of(touched, of_wave)
        pairs = _fetches(touched, place, reads, len(places))
        part = min(1.0, _lines_of(touched, reads) / max(1.0, pairs))
        return Sharing(lines=lines, chip_lines=lines, part=part)
    working = len(names) / max(len(names), sampled)
    blocks, active_sms = round(blocks * working), max(len(places), round(active_sms * working))
    beside, far = beside_and_apart(place, places)
    apart = len(places) - beside + 1
    ratio = active_sms / apart
    moved = footprints(touched, grid) if grid and blocks else None
    if moved:
        found = _followed(
            touched, moved, (place, beside), wave, active_sms, stride, blocks, size_lines
        )
        if found:
            return replace(found, beside=beside, ratio=ratio)
    arrays = arrays_of(touched, extents)
    of_reads, stay = np.zeros(len(arrays.sizes)), np.zeros(len(arrays.sizes), np.bool_)
    if blocks > len(names) and apart >= _LEAST_APART:

        def of_grid(among: Flags) -> Floats:
            return lines_of_grid(touched, among, arrays, wave, blocks, far)

        others = ~taken(touched.lines_of(reads), touched.used)
        of_reads = of_grid(reads)
        chip = float(max(of_grid(every).sum(), (of_reads + of_grid(others)).sum()))
        if chip <= size_lines:
            mine = _fetches(touched, place, reads, beside) / len(names)  # of a block
            return Sharing(
                lines=_lines_of(touched, every), chip_lines=chip, beside=beside, ratio=ratio,
                part=float(of_reads.sum()) / blocks / max(1.0, mine),
            )  # fmt: skip
        stay = _stay(touched, arrays, of_reads, _ROOM * size_lines)

    turn = np.arange(len(names)) // max(1, wave)

    def by_those_apart(among: Flags) -> Floats:
        """Lines that SMs that lie apart tell; how many use one all of the sampled waves tell."""
        mine = among & taken(far, touched.user)
        met = [
            users_of(touched, place, mine & taken(turn == number, touched.user))
            for number in range(min(_MOST_WAVES, int(turn[-1]) + 1))
        ]
        return extrapolated(met[0], ratio, arrays, met)

    def of_chip(among: Flags) -> float:
        first = among & of_wave
        chip = _along(touched, place, beside, first, active_sms)
        if apart >= _LEAST_APART:
            chip = min(chip, float(by_those_apart(among).sum()))
        chip = min(chip, allocated(touched, extents, first))
        return max(chip, _lines_of(touched, first))

    passing = reads & ~taken(stay[arrays.of], touched.used)
    # Blocks of an SM may have more in common in the first wave than in others.
    of_all = _fetches(touched, place + turn * len(places), reads, beside) / len(names)
    mine = of_all * min(wave, len(names)) / len(places)
    fetched = of_chip(passing) / active_sms
    if stay.any():
        fetched += float(of_reads[stay].sum()) / blocks * min(wave, len(names)) / len(places)
    return Sharing(
        lines=_lines_of(touched, of_wave), chip_lines=of_chip(every), beside=beside, ratio=ratio,
        part=min(1.0, fetched / max(1.0, mine)), is_of_wave=True,
    )  # fmt: skip


def _stay(touched: Touched, arrays: Arrays, lines: Floats, room: float) -> Flags:
    """Which arrays L2 still holds when they are used again, though not all of the grid's lines have
    room: if blocks use them alike often, one of so many `lines` comes up again after as many blocks
    as use them all once, and what these use of all arrays has room."""
    users = users_of(touched, np.arange(len(touched.blocks)), np.ones(len(touched.user), np.bool_))
    each = np.bincount(arrays.of, weights=users, minlength=len(lines)) / len(touched.blocks)
    found: Flags = lines * float(each.sum()) <= room * each
    return found & (lines > 0.0)


def _running(touched: Touched, stride: int, active_sms: int, wave: int, blocks: int) -> Ints:
    """The blocks that run at the same time as the first `wave` of the sampled ones."""
    turns = np.unique(touched.blocks[:wave] // stride)
    found: Ints = (turns[:, None] * stride + np.arange(active_sms)).ravel()
    return found[found < blocks]


def _followed(touched: Touched, moved: Footprints, placed: tuple[Ints, int], wave: int,
              active_sms: int, stride: int, blocks: int,
              size_lines: float) -> Sharing | None:  # fmt: skip
    """The same where lines follow from a block's place in the grid; None: too many to count.
    `placed`: per block its SM, and how many of these lie beside each other."""
    place, beside = placed
    every = np.arange(len(touched.blocks))
    reads = touched.kind == _READ
    # of which some may leave at once
    running = _running(touched, stride, active_sms, wave, math.prod(moved.grid))
    counted = moved.lines(running)
    if counted is None:
        return None
    lines, read = counted
    of_wave = every < wave
    mine = _fetches(touched, place, taken(of_wave, touched.user) & reads, beside)
    mine /= len(np.unique(place[of_wave]))
    seen, chip = _lines_of(touched, taken(of_wave, touched.user)), lines
    part, fresh = read / active_sms / max(1.0, mine), 1.0
    brought: tuple[Ints, ...] = ()
    if blocks > len(running):
        grid = _of_grid(moved, running, blocks)
        if grid is None:
            return None
        if grid[0] <= size_lines:
            seen, chip = _lines_of(touched, np.ones(len(touched.user), np.bool_)), grid[0]
            part = grid[1] * len(every) / blocks / max(1.0, _fetches(touched, place, reads, beside))
            fresh = _new(moved, len(running), blocks, np.inf) / max(1.0, read)
            brought = _brought(moved, len(running), int(touched.blocks[-1]))
        else:
            fresh = _new(moved, len(running), blocks, _ROOM * size_lines) / max(1.0, read)
            if lines <= size_lines:  # an SM fetches once what all of its sampled waves read
                of_all = _fetches(touched, place, reads, beside) / len(np.unique(place))
                waves = len(every) / max(1.0, float(np.count_nonzero(of_wave)))
                part = fresh * waves * read / active_sms / max(1.0, of_all)
            else:  # a wave that L2 does not hold leaves nothing to the next
                part *= fresh
    return Sharing(
        lines=seen, chip_lines=max(seen, chip), part=min(1.0, float(part)), fresh=min(1.0, fresh),
        brought=brought,
        is_exact=True,
    )  # fmt: skip


def _of_grid(moved: Footprints, running: Ints, blocks: int) -> tuple[float, float] | None:
    """Lines that a grid touches and reads: of two waves, and for each further one as many as the
    second adds."""
    n = len(running)
    second = min(n, blocks - n)
    first, both = moved.lines(np.arange(n)), moved.lines(np.arange(n + second))
    if first is None or both is None:
        return None
    waves = (blocks - n) / second
    return first[0] + (both[0] - first[0]) * waves, first[1] + (both[1] - first[1]) * waves


def _new(moved: Footprints, wave: int, blocks: int, room: float) -> float:
    """Lines that a wave reads and that the waves before it have not, as many of these as there is
    room for: of planes of a stencil, for example, which the next ones read as well. The last wave
    tells it, too, if it is not much smaller than the others."""
    read = before = 0.0
    for waves in range(1, _MOST_WAVES + 1):
        upto = min(waves * wave, blocks)
        part = (upto - (waves - 1) * wave) / wave
        found = moved.lines(np.arange(upto)) if part >= _LEAST_WAVE else None
        if found is None:
            break
        read, before = (found[1] - before) / part, found[1]
        if found[0] > room:
            break
    return read


def _brought(moved: Footprints, wave: int, last: int) -> tuple[Ints, ...]:
    """The lines that the waves before each have read, up to that of the block `last`."""
    found = []
    for begin in range(wave, min(last, _MOST_WAVES * wave) + 1, wave):
        read = moved.read(np.arange(begin))
        if read is None:
            break
        found.append(distinct(read))
    return tuple(found)


def _lines_of(touched: Touched, among: Flags) -> float:
    """Lines of some accesses."""
    return float(np.count_nonzero(touched.lines_of(among)))


def allocated(touched: Touched, extents: Ints | None, among: Flags | None = None) -> float:
    """Lines of the allocations that some accesses touch, or all; infinitely many if one lies in
    none."""
    if extents is None or not len(extents):
        return np.inf
    first = touched.first if among is None else touched.first[touched.lines_of(among)]
    lines = touched.lines[first] >> 4
    place = np.searchsorted(extents[:, 0], lines, "right") - 1
    if (place < 0).any() or (lines >= extents[place, 1]).any():
        return np.inf
    of = extents[np.unique(place)]
    return float((of[:, 1] - of[:, 0]).sum())


def _fetches(touched: Touched, place: Ints, among: Flags, beside: int) -> float:
    """Fetches of all SMs together, as many as lines if they were of whole ones: DRAM is read by
    halves of lines, and SMs that read different halves of a line do not share them. `beside`: SMs
    that lie beside each other, which tell whether both halves are used; all may tell it, too."""
    halves = np.zeros(touched.n_lines, np.uint8)
    sms = int(place.max(initial=0)) + 1
    uses = touched.used, touched.lines, touched.at, touched.user, place, among.view(np.uint8)
    words = -(-sms // _SMS_OF_WORD)
    if touched.n_lines * words <= len(touched.used):
        table = np.zeros((touched.n_lines, words), np.uint32)
        fetches = float(_mark_halves(*uses, beside, table, halves))
    else:
        seen = np.zeros(2 * sms, np.int64)
        fetches = float(_count_halves(touched.by_line, *uses, beside, seen, halves))

    def are_both(used: npt.NDArray[Any]) -> bool:
        both = (used & 3 == 3) | (used & 12 == 12)
        return bool(np.count_nonzero(both) > _WHOLE * np.count_nonzero(used))

    return fetches / (2.0 if are_both(halves & 12) or are_both(halves & 3) else 1.0)


@native
def _count_halves(order: Ints, used: Ints, lines: Ints, at: Ints, user: Ints, place: Ints,
                  among: npt.NDArray[np.uint8], beside: int, seen: Ints,
                  halves: npt.NDArray[np.uint8]) -> int:  # fmt: skip
    """Counts halves of lines, each once for each SM that uses it. `order`: uses line by line; which
    `halves` of a line are used is noted, << 2 those by the SMs `beside` each other."""
    count = 0
    for i in range(order.size):
        use = order[i]
        if among[use]:
            line, sm, sectors = used[use], place[user[use]], lines[at[use]]
            its = (1 if sectors & 3 else 0) | (2 if sectors & 12 else 0)
            halves[line] |= its | (its << 2 if sm < beside else 0)
            for half in range(2):
                if its >> half & 1 and seen[2 * sm + half] != line + 1:
                    seen[2 * sm + half] = line + 1
                    count += 1
    return count


@native
def _mark_halves(used: Ints, lines: Ints, at: Ints, user: Ints, place: Ints,
                 among: npt.NDArray[np.uint8], beside: int, seen: npt.NDArray[np.uint32],
                 halves: npt.NDArray[np.uint8]) -> int:  # fmt: skip
    """The same with two bits for each line and SM, which is quicker where they have room."""
    count = 0
    for i in range(used.size):
        if among[i]:
            line, sm, sectors = used[i], place[user[i]], lines[at[i]]
            its = (1 if sectors & 3 else 0) | (2 if sectors & 12 else 0)
            halves[line] |= its | (its << 2 if sm < beside else 0)
            word, shift = sm // _SMS_OF_WORD, 2 * (sm % _SMS_OF_WORD)
            there = np.int64(seen[line, word])
            new = its & ~(there >> shift)
            if new:
                seen[line, word] = there | new << shift
                count += (new & 1) + (new >> 1)
    return count


def _along(touched: Touched, place: Ints, beside: int, among: Flags, active_sms: int) -> float:
    """As many lines for every further SM as the second half of those beside each other adds to the
    first: what neighbours share. (Of one SM, its blocks.)"""
    mine = among & taken(place < beside, touched.user)
    unit, units, all_units = place, beside, float(active_sms)
    if beside == 1:
        unit = np.cumsum(np.bincount(touched.user[mine], minlength=len(place)) > 0) - 1
        units = int(unit[-1]) + 1
        all_units = float(active_sms * units)
    if units <= 1:  # none if those beside each other touch nothing
        return _lines_of(touched, mine) * all_units
    lines = _lines_of(touched, mine)
    before = _lines_of(touched, mine & taken(unit < units // 2, touched.user))
    return lines + (lines - before) / (units - units // 2) * (all_units - units)


def lines_of_grid(touched: Touched, among: Flags, arrays: Arrays, wave: int, blocks: int,
                  far: Flags) -> Floats:  # fmt: skip
    """Per array the lines that a grid of so many `blocks`, each of which touches any, uses in some
    of its accesses: as many as blocks that lie apart (`far`) tell, or as the sampled waves do, and
    no more than it has."""
    users = users_of(touched, np.arange(len(touched.blocks)), among & taken(far, touched.user))
    ratio = max(1.0, blocks / np.count_nonzero(far))
    found = extrapolated(users, ratio, arrays)
    found = np.maximum(found, _by_waves(touched, wave, among, blocks, arrays))
    pattern = np.where(np.isfinite(arrays.sizes), _in_pattern(users, ratio, arrays), 0.0)
    return np.minimum(np.maximum(found, pattern), arrays.sizes)


def extrapolated(users: Ints, ratio: float, arrays: Arrays,
                 met: Sequence[Ints] = ()) -> Floats:  # fmt: skip
    """Per array: from lines that one and that two of some units use (`users`: of each line) follows
    how many are used that none of them uses. One of `ratio` units is known: if each line has n
    users, there are (n - 1) / 2 / (ratio - 1) lines that are met twice for each met once, and
    (ratio - 1) / n that are not met. (Of many users that is Chao's estimator, of one as many as
    there are units.) It asks for lines that are alike, as those of an array are. `met`: users of
    lines at several times, which tell n."""
    once, twice = (
        sum(arrays.count(one == n) for one in met or (users,)) for n in (1, 2)
    )  # fmt: skip
    each = 1.0 + 2.0 * twice / np.maximum(1.0, once) * (ratio - 1.0)
    unseen = arrays.count(users == 1) * (ratio - 1.0) / each
    found: Floats = arrays.count(users > 0) + unseen
    return found


def _in_pattern(users: Ints, ratio: float, arrays: Arrays) -> Floats:
    """The same where lines met three times are so few that chance did not choose the units: pairs
    of them that share lines lie as far apart as the sampled ones. Of users that lines have, as far
    as those met twice and three times tell, not more than these; 0 where chance did choose."""
    once, twice, thrice = (arrays.count(users == n) for n in (1, 2, 3))
    pairs = np.maximum(1.0, twice)
    each = 2.0 + 3.0 * thrice / pairs * (ratio - 1.0)
    most = _PATTERN * (1.0 + 2.0 * twice / np.maximum(1.0, once) * (ratio - 1.0))
    tells = (twice > 0.0) & (once >= twice) & (each <= most)
    return np.where(tells, (once + 2.0 * twice + 3.0 * thrice) * ratio / each, 0.0)


def _by_waves(touched: Touched, wave: int, among: Flags, blocks: int, arrays: Arrays) -> Floats:
    """Lines per array of a grid of so many `blocks` by what the sampled waves have in common:
    blocks that share lines may all be of the same one. 0 if there is only one."""
    sampled = len(touched.blocks)
    waves = -(-sampled // wave)
    if waves < 2:
        return np.zeros(len(arrays.sizes))
    seen = arrays.count(touched.lines_of(among))
    users = users_of(touched, np.arange(sampled) // wave, among)
    found = extrapolated(users, blocks / sampled, arrays)
    told: Floats = seen + (found - seen) * (waves - 1) / waves  # the same estimator, of few units
    return told
