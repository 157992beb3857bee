"""What part of a block's loads waits for DRAM, where all blocks of a grid begin together.

Blocks of as many instructions do not wait as long for memory: of a matrix that is read by rows and
by columns some find what others have brought, and some bring it, or come when it is only just being
brought.
"""

from __future__ import annotations

import numpy as np

from warplens.timing.picking import chosen, taken
from warplens.timing.state import Floats
from warplens.timing.touched import Touched

_READ = 1


def fresh_reads(touched: Touched, blocks: int) -> Floats | None:
    """Per block of a grid of so many the part of its loads that ask for halves of lines which no
    warp of the grid has touched with fewer accesses behind it; None if not all were sampled."""
    if len(touched.blocks) < blocks or not len(touched.at):
        return None
    step = taken(touched.turns, touched.access)
    reads = touched.context["kind"] == _READ
    is_fresh = np.zeros(len(reads), np.bool_)
    for half in range(2):
        mine = (taken(touched.lines, touched.at) >> 2 * half & 3) > 0
        first = np.full(touched.n_lines, step.max(initial=0) + 1)
        np.minimum.at(first, chosen(touched.used, mine), chosen(step, mine))
        is_fresh[chosen(touched.access, mine & (step == taken(first, touched.used)))] = True
    count, fresh = (
        np.bincount(touched.block[one], minlength=blocks) for one in (reads, reads & is_fresh)
    )
    return np.asarray(fresh / np.maximum(1, count), np.float64)
