"""Branch divergence: how likely it is, what it costs, and what masks look like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError
from warplens.models.scalars import FloatLike, Numbers, integers, numbers, plain

LANES = 32


def divergence_probability(taken: FloatLike, lanes: FloatLike = LANES) -> Numbers:
    """The probability that a warp diverges at a branch.

    Inputs: probability that one lane takes the branch, independent of the others; active lanes.
    Formula: 1 - p^n - (1 - p)^n.
    Source: complement of all lanes taking it and of none.

    >>> [round(divergence_probability(p), 3) for p in (0.1, 0.05, 0.01)]
    [0.966, 0.806, 0.275]
    >>> f"{1 - divergence_probability(0.5):.3g}"
    '4.66e-10'
    """
    p, n = numbers("taken", taken, 0, 1), numbers("lanes", lanes, 1)
    return plain(1.0 - p**n - (1.0 - p) ** n)


def path_efficiency(lanes: Sequence[int], cycles: Sequence[float], warp: int = LANES) -> float:
    """The share of useful lane-cycles while a warp executes its paths one after another.

    Inputs: lanes on each path (together at most `warp`); cycles of each path.
    Formula: sum(lanes_i * cycles_i) / (warp * sum of cycles of the paths that some lane takes).
    Source: a warp executes one path at a time, with the other lanes masked off.

    >>> [round(path_efficiency(split, (100, 1)), 4) for split in ((16, 16), (31, 1), (1, 31))]
    [0.5, 0.9595, 0.0405]
    """
    count = integers("lanes", lanes, 0)
    cost = numbers("cycles", cycles, 0)
    if count.shape != cost.shape or int(count.sum()) > warp:
        raise InputError(f"lanes {lanes!r} and cycles {cycles!r}: one pair per path, {warp} lanes")
    total = float(cost[count > 0].sum())
    return float((count * cost).sum()) / (warp * total) if total else 1.0


def expected_branch_cycles(
    taken: FloatLike, taken_cycles: FloatLike, other_cycles: FloatLike, lanes: FloatLike = LANES
) -> Numbers:
    """The mean cycles that a warp spends in an if/else.

    Inputs: probability that a lane takes the branch; cycles of either path; active lanes.
    Formula: A * (1 - (1 - p)^n) + B * (1 - p^n): a path costs its cycles if any lane takes it.
    Source: expectation over independent lanes.

    >>> round(expected_branch_cycles(0.1, 10, 4), 2)
    13.66
    """
    p, n = numbers("taken", taken, 0, 1), numbers("lanes", lanes, 1)
    first = numbers("taken_cycles", taken_cycles, 0) * (1.0 - (1.0 - p) ** n)
    return plain(first + numbers("other_cycles", other_cycles, 0) * (1.0 - p**n))


def loop_cycles(trips: npt.ArrayLike, cycles_per_trip: float = 1.0) -> float:
    """The cycles of a loop whose lanes have different trip counts.

    Inputs: trips of each lane of one warp; cycles of one trip.
    Formula: cycles_per_trip * max(trips); the mean would be paid without a warp.
    Source: a warp goes on until its last lane leaves.

    >>> loop_cycles([1, 3, 100, 2])
    100.0
    """
    return float(cycles_per_trip * integers("trips", trips, 0).max())


def simt_throughput(lanes: FloatLike, path_ops: Sequence[float], overhead: FloatLike = 0) -> float:
    """Elements per cycle of a SIMT warp that executes every path under a mask.

    Inputs: lanes; operations of each path; operations for branching and reconverging.
    Formula: lanes / (sum of path_ops + overhead), one operation per cycle for all lanes.
    Source: masked execution of all paths.

    >>> simt_throughput(32, (10, 4), 2)
    2.0
    """
    cycles = float(numbers("path_ops", path_ops, 0).sum() + numbers("overhead", overhead, 0))
    return float(numbers("lanes", lanes, 1)) / cycles


def compacted_throughput(
    lanes: FloatLike,
    path_ops: Sequence[float],
    shares: Sequence[float],
    overhead: FloatLike = 0,
) -> float:
    """Elements per cycle of SIMD code that first sorts elements by path.

    Inputs: lanes; operations of each path; the share of elements on each (together 1); operations
    per vector for sorting and merging.
    Formula: lanes / (sum of share_i * ops_i + overhead).
    Source: after compaction each element pays for its own path only.

    >>> round(compacted_throughput(8, (10, 4), (0.25, 0.75), 2), 2)
    1.07
    """
    share, ops = numbers("shares", shares, 0, 1), numbers("path_ops", path_ops, 0)
    if share.shape != ops.shape or abs(float(share.sum()) - 1.0) > 1e-9:
        raise InputError(f"shares {shares!r} must be one per path and sum to 1")
    cycles = float((share * ops).sum() + numbers("overhead", overhead, 0))
    return float(numbers("lanes", lanes, 1)) / cycles


def active_mask(active: npt.ArrayLike) -> int:
    """The 32-bit mask of a warp: bit i is lane i.

    Inputs: one truth value per lane, or the numbers of the active lanes' count from lane 0.
    Formula: sum of 2^i over active lanes.
    Source: definition.

    >>> hex(active_mask(range(32) < np.int64(16)))
    '0xffff'
    """
    flags = np.asarray(active, bool).ravel()
    if flags.size > LANES:
        raise InputError(f"a warp has {LANES} lanes, not {flags.size}")
    return int(sum(1 << int(lane) for lane in np.flatnonzero(flags)))


def warp_efficiency(active: npt.ArrayLike, warp: int = LANES) -> float:
    """Active lanes over lanes of the warps that execute.

    Inputs: one truth value per thread of a block, in linear order.
    Formula: active threads / (32 * warps with at least one active thread).
    Source: warps without an active lane skip the code; the lanes of the others are all paid for.

    >>> [warp_efficiency(reduction_activity(64, s, "interleaved")) for s in (1, 2, 32)]
    [0.5, 0.25, 0.03125]
    >>> [warp_efficiency(reduction_activity(64, s, "sequential")) for s in (32, 16, 1)]
    [1.0, 0.5, 0.03125]
    """
    flags = np.asarray(active, bool).ravel()
    warps = -(-flags.size // warp)
    padded = np.zeros(warps * warp, bool)
    padded[: flags.size] = flags
    executing = int(padded.reshape(warps, warp).any(axis=1).sum())
    return float(flags.sum()) / (warp * executing) if executing else 1.0


def reduction_activity(threads: int, step: int, scheme: str) -> npt.NDArray[np.bool_]:
    """Which threads of a block add in one step of a tree reduction.

    Inputs: threads per block; the distance of the step; "interleaved" (thread t adds if
    t % (2 * step) == 0), "packed" (thread t adds elements 2 * step * t and the one `step` after
    it) or "sequential" (thread t adds if t < step).
    Source: the three classical addressing schemes.

    >>> int(reduction_activity(8, 1, "packed").sum()), int(reduction_activity(8, 2, "packed").sum())
    (4, 2)
    """
    t = np.arange(int(integers("threads", threads, 1)))
    distance = int(integers("step", step, 1))
    if scheme == "interleaved":
        return np.asarray((t % (2 * distance) == 0) & (t + distance < threads))
    if scheme == "packed":
        return np.asarray(2 * distance * t + distance < threads)
    if scheme == "sequential":
        return np.asarray(t < distance)
    raise InputError(f"scheme {scheme!r} is not one of interleaved, packed, sequential")
