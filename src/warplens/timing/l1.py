"""The L1 data cache: sectors of as many lines as the carve-out leaves, in eight parts, any line of
a part in any of its places.

A kernel's rows find room there however their addresses lie to each other. Lines are given up in the
order of their last use, so of an array larger than a part's share nothing is found again in it;
parts are of unlike size, as what of arrays an H200 finds again falls from all to nothing between 8
KiB less than L1 and 40 more (validation/data/l1_capacity_sm90.json).
"""

from __future__ import annotations

from warplens.timing.state import Record, Records, stage

_LOW, _HIGH = 3, 12  # sectors of a line's halves, which come one by one
# Places that are none: of each part the ends of two rings in order of last use, of lines that are
# given up first (of accesses that are evict-first, stored_lines_sm90.json), and of all others
_PASSING, _KEPT = 0, 1


@stage
def look_up(lines: Records, line: int, passing: int) -> int:
    """The place of a line, which is now the last one used, or -1 - place of the one that a fill
    would replace."""
    place = _find(lines, line)
    if place:
        if not passing or not lines[place].kept:
            _use(lines, place, passing)
        return place
    head = 2 * ((line ^ line >> 3 ^ line >> 6 ^ line >> 9 ^ line >> 14) & lines[0].part)
    oldest = lines[head + _PASSING].newer
    return int(-1 - (oldest if oldest != head + _PASSING else lines[head + _KEPT].newer))


@stage
def fill(lines: Records, place: int, line: int, sectors: int, passing: int,
         arrives: int) -> None:  # fmt: skip
    """Puts sectors of a line (or none, but the line) in a place, which can be used from `arrives`
    on, in another line's stead."""
    mine = lines[place]
    if mine.tag != line + 1:
        if mine.tag:
            _forget(lines, place)
        bucket = _bucket(lines, line)
        mine.next = lines[bucket].first
        lines[bucket].first = place
        mine.tag = line + 1
        mine.valid = mine.low_arrival = mine.high_arrival = 0
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
    head = 2 * mine.part + (_PASSING if passing else _KEPT)
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
