"""Requests of SMs for the same line at the same time, of which L2 serves several at once.

SMs of a GPC ask L2 through one unit, which puts requests for a line together that come while the
first is on its way. Blocks that follow each other in the grid run in one GPC, as many as it has
SMs, then in the next; clusters of blocks in all GPCs in turn. Counted and timed on an H200: sectors
that L2 reads over sectors that SMs get, by who shares the boxes of tensor copies
(validation/data/copy_streams_sm90.json). SMs some boxes behind each other find the more of them on
their way the less each has asked for in between (copy_lags_sm90.json). Asynchronous copies of
threads (`cp.async`) ask line by line and come apart: of them neighbours' alone are put together, as
counted on an H200 of products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.timing.picking import taken
from warplens.timing.state import Ints
from warplens.timing.touched import Touched, distinct, numbered

# opcodes that copy to shared memory: by the copy unit, and by threads
COPIED_BY, COPIED_BY_THREADS = frozenset({"UTMALDG", "UBLKCP"}), frozenset({"LDGSTS"})
_NEAR = 3  # blocks behind one that are looked at
_READ = 1
# Lines of a load up to which its requests meet those of other SMs: the more there are, the longer
# it takes to send them (sectors that L2 read over those that SMs got, tuning halves of four suites:
# 0.3 to 0.8 of loads of a line or two, 0.6 to 0.9 of 8, 0.9 to 1 of 32)
_FEW_LINES = 4.0


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
           another: float, room: int = 0) -> npt.NDArray[np.float32]:  # fmt: skip
    """Per line of an access the part of L2's work that falls to it; less than 1 only for
    instructions that copy to shared memory (`copies`).

    Of n blocks of a GPC that use the same sectors of the line with the same access of a warp, all
    together take as long as 1 + (n - 1) * `another` of them. Where others have used it with an
    earlier one, the first, too, costs less; see `_behind`. `room`: bytes of a block's shared
    memory, which holds all that is on its way.
    """
    part = np.ones(len(touched.lines), np.float32)
    mine = _reads_by(touched, copies)
    if not mine.any():
        return part
    group, sms = _groups(touched, placing)
    step = 16 * touched.turns[touched.access[mine]] + (touched.lines[touched.at[mine]] & 15)
    line, user = touched.used[mine].astype(np.int64), touched.user[mine]
    keys = (line * (int(step.max()) + 1) + step) * (int(group.max()) + 1) + group[user]
    _, some, which, users = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    n = 1.0 + (users[which] - 1.0) * _unseen(group, placing, sms)[user]
    alike = (line * 16 + (step & 15)) * (int(group.max()) + 1) + group[user]
    copied = _copied_before(touched, mine)[touched.access[mine]]
    alone = np.where(users == 1, user[some], -1)
    first = 1.0 - (1.0 - another) * _behind(alike[some], copied[some], alone, room)
    part[touched.at[mine]] = (first[which] + (n - 1.0) * another) / n
    return part


def merge_loads(part: npt.NDArray[np.float32], touched: Touched, copies: npt.NDArray[np.bool_],
                placing: Placing, another: float) -> None:  # fmt: skip
    """Multiplies by the same for loads to registers (all reads but `copies`) of the SM that is
    replayed: of those that blocks of a GPC make for the same sectors with the same access of a
    warp, each further one costs `another` of the first; the more lines the access has, the less it
    saves. (An H200 makes one of up to four requests of a GPC that come within some 100 cycles,
    put_together_sm90.json; those of many lines seldom do in whole kernels.)"""
    if another >= 1.0 or placing.gpcs < 2 or len(touched.blocks) < 2:
        return
    reads = _read_accesses(touched, ~copies)
    replayed = touched.context["entry"] == 0
    if not (reads & replayed & (touched.context["n_lines"] > 0)).any():
        return
    group, sms = _groups(touched, placing)
    # Of the others only those count that may be of the same sectors, access and group.
    some = np.empty(len(touched.used), np.int32)
    bits = np.zeros(1 << max(7, len(touched.used).bit_length() - 3), np.uint8)
    count = _find_together(
        reads.view(np.uint8), replayed.view(np.uint8),
        np.ascontiguousarray(touched.context["n_lines"]), touched.used, touched.lines, touched.at,
        touched.turns, group[touched.block], bits, some,
    )  # fmt: skip
    mine = some[:count].copy()
    del some, bits
    turn = touched.turns[touched.access[mine]]
    line = 16 * touched.used[mine].astype(np.int64) + (touched.lines[touched.at[mine]] & 15)
    user = touched.user[mine]
    together = (line * (int(turn.max()) + 1) + turn) * (int(group.max()) + 1) + group[user]
    names, together = numbered(together)
    pairs = distinct(together.astype(np.int64) * len(touched.blocks) + user)
    told = np.flatnonzero(touched.is_replayed[mine])  # others' is asked by nobody
    users = np.bincount(pairs // len(touched.blocks), minlength=len(names))[together[told]]
    mine = mine[told]
    n = 1.0 + (users - 1.0) * _unseen(group, placing, sms)[user[told]]
    lines = touched.context["n_lines"][touched.access[mine]]
    cost = 1.0 - (1.0 - another) * np.minimum(1.0, _FEW_LINES / lines)
    part[touched.at[mine]] *= ((1.0 + (n - 1.0) * cost) / n).astype(np.float32)


@native
def _find_together(reads: npt.NDArray[np.uint8], replayed: npt.NDArray[np.uint8],
                   counts: npt.NDArray[np.int16], used: Ints, lines: Ints, at: Ints, turns: Ints,
                   group: Ints, bits: npt.NDArray[np.uint8], found: Ints) -> int:  # fmt: skip
    """Reads of the replayed SM, and of others all that have the same place in a table as one of
    these: by line, sectors, turn in their warps, and group of their blocks. (The first four by
    accesses, of each of which so many uses of lines follow each other.)"""
    n = 0
    for turn in range(2):
        begin = 0
        for access in range(counts.size):
            end = begin + counts[access]
            if reads[access] and (turn or replayed[access]):
                whose = np.int64(turns[access]) * 0x85EBCA6B + group[access] * 0x27D4EB2F
                for i in range(begin, end):
                    key = np.int64(used[i] << 4 | lines[at[i]] & 15) * 0x9E3779B1 + whose
                    place = (key ^ key >> 29) & 8 * bits.size - 1
                    if turn and bits[place >> 3] >> (place & 7) & 1:
                        found[n] = i
                        n += 1
                    elif turn == 0:
                        bits[place >> 3] |= 1 << (place & 7)
            begin = end
    return n


def _groups(touched: Touched, placing: Placing) -> tuple[Ints, int]:
    """Per block the GPC and the wave in which it runs, as one number, and the SMs that run any."""
    sms = min(placing.sms, int(touched.blocks[-1]) + 1) if len(touched.blocks) else 1
    wave = touched.blocks // (sms * placing.resident)
    return wave * placing.gpcs + placing.gpc_of(touched.blocks, sms), sms


def _copied_before(touched: Touched, mine: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Per access the bytes that its block has copied before, as far as its warp tells: those of
    the warp for each warp of the block that copies."""
    sectors = np.bitwise_count(touched.lines[touched.at[mine]] & 15).astype(np.float64)
    of_access = 32.0 * np.bincount(touched.access[mine], sectors, len(touched.warp))
    ordered = of_access[touched.by_warp]
    before = np.cumsum(ordered) - ordered
    warp = touched.warp[touched.by_warp]
    found = np.empty(len(ordered))
    found[touched.by_warp] = before - before[np.searchsorted(warp, warp)]
    copying = distinct(touched.warp[of_access > 0].astype(np.int64))
    user = touched.block[touched.by_warp][np.searchsorted(warp, copying)]
    return found * np.bincount(user, minlength=len(touched.blocks))[touched.block]


def _behind(alike: Ints, copied: npt.NDArray[np.float64], alone: Ints,
            room: int) -> npt.NDArray[np.float64]:  # fmt: skip
    """Per use the part of a line's requests that find it on its way to who used it before.

    `alike` is the same for uses that can meet, `copied` what each block has copied before, `alone`
    the block if one alone uses it then. What a block has copied in between is no longer on its way
    if it is as much as it has room for; before, the part falls with the square (recorded: 0.52,
    0.24, 0.10 and 0 for 1, 2, 3 and 5 of four boxes, validation/data/copy_lags_sm90.json).
    """
    found = np.zeros(len(alike))
    order = np.lexsort((copied, alike))
    before, after = order[:-1], order[1:]
    can = alike[before] == alike[after]
    can &= (alone[before] != alone[after]) | (alone[after] < 0)
    apart = copied[after] - copied[before]
    found[after] = np.where(can, np.maximum(0.0, 1.0 - apart / max(1, room)) ** 2, 0.0)
    return found


def merge_of_threads(part: npt.NDArray[np.float32], touched: Touched,
                     copies: npt.NDArray[np.bool_], near: float, far: float) -> None:  # fmt: skip
    """Multiplies by the same for copies by threads of the SM that is replayed.

    Each of the next three blocks that copies the line too adds `near` to the 1 that it is divided
    by; of lines that only blocks further off share, `far` is left.
    """
    mine = _reads_by(touched, copies)
    mine &= taken(touched.lines_of(mine & touched.is_replayed), touched.used)
    if not mine.any():
        return
    n_blocks = len(touched.blocks)
    line, user = touched.used[mine].astype(np.int64), touched.user[mine]
    pairs = distinct(line * n_blocks + user)
    users = np.bincount(pairs // n_blocks, minlength=touched.n_lines)[line]
    together = sum(_shares(touched.blocks, pairs, line, user, step) for step in range(1, _NEAR + 1))
    beside = 1.0 / (1.0 + near * together)
    found = np.where(together > 0, beside, np.where(users > 1, far, 1.0))
    few = np.minimum(1.0, _FEW_LINES / touched.context["n_lines"][touched.access[mine]])
    part[touched.at[mine]] *= (1.0 - (1.0 - found) * few).astype(np.float32)


def _reads_by(touched: Touched, some: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which uses of lines are reads by some instructions."""
    if not some.any():
        return np.zeros(len(touched.access), np.bool_)
    return np.asarray(taken(_read_accesses(touched, some), touched.access))


def _read_accesses(touched: Touched, some: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which accesses are reads by some instructions."""
    context = touched.context
    reads: npt.NDArray[np.bool_] = some[context["instruction"]] & (context["kind"] == _READ)
    return reads


def _shares(blocks: Ints, pairs: Ints, line: Ints, user: Ints, step: int) -> Ints:
    """Per use of a line 1 if the block `step` further in the grid uses it, too."""
    other = np.searchsorted(blocks, blocks[user] + step)
    there = other < len(blocks)
    there &= blocks[np.minimum(other, len(blocks) - 1)] == blocks[user] + step
    key = line * len(blocks) + np.minimum(other, len(blocks) - 1)
    place = np.minimum(np.searchsorted(pairs, key), len(pairs) - 1)
    found: Ints = (there & (pairs[place] == key)).astype(np.int64)
    return found


def _unseen(group: Ints, placing: Placing, sms: int) -> npt.NDArray[np.float64]:
    """Per block how many blocks of its GPC there are for each other one that is sampled."""
    there = np.bincount(group)[group].astype(np.float64)
    every = placing.resident * min(placing.sms / placing.gpcs, float(sms))
    return np.maximum(1.0, (every - 1.0) / np.maximum(1.0, there - 1.0))
