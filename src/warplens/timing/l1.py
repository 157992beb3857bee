"""The L1 data cache: sectored, set-associative lines of what the carve-out leaves."""

from __future__ import annotations

from warplens.timing.state import WAYS, Record, Records, stage

_LOW, _HIGH = 3, 12  # sectors of a line's halves, which come one by one
_KEPT = 1 << 40  # what is kept is given up behind all that is only passing


@stage
def find(sets: Records, line: int) -> Record:
    """The set of a line."""
    return sets[(line ^ line >> 7 ^ line >> 15) % sets.size]


@stage
def rank_of(now: int, passing: int) -> int:
    """The higher, the longer a line used now is kept: lines of accesses that are `passing` (evict
    first) go before all others (counted on an H200, validation/data/stored_lines_sm90.json)."""
    return now if passing else now + _KEPT


@stage
def look_up(group: Record, line: int, rank: int) -> int:
    """The way of a line, or -1 - way of the one that a fill would replace."""
    victim = 0
    for way in range(WAYS):
        if group.tag[way] == line + 1:
            group.used[way] = max(group.used[way], rank)
            return way
        if group.used[way] < group.used[victim]:
            victim = way
    return -1 - victim


@stage
def fill(group: Record, way: int, line: int, sectors: int, rank: int, arrives: int,
         written: int) -> int:  # fmt: skip
    """Puts sectors of a line (or none, but the line) in place, which can be used from `arrives` on
    and are `written` or not; returns those of another line that must go back to L2 for it."""
    back = 0
    if group.tag[way] != line + 1:
        back = int(group.dirty[way])
        group.dirty[way] = 0
        group.tag[way] = line + 1
        group.valid[way] = group.used[way] = 0
        group.low_arrival[way] = group.high_arrival[way] = 0
    group.valid[way] |= sectors
    if sectors & _LOW:
        group.low_arrival[way] = max(group.low_arrival[way], arrives)
    if sectors & _HIGH:
        group.high_arrival[way] = max(group.high_arrival[way], arrives)
    group.used[way] = max(group.used[way], rank)
    group.dirty[way] |= written
    return back


@stage
def arrival(group: Record, way: int, sectors: int) -> int:
    """When the last of some sectors of a line arrives."""
    last = 0
    if sectors & _LOW:
        last = max(last, group.low_arrival[way])
    if sectors & _HIGH:
        last = max(last, group.high_arrival[way])
    return last


@stage
def there(group: Record, way: int, sectors: int, now: float) -> int:
    """Those of some sectors of a line that have arrived."""
    found = 0
    if group.low_arrival[way] <= now:
        found |= sectors & _LOW
    if group.high_arrival[way] <= now:
        found |= sectors & _HIGH
    return found
