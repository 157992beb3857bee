"""Operands and results of a lane in the warp's scratch area, and why an access is refused."""

from __future__ import annotations

from typing import Any

from warplens.compiled import native
from warplens.execute.native import peek32, poke32
from warplens.lift import layout as at

NO_OBJECT, OTHER_USE, OTHER_SHAPE, NO_FILTER, NO_LEVELS, NO_CUBE, ODD_PLACE = range(7)
NO_LAYERS, NO_WORD, NO_GRADIENT = 10, 11, 12


@native
def word(warp: int, slot: int, lane: int) -> int:
    """An operand of a lane."""
    return int(peek32(warp + at.WARP_SCRATCH + 128 * slot + 4 * lane))


@native
def give(warp: int, component: int, lane: int, bits: int) -> None:
    """A result of a lane."""
    poke32(warp + at.WARP_SCRATCH + 128 * (at.UNIT_RESULTS + component) + 4 * lane, bits)


@native
def refuse(slots: Any, kind: int, inst: int, lane: int, handle: int, reason: int) -> int:
    """Notes a fault for the launch."""
    slots[at.ENV_FAULT] = kind
    slots[at.ENV_FAULT + 1] = inst
    slots[at.ENV_FAULT + 2] = lane
    slots[at.ENV_FAULT + 3] = handle
    slots[at.ENV_FAULT + 4] = reason
    return 1
