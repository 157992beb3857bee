"""SMs that have fewer blocks than the one that is replayed, where all blocks run at once.

What warps wait for depends on how many there are of them: of a grid that gives some SMs two blocks
and others one, neither kind of SM says it of the chip (validation/data/sources_sm90.json).
"""

from __future__ import annotations

import numpy as np

from warplens.timing.ground import Sample
from warplens.timing.question import Question
from warplens.timing.state import Ints

_IDLE = 0.1  # of the longest block's work: a block with less leaves at once


def lighter(question: Question, sample: Sample, active_sms: int) -> list[tuple[list[int], int]]:
    """Which of the replayed SM's blocks make up an SM's load, and how many SMs have it: first the
    replayed one's own. Empty where all have the same, or blocks follow each other."""
    blocks, most = question.blocks, -(-question.blocks // active_sms)
    replayed = len(sample.trace.blocks)
    if sample.windows or replayed != most or not 1 < most <= question.resident:
        return []
    working = np.ones(blocks, np.bool_)
    works = sample.works
    if works is not None and works.differ:
        if works.total != blocks:
            return []
        work = works.every[0]
        working = work > _IDLE * work.max()
    place = sample.rounds.sm_of(np.arange(blocks)) % active_sms
    loads: Ints = np.bincount(place[working], minlength=active_sms)
    mine = np.flatnonzero(working[place == sample.trace.first % active_sms])
    if len(mine) < 2 or loads.max() > len(mine):
        return []
    found = [(list(range(replayed)), int((loads == len(mine)).sum()))]
    for load in range(len(mine) - 1, 0, -1):
        if sms := int((loads == load).sum()):
            found.append((mine[:load].tolist(), sms))
    return found if len(found) > 1 else []
