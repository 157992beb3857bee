"""What a loop takes at least once its rounds need no addresses of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warplens.timing.causes import without_instructions
from warplens.timing.model import Model

_LOADS = frozenset({"LD", "LDG", "LDS"})


def overlapping(model: Model, drops: Sequence[int], loops: Sequence[int]) -> Model:
    """The launch without some instructions, and without what its loops wait for their loads.

    Accesses that share an address can be issued one after the other, for as many rounds as the
    compiler unrolls: how many these are is not known, but no repair lets more of them overlap.
    """
    changed = without_instructions(model, drops)
    listed = model.question.kernel.instructions
    keep = np.ones(len(listed), bool)
    keep[list(drops)] = False
    if int(keep.sum()) != len(changed.code):
        return changed  # a block of which nothing was left keeps its last instruction
    is_in_loop = np.zeros(len(listed), bool)
    is_in_loop[list(loops)] = True
    is_load = is_in_loop & np.array([one.opcode in _LOADS for one in listed])
    code = changed.code.copy()
    scoreboards = code["write"][is_load[keep]]
    awaited = int(np.bitwise_or.reduce(1 << scoreboards[scoreboards >= 0], initial=0))
    code["wait"][is_in_loop[keep]] &= ~awaited
    changed.code = code
    return changed
