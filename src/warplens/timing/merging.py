"""Requests of SMs for the same line at the same time, of which L2 serves several at once.

SMs of a GPC ask L2 through one unit, which puts requests for a line together that come while the
first is on its way. Blocks that follow each other in the grid run in one GPC, as many as it has
SMs, then in the next; clusters of blocks in all GPCs in turn. Counted and timed on an H200: sectors
that L2 reads over sectors that SMs get, by who shares the boxes of tensor copies
(validation/data/copy_streams_sm90.json). Asynchronous copies of threads (`cp.async`) ask line by
line and come apart: of them neighbours' alone are put together, as counted on an H200 of products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.timing.state import Ints
from warplens.timing.touched import Touched, distinct

# opcodes that copy to shared memory: by the copy unit, and by threads
COPIED_BY, COPIED_BY_THREADS = frozenset({"UTMALDG", "UBLKCP"}), frozenset({"LDGSTS"})
_NEAR = 3  # blocks behind one that are looked at
_READ = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """Where blocks run: SMs of the chip in turn, `resident` blocks on each at a time; the SMs are
    parted into GPCs, which get clusters of `together` blocks one after another."""

    sms: int
    gpcs: int
    resident: int
    together: int = 1

    def gpc_of(self, blocks: Ints, sms: int) -> Ints:
        """Per block the GPC that runs it."""
        if self.together > 1:
            return blocks // self.together % self.gpcs
        found: Ints = blocks % sms * self.gpcs // self.sms
        return found


def merged(touched: Touched, copies: npt.NDArray[np.bool_], placing: Placing,
           another: float) -> npt.NDArray[np.float32]:  # fmt: skip
    """Per line of an access the part of L2's work that falls to it; less than 1 only for
    instructions that copy to shared memory (`copies`).

    Of n blocks of a GPC that use the same sectors of the line with the same access of a warp, all
    together take as long as 1 + (n - 1) * `another` of them.
    """
    part = np.ones(len(touched.lines), np.float32)
    mine = _copied(touched, copies)
    if not mine.any():
        return part
    sms = min(placing.sms, int(touched.blocks[-1]) + 1) if len(touched.blocks) else 1
    wave = touched.blocks // (sms * placing.resident)
    group = wave * placing.gpcs + placing.gpc_of(touched.blocks, sms)
    step = 16 * _turns(touched)[touched.access[mine]] + (touched.lines[touched.at[mine]] & 15)
    line, user = touched.used[mine], touched.user[mine]
    keys = (line * (int(step.max()) + 1) + step) * (int(group.max()) + 1) + group[user]
    _, which, users = np.unique(keys, return_inverse=True, return_counts=True)
    n = 1.0 + (users[which] - 1.0) * _unseen(group, placing, sms)[user]
    part[touched.at[mine]] = (1.0 + (n - 1.0) * another) / n
    return part


def merged_of_threads(touched: Touched, copies: npt.NDArray[np.bool_], near: float,
                      far: float) -> npt.NDArray[np.float32]:  # fmt: skip
    """The same for copies by threads.

    Each of the next three blocks that copies the line too adds `near` to the 1 that it is divided
    by; of lines that only blocks further off share, `far` is left.
    """
    part = np.ones(len(touched.lines), np.float32)
    mine = _copied(touched, copies)
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


def _copied(touched: Touched, copies: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which uses of lines are reads by `copies`."""
    context = touched.context
    if not len(context) or not copies.any():
        return np.zeros(len(touched.access), np.bool_)
    reads: npt.NDArray[np.bool_] = copies[context["instruction"]] & (context["kind"] == _READ)
    return reads[touched.access]


def _shares(blocks: Ints, pairs: Ints, line: Ints, user: Ints, step: int) -> Ints:
    """Per use of a line 1 if the block `step` further in the grid uses it, too."""
    other = np.searchsorted(blocks, blocks[user] + step)
    there = other < len(blocks)
    there &= blocks[np.minimum(other, len(blocks) - 1)] == blocks[user] + step
    key = line * len(blocks) + np.minimum(other, len(blocks) - 1)
    place = np.minimum(np.searchsorted(pairs, key), len(pairs) - 1)
    found: Ints = (there & (pairs[place] == key)).astype(np.int64)
    return found


def _turns(touched: Touched) -> Ints:
    """Per access how many its warp has made before."""
    warp, by_warp = touched.warp, touched.by_warp
    found = np.empty(len(warp), np.int64)
    ordered = warp[by_warp]
    found[by_warp] = np.arange(len(warp)) - np.searchsorted(ordered, ordered)
    return found


def _unseen(group: Ints, placing: Placing, sms: int) -> npt.NDArray[np.float64]:
    """Per block how many blocks of its GPC there are for each other one that is sampled."""
    there = np.bincount(group)[group].astype(np.float64)
    every = placing.resident * min(placing.sms / placing.gpcs, float(sms))
    return np.maximum(1.0, (every - 1.0) / np.maximum(1.0, there - 1.0))
