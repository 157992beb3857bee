"""What one access of a warp touches: lines and sectors, passes through banks, turns of atomics.

Compiled functions over the lanes' addresses (`addresses`, global) or offsets (`offsets`, all other
memory); of a number of lanes, those in `mask` take part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import native
from warplens.execute.native import population

_CONSTANTS = 1 << 44  # lines of constant banks, among those of memory
# above a line and its sectors: what its slice does for an atomic (see note_depths)
DEPTH_SHIFT, DEPTH_BITS = 50, 6


@native
def _add_line(lines: Any, first: int, count: int, key: int, sectors: int) -> int:
    """Joins a line with its sectors to the lines of one access; returns their new number."""
    for back in range(count):
        place = first + count - 1 - back
        known = lines[place]
        if known >> 4 == key:
            lines[place] = known | sectors
            return count
    lines[first + count] = key << 4 | sectors
    return count + 1


@native
def global_lines(addresses: Any, mask: int, size: int, lines: Any, first: int) -> int:
    """Puts the lines and sectors that lanes touch into a table; returns how many lines."""
    count = 0
    for lane in range(32):
        if mask >> lane & 1:
            address = addresses[lane]
            sector = (address >> 5) & 3
            bits = 1 << sector
            if ((address + size - 1) >> 5) & 3 != sector:
                bits |= 1 << (((address + size - 1) >> 5) & 3)
            count = _add_line(lines, first, count, address >> 7, bits)
    return count


@native
def _place_of(values: Any, n: int, value: int) -> int:
    """Where a value stands among the first n; n if it is not there."""
    at = 0
    while at < n and values[at] != value:
        at += 1
    return at


@native
def note_depths(addresses: Any, mask: int, lines: Any, first: int, count: int) -> None:
    """Adds to each line of an atomic access what its slice of L2 does one after another: the most
    lanes on a word of the line, and that of each of its sectors, summed up."""
    words, on_word = np.empty(32, np.int64), np.zeros(32, np.int64)
    n_words = 0
    for lane in range(32):
        if mask >> lane & 1:
            word = addresses[lane] >> 2
            at_word = _place_of(words, n_words, word)
            if at_word == n_words:
                words[n_words] = word
                n_words += 1
            on_word[at_word] += 1
    for i in range(count):
        line, deepest, turns = lines[first + i] >> 4, 0, 0
        for sector in range(4):
            deep = 0
            for k in range(n_words):
                if words[k] >> 5 == line and words[k] >> 3 & 3 == sector:
                    deep = max(deep, on_word[k])
            turns += deep
            deepest = max(deepest, deep)
        lines[first + i] |= (turns << DEPTH_BITS | deepest) << DEPTH_SHIFT


@native
def local_lines(offsets: Any, mask: int, size: int, lines: Any, first: int) -> int:
    """The same of local memory, where the lanes' words of one number make a line."""
    count = 0
    for lane in range(32):
        if mask >> lane & 1:
            word = offsets[lane] >> 2
            for k in range(max(1, size >> 2)):
                count = _add_line(lines, first, count, word + k, 1 << (lane >> 3))
    return count


@native
def constant_parts(offsets: Any, mask: int, bank: int, shift: int, lines: Any, first: int) -> int:
    """Parts of 1 << shift bytes of a constant bank that lanes ask for."""
    count = 0
    for lane in range(32):
        if mask >> lane & 1:
            part = offsets[lane] >> shift
            count = _add_line(lines, first, count, _CONSTANTS | bank << 12 | part, 15)
    return count


@native
def _pass_wavefronts(places: Any, mask: int, size: int, first: int, lanes: int) -> int:
    """Passes for the lanes [first, first + lanes) at some addresses or offsets: the most distinct
    words of one bank."""
    # of two groups, whose passes may be joined: words, and the number of the one before in its bank
    words, before = np.empty(64, np.int64), np.empty(64, np.int64)
    newest, counts = np.zeros(32, np.int64), np.zeros(32, np.int64)  # by bank; numbers from 1
    n = worst = 0
    for lane in range(first, first + lanes):
        if mask >> lane & 1:
            start = places[lane] >> 2
            for k in range(max(1, size >> 2)):
                word, bank = start + k, (start + k) & 31
                i = newest[bank]
                while i != 0 and words[i - 1] != word:
                    i = before[i - 1]
                if i == 0:
                    words[n], before[n] = word, newest[bank]
                    n += 1
                    newest[bank] = n
                    counts[bank] += 1
                    worst = max(worst, counts[bank])
    return worst


@native
def shared_passes(offsets: Any, mask: int, size: int, is_load: bool) -> int:
    """Passes of an access: wide ones go by groups of lanes, of which a load joins two neighbours
    where one conflict-free pass serves both (on an H200 a broadcast of 16 bytes takes two)."""
    groups = 1 if size <= 4 else size // 4
    lanes = 32 // groups
    total = 0
    for g in range(0, groups, 2):
        together = _pass_wavefronts(offsets, mask, size, g * lanes, lanes)
        if groups > 1:
            together += _pass_wavefronts(offsets, mask, size, (g + 1) * lanes, lanes)
            if is_load and together == 2:
                together = _pass_wavefronts(offsets, mask, size, g * lanes, 2 * lanes)
        total += together
    return max(1, total)


@native
def global_passes(addresses: Any, mask: int, size: int, lines: int) -> int:
    """Passes of a load of some lines through the banks of L1's data, which hold the words of a
    line; wide ones go by groups of lanes, none of which are joined (recorded on an H200)."""
    groups = 1 if size <= 4 else size // 4
    lanes, total = 32 // groups, 0
    for g in range(groups):
        if lines == 1:
            total += int(mask >> g * lanes & (1 << lanes) - 1 != 0)
        else:
            total += _pass_wavefronts(addresses, mask, size, g * lanes, lanes)
    return int(total)


@native
def first_lane(mask: int) -> int:
    """The first lane in a mask that is not empty."""
    lane = 0
    while not mask >> lane & 1:
        lane += 1
    return lane


@native
def most_lanes_on_a_word(offsets: Any, mask: int) -> int:
    """The most lanes whose offsets name one 32-bit word of shared memory."""
    words = np.empty(32, np.int64)
    counts = np.zeros(32, np.int64)
    n = worst = 0
    for lane in range(32):
        if mask >> lane & 1:
            word = offsets[lane] >> 2
            found = _place_of(words, n, word)
            if found == n:
                words[n] = word
                n += 1
            counts[found] += 1
            worst = max(worst, counts[found])
    return worst


@native
def atomic_turns(addresses: Any, mask: int) -> tuple[int, int, int]:
    """Cycles and turns in which an SM sends the atomics of a warp to L2, and the most lanes that
    use one word.

    Lanes on one word take turns, line by line; a turn with one word takes a cycle, one with several
    a cycle and one for each of the sectors that they lie in (measured, reductions_sm90.json; words
    of fewer lanes than others have no part in the last turns, scattered_adds_sm90.json: 64 words).
    """
    lines, words = np.empty(32, np.int64), np.empty(32, np.int64)
    lanes = np.zeros(32, np.int64)  # by word
    depth = np.zeros(32, np.int64)
    n_lines = n_words = 0
    for lane in range(32):
        if mask >> lane & 1:
            word = addresses[lane] >> 2
            at_line = _place_of(lines, n_lines, word >> 5)
            if at_line == n_lines:
                lines[n_lines] = word >> 5
                n_lines += 1
            at_word = _place_of(words, n_words, word)
            if at_word == n_words:
                words[n_words] = word
                n_words += 1
            lanes[at_word] += 1
            depth[at_line] = max(depth[at_line], lanes[at_word])
    cycles = turns = deep = 0
    for i in range(n_lines):
        turns += depth[i]
        for turn in range(depth[i]):
            many = sectors = 0
            for k in range(n_words):
                if words[k] >> 5 == lines[i] and lanes[k] > turn:
                    many += 1
                    sectors |= 1 << (words[k] >> 3 & 3)
            cycles += 1 + population(sectors) if many > 1 else 1
        deep = max(deep, depth[i])
    return min(63, cycles), turns, deep
