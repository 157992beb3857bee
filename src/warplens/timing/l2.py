"""The L2 cache: which accesses find their sectors, and the time of those that ask.

All SMs share L2, so what one SM finds there depends on the others. Before the cycle loop, the
accesses of all sampled blocks are put in the order in which a wave of blocks makes them and go
through one tag store of the chip's capacity (scaled to the part of the chip that was sampled). The
answer, one byte of sectors per line of each access, is what the loop looks up here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from warplens.execute.trace import KIND_SHIFT
from warplens.timing import dram
from warplens.timing.state import (
    ATOMIC,
    L2_READ,
    L2_WRITE,
    S_L2_ATOMIC,
    S_L2_READ,
    S_L2_READ_HIT,
    S_L2_REQUESTS,
    S_L2_WRITE,
    S_L2_WRITE_HIT,
    Counts,
    Ints,
    Spec,
    State,
    Trace,
)

IDEAL_L2 = 2
_WAYS = 16


@njit(cache=True)
def load(state: State, counts: Counts, spec: Spec, known: int, line: int, sectors: int,
         begin: float, local: bool) -> float:  # fmt: skip
    """When sectors that L1 asks for at `begin` arrive."""
    found = sectors if local else sectors & known
    n_found, n_missing = _bits(found), _bits(sectors & ~found)
    counts.sums[S_L2_READ] += n_found + n_missing
    counts.sums[S_L2_READ_HIT] += n_found
    counts.sums[S_L2_REQUESTS] += 1
    latency = spec.l2_far if (line ^ line >> 9) & 255 < spec.far_share else spec.l2_hit
    if spec.ideal & IDEAL_L2:
        return begin + latency
    start = max(begin, state.free[L2_READ])
    state.free[L2_READ] = start + (n_found + n_missing) * 32 / spec.l2_read_rate
    done = state.free[L2_READ] + latency
    if n_missing:
        done = max(done, dram.read(state, counts, spec, n_missing, start))
    return done


@njit(cache=True)
def store(state: State, counts: Counts, spec: Spec, known: int, sectors: int,
          begin: float) -> float:  # fmt: skip
    """When a store of so many sectors has left the SM."""
    old = min(sectors, _bits(known))
    counts.sums[S_L2_WRITE] += sectors
    counts.sums[S_L2_WRITE_HIT] += old
    counts.sums[S_L2_REQUESTS] += 1
    if spec.ideal & IDEAL_L2:
        return begin
    start = max(begin, state.free[L2_WRITE])
    state.free[L2_WRITE] = start + sectors * 32 / spec.l2_write_rate
    if sectors > old:
        dram.write(state, counts, spec, (sectors - old) * spec.dram_write_share, start)
    return state.free[L2_WRITE]


@njit(cache=True)
def atomics(state: State, counts: Counts, spec: Spec, trace: Trace, first: int, count: int,
            lanes: int, begin: float) -> float:  # fmt: skip
    """When an atomic access has its result; addresses that other SMs use too take their turn."""
    done = begin
    for i in range(count):
        n = _bits(trace.lines[first + i] & 15)
        counts.sums[S_L2_ATOMIC] += n
        counts.sums[S_L2_REQUESTS] += 1
        turn = spec.atomic_interval * n * (1.0 + (spec.sharers - 1.0) * trace.shares[first + i])
        start = max(begin, state.free[ATOMIC])
        state.free[ATOMIC] = start + turn
        missing = n - min(n, _bits(trace.hits[first + i]))
        done = max(done, start + spec.atomic_latency)
        if missing:
            done = max(done, dram.read(state, counts, spec, missing, start))
    return done


@njit(cache=True)
def _bits(mask: int) -> int:
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)


@njit(cache=True)
def _walk(accesses: Ints, lines: Ints, order: Ints, hits: npt.NDArray[np.uint8], tags: Ints,
          valid: npt.NDArray[np.uint8], used: Ints) -> tuple[int, int]:  # fmt: skip
    """Sends accesses through the tag store; returns sectors brought in and lines thrown out."""
    brought = thrown = clock = 0
    n_sets = tags.shape[0]
    for i in range(order.size):
        row = accesses[order[i]]
        first, count = row[2] >> 16, row[2] & 0xFFFF
        for j in range(first, first + count):
            line, sectors = lines[j] >> 4, lines[j] & 15
            clock += 1
            index = (line ^ line >> 11 ^ line >> 19) % n_sets
            way = -1
            victim = 0
            for w in range(tags.shape[1]):
                if tags[index, w] == line + 1:
                    way = w
                    break
                if used[index, w] < used[index, victim]:
                    victim = w
            if way < 0:
                way = victim
                thrown += tags[index, way] != 0
                tags[index, way] = line + 1
                valid[index, way] = 0
            used[index, way] = clock
            found = valid[index, way] & sectors
            hits[j] = found
            brought += _bits(sectors & ~found)
            valid[index, way] |= sectors
    return brought, thrown


class L2Answer:
    """The L2's answers for a trace: sectors found per line, contention of atomic lines."""

    def __init__(self, hits: npt.NDArray[np.uint8], shares: npt.NDArray[np.float32],
                 footprint: int, thrown: int, share_read: float) -> None:  # fmt: skip
        self.hits = hits
        self.shares = shares
        self.footprint = footprint  # bytes brought in by the sample
        self.thrown = thrown
        self.share_read = share_read


def answer(context: Ints, lines: Ints, resident: int, size_bytes: float) -> L2Answer:
    """Runs the sampled accesses through L2 in the order of waves of `resident` blocks.

    Of one wave, every block makes its first access, then every block its second, and so on.
    """
    hits = np.zeros(len(lines), np.uint8)
    shares = np.zeros(len(lines), np.float32)
    if not len(context):
        return L2Answer(hits, shares, 0, 0, 0.0)
    block = context[:, 0] >> 12
    names, position = np.unique(block, return_inverse=True)
    by_block = np.argsort(position, kind="stable")
    starts = np.searchsorted(position[by_block], np.arange(len(names)))
    ordinal = np.empty(len(block), np.int64)
    ordinal[by_block] = np.arange(len(block)) - starts[position[by_block]]
    order = np.lexsort((position, ordinal, position // max(1, resident))).astype(np.int64)
    n_sets = max(1, int(size_bytes / 128 / _WAYS))
    tags = np.zeros((n_sets, _WAYS), np.int64)
    brought, thrown = _walk(
        context, lines, order, hits, tags, np.zeros((n_sets, _WAYS), np.uint8),
        np.zeros((n_sets, _WAYS), np.int64),
    )  # fmt: skip
    _contention(context, lines, block, len(names), shares)
    kinds = context[:, 1] >> KIND_SHIFT & 7
    sectors = int(np.count_nonzero(kinds == 1))
    return L2Answer(hits, shares, 32 * int(brought), int(thrown), sectors / len(context))


def _contention(context: Ints, lines: Ints, block: Ints, n_blocks: int,
                shares: npt.NDArray[np.float32]) -> None:  # fmt: skip
    """Per line of an atomic access: the part of all blocks that touch the same line."""
    mine = np.flatnonzero(context[:, 1] >> KIND_SHIFT & 7 == 4)
    if not len(mine) or n_blocks < 2:
        return
    counts = context[mine, 2] & 0xFFFF
    first = context[mine, 2] >> 16
    index = np.repeat(first - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
    index = index + np.arange(int(counts.sum()))
    owner = np.repeat(block[mine], counts)
    pairs = np.unique(np.column_stack([lines[index] >> 4, owner]), axis=0)
    names, users = np.unique(pairs[:, 0], return_counts=True)
    part = users[np.searchsorted(names, lines[index] >> 4)] / n_blocks
    shares[index] = np.where(part * n_blocks > 1, part, 0.0)
