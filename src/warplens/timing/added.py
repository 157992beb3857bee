"""What L2 writes back of lines that atomics change, all over memory."""

from __future__ import annotations

import numpy as np

from warplens.timing.sharing import allocated, extrapolated
from warplens.timing.state import Ints
from warplens.timing.touched import Touched, distinct

_ATOMIC = 4
_SECTORS = 4  # of a line


def written_back(touched: Touched, room: float, blocks: int, extents: Ints | None) -> float:
    """Sectors that L2 writes back for each that an atomic of the grid's `blocks` changes.

    L2 keeps so many changed lines at most (`room`), and then writes one back for each that changes
    anew. So of F lines that blocks come to in any order a block finds the part room / F changed
    already, and those that come until a line is written back change random sectors of it; of lines
    that one block alone comes to, each is written once (validation/data/scattered_adds_sm90.json).
    """
    mine = (touched.context["kind"] == _ATOMIC)[touched.access]
    if not mine.any():
        return 0.0
    n_blocks = len(touched.blocks)
    ratio = max(1.0, blocks / n_blocks)
    lines = extrapolated(touched, np.arange(n_blocks), mine, ratio)
    lines = min(lines, allocated(touched, extents, mine))
    if lines <= room:
        return 0.0
    masks = touched.lines[touched.at[mine]] & 15
    visit = touched.used[mine] * n_blocks + touched.user[mine]
    visits = len(distinct(visit))
    each = sum(len(distinct(visit[masks >> bit & 1 > 0])) for bit in range(_SECTORS)) / visits
    changes = float(np.bitwise_count(masks).sum()) * ratio
    written = max(lines, visits * ratio * (1.0 - room / lines))  # lines, whenever they change anew
    part = each / _SECTORS
    others = visits * ratio / written - 1.0
    together = _SECTORS * (1.0 - (1.0 - part) * np.exp(-others * part))
    return max(0.0, written - room) * float(together) / changes
