"""Traces rewritten: without some instructions, or with every access of a warp side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warplens.execute.trace import BlockTrace, bytes_of, picked, warps_of
from warplens.timing.lsu import ATOMIC, GLOBAL
from warplens.timing.state import Records

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_LINE, _SECTOR = 128, 32


def without(
    trace: BlockTrace, code: Records, dropped: Sequence[int]
) -> tuple[BlockTrace, Records]:
    """The trace and the code without some instructions, as if the program did not have them.

    What a dropped instruction waited for, the next one waits for. A block of which nothing is left
    keeps its last instruction.
    """
    keep = np.ones(len(code), bool)
    keep[list(dropped)] = False
    for start, end in zip(trace.starts, trace.ends, strict=True):
        keep[end - 1] |= not keep[start:end].any()
    left = code.copy()
    for index in np.flatnonzero(~keep):
        following = index + 1
        if following < len(left):
            left["wait"][following] |= left["wait"][index]
    before = np.concatenate(([0], np.cumsum(keep)))
    stays = keep[trace.accesses["instruction"]]
    accesses = picked(trace.accesses, stays)
    accesses["instruction"] = before[accesses["instruction"]]
    counts = np.concatenate(([0], np.cumsum(stays)))
    rewritten = replace(
        trace,
        starts=before[trace.starts],
        ends=before[trace.ends],
        accesses=accesses,
        warp_accesses=counts[trace.warp_accesses],
    )
    return rewritten, np.ascontiguousarray(left[keep])


def coalesced(trace: BlockTrace) -> BlockTrace:
    """The trace as if lanes touched neighbouring addresses: as many lines as their bytes need.

    Of a warp's accesses that begin in the same line, the n-th takes the n-th of the lines that it
    touched, and all its sectors: so over time the same data is read, each line once.
    """
    context = trace.context
    if not len(context):
        return trace
    touched, size = context["n_lines"].astype(np.int64), bytes_of(context)
    needed = np.maximum(1, -(-size // _LINE))
    chosen = (touched > needed) & _is_movable(context)
    if not chosen.any():
        return trace
    old, count = context["first_line"][chosen].astype(np.int64), touched[chosen]
    n_bytes = size[chosen]
    turn = _ordinals(_numbered(warps_of(context)[chosen]) << 32 | _numbered(trace.lines[old] >> 4))
    each = needed[chosen]
    begin = np.cumsum(each) - each
    row = np.repeat(np.arange(len(each)), each)
    within = np.arange(int(each.sum())) - begin[row]
    source = old[row] + (turn[row] * each[row] + within) % count[row]
    filled = np.clip(-(-(n_bytes[row] - _LINE * within) // _SECTOR), 1, 4)
    lines = trace.lines[source] >> 4 << 4 | (1 << filled) - 1
    first = len(trace.lines) + begin
    return replace(
        trace,
        lines=np.concatenate([trace.lines, lines]),
        context=_moved(context, old, first, each, chosen),
        accesses=_moved(
            trace.accesses, old, first, each, _is_movable(trace.accesses)
        ),
    )


def _numbered(values: Ints) -> Ints:
    """Small numbers in place of values, equal for equal ones."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _ordinals(keys: Ints) -> Ints:
    """For each element, how many equal ones came before it."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    lengths = np.diff(np.concatenate((starts, [len(keys)])))
    found = np.empty(len(keys), np.int64)
    found[order] = np.arange(len(keys)) - np.repeat(starts, lengths)
    return found


def _is_movable(accesses: Records) -> Mask:
    """Accesses whose lanes could touch neighbouring addresses instead."""
    found: Mask = (accesses["space"] == GLOBAL) & (accesses["kind"] != ATOMIC)
    return found


def _moved(accesses: Records, old: Ints, new: Ints, count: Ints, chosen: Mask) -> Records:
    """Accesses, of which those chosen whose lines began at `old` point to the new ones."""
    order = np.argsort(old)
    starts = accesses["first_line"]
    at = np.minimum(np.searchsorted(old[order], starts), len(old) - 1)
    hit = (old[order][at] == starts) & chosen
    numbers = order[at[hit]]
    changed = picked(accesses, np.arange(len(accesses)))
    changed["first_line"][hit], changed["n_lines"][hit] = new[numbers], count[numbers]
    changed["passes"][hit] = 0  # as many as the sectors need
    return changed
