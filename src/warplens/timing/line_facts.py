"""What follows for lines from who uses them and when, whatever L2 holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.timing import rows
from warplens.timing.fills import fills
from warplens.timing.joins import joins
from warplens.timing.sides import sides
from warplens.timing.state import Floats, Ints
from warplens.timing.touched import Touched


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFacts:
    """Per element of the table of lines: see rows.py, fills.py, joins.py and sides.py."""

    lots: Floats
    pieces: npt.NDArray[np.float32]
    fills: npt.NDArray[np.uint8]
    joins: npt.NDArray[np.uint8]
    sides: npt.NDArray[np.uint8]


def line_facts(touched: Touched, resident: int, stride: int, active_sms: int,
               extents: Ints | None, begin_together: bool) -> LineFacts:  # fmt: skip
    """Of blocks of which `resident` make a wave and every `stride`-th of the grid runs on the same
    SM; `active_sms`: 1 where L2 has one side; `extents`: see `sides`; `begin_together`: all blocks
    of the grid."""
    step = touched.steps(resident)
    pieces = rows.pieces(touched, begin_together)
    if active_sms > 1:
        rows.changed_in_place(touched, stride, extents, pieces)
    return LineFacts(
        lots=rows.lots(touched), pieces=pieces,
        fills=fills(touched, step, len(np.unique(touched.sm_of(stride)))), joins=joins(touched),
        sides=sides(touched, step, stride, active_sms, extents),
    )  # fmt: skip
