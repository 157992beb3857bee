"""The counter slots of an access site, and the columns that they add up to."""

from __future__ import annotations

SLOTS = 9  # counter slots of a site
ROWS, REQUESTS = 0, 1  # of every space: inline rows, requests
SECTORS, IDEAL_SECTORS, LINES, BYTES, SHARED_BYTES, REPEATED = 2, 3, 4, 5, 6, 7  # global, local
LOCAL_SHARED_BYTES = 8
PASSES, IDEAL, ASKED, REPEATED_BYTES, CONFLICTS, WAVEFRONTS, SAME = 2, 3, 4, 5, 6, 7, 8  # shared
AROUND, SPLIT = SAME, REPEATED  # of copies around L1: wavefronts; sectors that go to several
EXECUTED = ROWS  # of a remote site: instructions that accessed another block's memory

LOAD, STORE, ATOMIC, COMPARE = range(4)  # kinds of shared access

_REMOTE = {
    "executed": {EXECUTED: 1},
    "requests": {REQUESTS: 1},
    "bytes": {ASKED: 1, REPEATED_BYTES: -1},
}


def _shared_columns(size: int, op: str) -> dict[str, dict[int, int]]:
    """What a shared access counts: column -> slot -> weight."""
    at_row, at_same = max(1, size // 4), max(1, size // 8)
    if op == "around":
        return {
            "requests": {REQUESTS: 1},
            "passes": {PASSES: 1},
            "wavefronts": {AROUND: 1},
            "wavefronts_ideal": {AROUND: 1},
            "conflicts": {CONFLICTS: 1},
            "bytes": {ASKED: 1, REPEATED_BYTES: -1},
        }
    return {
        "requests": {ROWS: 1, SAME: 1, REQUESTS: 1},
        "passes": {ROWS: at_row, SAME: at_same, PASSES: 1},
        "wavefronts": {ROWS: at_row, SAME: at_same, WAVEFRONTS: 1},
        "wavefronts_ideal": {ROWS: at_row, SAME: at_same, IDEAL: 1},
        "conflicts": {CONFLICTS: 1},
        "bytes": {ASKED: 1, REPEATED_BYTES: -1},
    }


def _sector_columns(space: str, size: int, op: str) -> dict[str, dict[int, int]]:
    """What a global or local access counts: column -> slot -> weight."""
    columns = {
        "requests": {ROWS: 1, REQUESTS: 1},
        "sectors": {ROWS: size, SECTORS: 1},
        "lines": {ROWS: max(1, size // 4), LINES: 1},
    }
    if space == "local":
        # A wide access asks for its words one after the other.
        columns["executed"] = {REQUESTS: 1}
        columns["requests"][REQUESTS] = max(1, size // 4)
        columns["bytes"] = {BYTES: 1, LOCAL_SHARED_BYTES: -1}
        return columns
    columns["sectors_ideal"] = {ROWS: size, IDEAL_SECTORS: 1}
    columns["bytes"] = {BYTES: 1, SHARED_BYTES: -1}
    if op == "atomic":
        columns["sectors_repeated"] = {REPEATED: 1}
    if op == "around":
        columns["sectors_split"] = {SPLIT: 1}
    return columns


def columns(space: str, size: int, op: str) -> dict[str, dict[int, int]]:
    """What an access counts: column -> slot -> weight.

    `space` is "dshared" where it is another block's shared memory, `op` load, store, atomic or
    around (of an asynchronous copy around L1).
    """
    if space == "dshared":
        return _REMOTE
    return _shared_columns(size, op) if space == "shared" else _sector_columns(space, size, op)
