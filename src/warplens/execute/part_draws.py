"""Other orders of a warp's parts: which one goes on is drawn where several may.

So programs are found whose results depend on an order that no rule of CUDA fixes.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import peek32
from warplens.execute.part_barriers import SYNCING, release, state_of
from warplens.execute.part_table import gather_at, run
from warplens.execute.run_layout import PART_ORDER
from warplens.execute.splits import Ints, split_field
from warplens.lift import layout as at


@native
def drawn(control: Ints) -> int:
    """The next random number; the sign of what it is made from stays."""
    sign = -1 if control[PART_ORDER] < 0 else 1
    number = (sign * control[PART_ORDER] * 1103515245 + 12345) & 0x7FFFFFFF
    control[PART_ORDER] = sign * (number | 1)
    return int(number >> 16)


@native
def is_choice(w: int, i: int, is_free: bool) -> bool:
    """Whether a split stands for parts that may go on where it is not known which one does.

    It is the newest of its place or barrier. Of parts that are ready and not at YIELD only the
    newest one counts, unless `is_free`.
    """
    state, pc = peek32(split_field(w, i, 2)), peek32(split_field(w, i, 1))
    number, resting = peek32(split_field(w, i, 3)), peek32(w + at.WARP_YIELDED)
    if state != at.SPLIT_READY and state != at.SPLIT_AT_BSYNC:
        return False
    for j in range(i + 1, peek32(w + at.WARP_SPLITS)):
        if peek32(split_field(w, j, 2)) != state:
            continue
        if state == at.SPLIT_AT_BSYNC and peek32(split_field(w, j, 3)) == number:
            return False
        lanes = peek32(split_field(w, j, 0)) | peek32(split_field(w, i, 0))
        if state == at.SPLIT_READY and (
            peek32(split_field(w, j, 1)) == pc or (not is_free and lanes & resting == 0)
        ):
            return False
    return bool(state == at.SPLIT_READY or state_of(w, number) < SYNCING)


@native
def draw(w: int, control: Ints) -> bool:
    """Makes some part that may go on the running one, by a number drawn; mostly the usual one."""
    if control[PART_ORDER] == 0:
        return False
    is_free, n = control[PART_ORDER] < 0, 0
    for i in range(peek32(w + at.WARP_SPLITS)):
        n += is_choice(w, i, is_free)
    number = drawn(control)
    if n < 2 or number & 1 != 0:
        return False
    left = (number >> 1) % n
    for i in range(peek32(w + at.WARP_SPLITS)):
        if is_choice(w, i, is_free):
            if left == 0:
                if peek32(split_field(w, i, 2)) == at.SPLIT_AT_BSYNC:
                    return release(w, peek32(split_field(w, i, 3)))
                pc = peek32(split_field(w, i, 1))
                return run(w, gather_at(w, pc), pc)
            left -= 1
    return False
