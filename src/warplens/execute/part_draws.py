"""Other orders of a warp's parts: whose turn it is is drawn.

So programs are found whose results depend on an order that no rule of CUDA fixes.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.run_layout import PART_ORDER
from warplens.execute.splits import Ints


@native
def drawn_lane(control: Ints, lane: int) -> int:
    """A lane drawn by the next random number; every other time the given one."""
    sign = -1 if control[PART_ORDER] < 0 else 1
    number = (sign * control[PART_ORDER] * 1103515245 + 12345) & 0x7FFFFFFF
    control[PART_ORDER] = sign * (number | 1)
    number >>= 16
    return int(lane if number & 1 != 0 else (number >> 1) & 31)
