"""The L1 data cache: sectors of as many lines as the carve-out leaves, in sets.

A set takes lines while it has tags for them and L1 has room; then it gives up those of its own in
the order of their last use. Which set a line is in many bits of its number tell, so that a stretch
of memory fills all sets alike, while rows that lie apart meet in some (counted on an H200 for one
stretch, l1_capacity_sm90.json, and for rows of 1 to 16 blocks, rows_again_sm90.json: an array that
is a little larger than L1 keeps those sets whose share of it fits).
"""

from __future__ import annotations

from warplens.timing.state import Record, Records, stage

_LOW, _HIGH = 3, 12  # sectors of a line's halves, which come one by one
# Places that are none: of each set the ends of two rings in order of last use, of lines that are
# given up first (of accesses that are evict-first, stored_lines_sm90.json), and of all others; then
# those of the places that no line has had
_PASSING, _KEPT = 0, 1
_WARP, _ROWS = 36, 61  # local memory: bits above these tell warps, whose rows lie apart


def _masks(polynomial: int = 0b101101001) -> tuple[int, ...]:
    """Per bit of a set's number the bits of a line's number that it is the parity of: the set is
    what a polynomial leaves of the line's bits as those of another one, so that any eight that
    follow each other tell all sets apart, and rows at no pitch meet more than others. (Of the
    primitive polynomials one that comes closest to rows_again_sm90.json.)"""
    masks, left = [0] * 8, 1
    for bit in range(32):
        for i in range(8):
            masks[i] |= (left >> i & 1) << bit
        left = left << 1 ^ (polynomial if left >> 7 & 1 else 0)
    return tuple(masks)


_MASKS = _masks()


@stage
def look_up(lines: Records, line: int, passing: int) -> int:
    """The place of a line, which is now the last one used, or -1 - place of the one that a fill
    would replace."""
    place = _find(lines, line)
    if place:
        if not passing or not lines[place].kept:
            _use(lines, place, passing)
        return place
    index = _set(lines, line)
    if _may_grow(lines, index):
        return int(-1 - lines[2 * lines[0].set + 2].newer)
    head = 2 * index
    oldest = lines[head + _PASSING].newer
    return int(-1 - (oldest if oldest != head + _PASSING else lines[head + _KEPT].newer))


@stage
def _may_grow(lines: Records, index: int) -> bool:
    """Whether a set takes another line without giving one up: it has its share of L1, and beyond
    that what others have not taken, as far as its tags go."""
    held, limits = lines[2 * index].held, lines[0]
    return bool(held < limits.low_arrival or (held < limits.next and limits.high_arrival > 0))


@stage
def _grow(lines: Records, place: int, index: int) -> None:
    """Gives a set a place that no line has had."""
    if lines[2 * index].held >= lines[0].low_arrival:
        lines[0].high_arrival -= 1
    lines[2 * index].held += 1
    lines[place].set = index


@stage
def _set(lines: Records, line: int) -> int:
    """The number of a line's set."""
    low = _parity(line & _MASKS[0]) | _parity(line & _MASKS[1]) << 1
    low |= _parity(line & _MASKS[2]) << 2 | _parity(line & _MASKS[3]) << 3
    low |= _parity(line & _MASKS[4]) << 4 | _parity(line & _MASKS[5]) << 5
    low |= _parity(line & _MASKS[6]) << 6 | _parity(line & _MASKS[7]) << 7
    return int((low + (line >> _WARP) * _ROWS) & lines[0].set)


@stage
def _parity(bits: int) -> int:
    bits ^= bits >> 16
    return parity_of_byte((bits ^ bits >> 8) & 255)


@stage
def parity_of_byte(bits: int) -> int:
    """1 if an odd number of eight bits is set."""
    bits ^= bits >> 4
    return 0x6996 >> (bits & 15) & 1


@stage
def fill(lines: Records, place: int, line: int, sectors: int, passing: int,
         arrives: int) -> None:  # fmt: skip
    """Puts sectors of a line (or none, but the line) in a place, which can be used from `arrives`
    on, in another line's stead."""
    mine = lines[place]
    if mine.tag != line + 1:
        if mine.tag:
            _forget(lines, place)
        else:
            _grow(lines, place, _set(lines, line))
        bucket = _bucket(lines, line)
        mine.next = lines[bucket].first
        lines[bucket].first = place
        mine.tag = line + 1
        mine.valid = mine.low_arrival = mine.high_arrival = mine.stored = 0
        _use(lines, place, passing)
    mine.valid |= sectors
    if sectors & _LOW:
        mine.low_arrival = max(mine.low_arrival, arrives)
    if sectors & _HIGH:
        mine.high_arrival = max(mine.high_arrival, arrives)


@stage
def drop(lines: Records, line: int) -> None:
    """Loads find nothing of a line any more: so it is behind an atomic on it (counted on an H200,
    added_lines_sm90.json)."""
    place = _find(lines, line)
    if place:
        lines[place].valid = 0


@stage
def empty(lines: Records) -> None:
    """Loads find nothing any more: so it is behind what acquires for more than a block."""
    for place in range(lines.size):
        lines[place].valid = 0


@stage
def arrival(mine: Record, sectors: int) -> int:
    """When the last of some sectors of a line arrives."""
    last = 0
    if sectors & _LOW:
        last = max(last, mine.low_arrival)
    if sectors & _HIGH:
        last = max(last, mine.high_arrival)
    return last


@stage
def there(mine: Record, sectors: int, now: float) -> int:
    """Those of some sectors of a line that have arrived."""
    found = 0
    if mine.low_arrival <= now:
        found |= sectors & _LOW
    if mine.high_arrival <= now:
        found |= sectors & _HIGH
    return found


@stage
def _find(lines: Records, line: int) -> int:
    """The place of a line; 0 if it has none."""
    place = lines[_bucket(lines, line)].first
    while place and lines[place].tag != line + 1:
        place = lines[place].next
    return int(place)


@stage
def _bucket(lines: Records, line: int) -> int:
    """Where the chain of lines begins that this one is in."""
    return int((line ^ line >> 11 ^ line >> 36) % lines.size)


@stage
def _use(lines: Records, place: int, passing: int) -> None:
    """Makes a line the newest of its ring."""
    mine = lines[place]
    lines[mine.older].newer, lines[mine.newer].older = mine.newer, mine.older
    head = 2 * mine.set + (_PASSING if passing else _KEPT)
    mine.kept = 1 - passing
    mine.newer, mine.older = head, lines[head].older
    lines[mine.older].newer = place
    lines[head].older = place


@stage
def _forget(lines: Records, place: int) -> None:
    """Takes a line out of the chain of its bucket."""
    before = _bucket(lines, lines[place].tag - 1)
    if lines[before].first == place:
        lines[before].first = lines[place].next
        return
    before = lines[before].first
    while lines[before].next != place:
        before = lines[before].next
    lines[before].next = lines[place].next
