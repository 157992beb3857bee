"""Indirect jumps of kernels that have BREAK or YIELD: how they part a warp, as on an H200."""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import peek32, poke32, population
from warplens.execute.part_table import CHAIN, CHAINED
from warplens.execute.run_layout import MASK
from warplens.execute.splits import Ints, has_hook, insert_split, lowest_lane, same_target
from warplens.lift import layout as at


@native
def target_of(w: int, lane: int, code_map: Ints, absolute: bool) -> int:
    """The block to which a lane jumps, or -1."""
    low = peek32(w + at.WARP_TARGETS + 4 * lane)
    high = peek32(w + at.WARP_TARGETS_HIGH + 4 * lane)
    index = low >> 4
    if index >= code_map.size or low & 15 or low == 0:
        return -1
    if absolute and high != at.CODE_WINDOW_HIGH and high != 0:
        return -1
    return int(code_map[index])


@native
def part_by_target(w: int, control: Ints, code_map: Ints) -> int:
    """Lanes go where the lowest one goes whose target at most half of them have; all others are put
    aside, to jump again. 0: go on, 1: hook, 2: bad address."""
    mask = rest = peek32(w + at.WARP_MASK)
    absolute = peek32(w + at.WARP_ARGS) == at.INDIRECT_ABSOLUTE
    if absolute and has_hook(w, control, mask):
        return 1
    for lane in range(32):
        if (mask >> lane) & 1 != 0 and target_of(w, lane, code_map, absolute) < 0:
            control[MASK] = same_target(w, 1 << lane, absolute)
            return 2
    bottom = peek32(w + at.WARP_SPLITS)
    while rest != 0:
        left, same = rest, 0
        while left != 0:
            same = same_target(w, left, absolute)
            if 2 * population(same) <= population(rest):
                break
            left &= ~same
        pc = target_of(w, lowest_lane(same), code_map, absolute)
        if rest == mask:
            poke32(w + at.WARP_MASK, same)
            poke32(w + at.WARP_PC, pc)
        else:
            first = peek32(w + at.WARP_SPLITS) == bottom
            insert_split(w, bottom, same, pc, at.SPLIT_READY, CHAIN if first else CHAINED)
        rest &= ~same
    return 0
