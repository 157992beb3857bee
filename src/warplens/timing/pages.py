"""Pages of memory: which of them a GPU can translate addresses of at once, and what others cost.

A launch whose lines lie in more pages than are held asks for translations of those that are not:
one line after another, in turn, however many loads are on their way. Which page gives its place
up is as good as drawn (recorded on an H200, validation/data/pages_sm90.json: lanes that walk
through 4 to 4,096 pages of 2 MiB, in an order in which the last used are never needed next).
"""

from __future__ import annotations

from warplens.timing.state import PAGE_LINES, PAGE_PLACES, PAGES_HELD, Record, stage


@stage
def translated(sm: Record, spec: Record, line: int, begin: float) -> float:
    """When an access to a line that begins at a time can go to L2."""
    if spec.page_cycles == 0.0:
        return begin
    page = line // PAGE_LINES
    at = page % PAGE_PLACES
    if sm.page_held[sm.page_place[at]] == page + 1:
        return begin
    sm.pages_missed += 1
    place = (sm.pages_missed * 0x9E3779B1 >> 13) % PAGES_HELD
    sm.page_held[place] = page + 1
    sm.page_place[at] = place
    start = max(begin, sm.pages_free)
    sm.pages_free = start + spec.page_cycles
    return float(start)
