"""Requests of neighbouring SMs for the same line, of which L2 serves several at once.

Blocks that follow each other in the grid run on SMs that lie beside each other. What such blocks
copy to their shared memory at about the same time leaves L2 once for several of them. Counted on an
H200: sectors that L2 reads over sectors that SMs get.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.timing.state import Ints
from warplens.timing.touched import Touched, distinct

# opcodes that copy to shared memory
COPIED_BY = frozenset({"LDGSTS", "UTMALDG", "UBLKCP"})
_NEAR = 3  # blocks behind one that are looked at
_READ = 1


def merged(touched: Touched, copies: npt.NDArray[np.bool_], near: float,
           far: float) -> npt.NDArray[np.float32]:  # fmt: skip
    """Per line of an access the part of L2's work that falls to it; less than 1 only for
    instructions that copy to shared memory (`copies`).

    Each of the next three blocks that copies the line too adds `near` to the 1 that it is divided
    by; of lines that only blocks further off share, `far` is left.
    """
    part = np.ones(len(touched.lines), np.float32)
    context = touched.context
    if not len(context) or not copies.any():
        return part
    mine = (copies[context["instruction"]] & (context["kind"] == _READ))[touched.access]
    if not mine.any():
        return part
    n_blocks = len(touched.blocks)
    line, user = touched.used[mine], touched.user[mine]
    pairs = distinct(line * n_blocks + user)
    users = np.bincount(pairs // n_blocks, minlength=touched.n_lines)[line]
    together = sum(_shares(touched.blocks, pairs, line, user, step) for step in range(1, _NEAR + 1))
    beside = 1.0 / (1.0 + near * together)
    part[touched.at[mine]] = np.where(together > 0, beside, np.where(users > 1, far, 1.0))
    return part


def _shares(blocks: Ints, pairs: Ints, line: Ints, user: Ints, step: int) -> Ints:
    """Per use of a line 1 if the block `step` further in the grid uses it, too."""
    other = np.searchsorted(blocks, blocks[user] + step)
    there = other < len(blocks)
    there &= blocks[np.minimum(other, len(blocks) - 1)] == blocks[user] + step
    key = line * len(blocks) + np.minimum(other, len(blocks) - 1)
    place = np.minimum(np.searchsorted(pairs, key), len(pairs) - 1)
    found: Ints = (there & (pairs[place] == key)).astype(np.int64)
    return found
