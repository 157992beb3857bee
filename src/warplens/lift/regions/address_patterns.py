"""What has been found out about the addresses in registers: the writer keeps it for later accesses.

`memory/lane_rows.py`, `memory/shared_loads.py` and `memory/index_rows.py` find it and use it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class LaneRows:
    """A group of loads.

    Attributes:
        first: immediate offset of the first word read; words: how many.
        last: index of the last load.
        mask: lanes, as the code names them.
        area: number of the memory that holds the words; is_there: i1, whether it does.
    """

    first: int
    words: int
    last: int
    mask: str
    area: int
    is_there: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """How the addresses in a register lie to each other, as names of values.

    `first` is lane 0's address, `span` (i64) how many bytes from there on all lanes access, `wrap`
    which bits of the first offset must be zero, `apart` every lane's distance from the first.
    """

    first: str
    kind: str
    span: str
    wrap: str
    apart: str
    site: str


@dataclass(slots=True)
class IndexRow:
    """A row of indices and the access that goes through it.

    Attributes:
        user: number of that access; scale: bytes from one index to the next.
        row, ahead: the present row's words, and a pointer to the next row (null: not known).
    """

    user: int
    scale: int
    writes: bool
    site: str = ""
    row: str = ""
    ahead: str = ""
