"""The L1 data cache: sectored, set-associative lines of what the carve-out leaves."""

from __future__ import annotations

from warplens.timing.state import WAYS, Record, Records, stage


@stage
def find(sets: Records, line: int) -> Record:
    """The set of a line."""
    return sets[(line ^ line >> 7 ^ line >> 15) % sets.size]


@stage
def look_up(group: Record, line: int, now: int) -> int:
    """The way of a line, or -1 - way of the one that a fill would replace."""
    victim = 0
    for way in range(WAYS):
        if group.tag[way] == line + 1:
            group.used[way] = now
            return way
        if group.used[way] < group.used[victim]:
            victim = way
    return -1 - victim


@stage
def fill(group: Record, way: int, line: int, sectors: int, now: int, arrives: int,
         written: int) -> int:  # fmt: skip
    """Puts sectors of a line in place, which can be used from `arrives` on and are `written` or
    not; returns those of another line that must go back to L2 for it."""
    back = 0
    if group.tag[way] != line + 1:
        back = int(group.dirty[way])
        group.dirty[way] = 0
        group.tag[way] = line + 1
        group.valid[way] = 0
        group.arrival[way] = 0
    group.valid[way] |= sectors
    group.arrival[way] = max(group.arrival[way], arrives)
    group.used[way] = now
    group.dirty[way] |= written
    return back
