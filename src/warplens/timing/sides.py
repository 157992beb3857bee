"""Which loads L2 serves from its other side.

Each line of memory has its home on one of L2's two sides, and each SM asks the nearer one, which
keeps what it has brought from the other. So an SM whose line lies on the other side waits longer if
no SM of its own side has had it since it came from DRAM, since an SM of the other side stored to
it, or since any SM added to it, which is done where the line has its home (measured,
validation/data/written_lines_sm90.json).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.execute.buffers import sparse
from warplens.timing.picking import chosen, taken
from warplens.timing.state import Floats, Ints
from warplens.timing.touched import Touched, beside_and_apart, counted, firsts, masks_of, users_of

OF = 256  # such loads are counted in parts of this
_READ, _WRITE, _ATOMIC = 1, 2, 4
_AWAY = 0.5  # of all lines have their home on the other side
Flags = npt.NDArray[np.bool_]


def sides(touched: Touched, step: Ints, stride: int, active_sms: int,
          extents: Ints | None) -> npt.NDArray[np.uint8]:  # fmt: skip
    """Per element of the table of lines, for loads of the replayed SM, how often of `OF` times L2
    serves them from its other side, if it has the line.

    `step`: per access when it is made; `extents`: first lines and ends of the allocations,
    ascending; `active_sms`: 1 where L2 has one side.
    """
    found = sparse(len(touched.lines), np.uint8)
    places, place = np.unique(touched.sm_of(stride), return_inverse=True)
    if active_sms < 2 or len(places) < 2 or not len(touched.at):
        return found
    kind = touched.kind
    mine = touched.is_replayed & (kind == _READ)
    n = _sharers(touched, places, place, kind == _READ, active_sms)
    others = np.maximum(1e-9, n - 1.0)
    chance = np.where(n > 1.0, _AWAY * (1.0 - 0.5**others) / others, 0.0)
    # The first time only: then its own side has it.
    order = np.argsort(step[chosen(touched.access, mine)], kind="stable")
    lines = chosen(touched.used, mine)[order]
    first = firsts(lines, touched.n_lines)
    each = np.zeros(len(lines))
    each[order] = np.where(first[lines] == np.arange(len(lines)), chance[lines], 0.0)
    changed = _changed(touched, step, place, kind, mine, active_sms, extents)
    found[chosen(touched.at, mine)] = (np.maximum(each, changed) * (OF - 1)).astype(np.uint8)
    return found


def _sharers(touched: Touched, places: Ints, place: Ints, among: Flags,
             active_sms: int) -> Floats:  # fmt: skip
    """Per line how many SMs of the chip use it: as many as of those beside each other, or as of
    those all over follow."""
    beside, is_apart = beside_and_apart(place, places)
    apart = len(places) - beside + 1
    near = users_of(touched, place, among & taken(place < beside, touched.user))
    far = users_of(touched, place, among & taken(is_apart, touched.user))
    return np.maximum(near, np.where(far > 1, far * active_sms / apart, 1.0))


def _changed(touched: Touched, step: Ints, place: Ints, kind: npt.NDArray[np.uint8], mine: Flags,
             active_sms: int, extents: Ints | None) -> Floats:  # fmt: skip
    """Per load of the replayed SM how likely the last that happened to its line, of changes and of
    loads on its own side, is a change that took it from there: by allocations, in each of which
    lines are taken to be alike."""
    chance = np.zeros(np.count_nonzero(mine))
    if not (kind != _READ).any() or not len(chance):
        return chance
    group = touched.allocations(extents)
    n_groups, units = int(group.max()) + 1, int(place.max()) + 1
    reading = masks_of(touched, place, kind == _READ)
    readers = counted(reading)

    def of_group(per_line: npt.NDArray[Any]) -> Floats:
        found: Floats = np.bincount(group, per_line, n_groups).astype(np.float64)
        return found

    read = np.maximum(1.0, of_group(readers.astype(np.float64)))  # pairs of SMs and lines
    own, other = {}, {}
    for one in (_WRITE, _ATOMIC):
        if not (kind == one).any():
            own[one] = other[one] = np.zeros(n_groups)
            continue
        masks = masks_of(touched, place, kind == one)
        changers, same = counted(masks), counted(masks, reading)
        times = of_group(np.bincount(chosen(touched.used, kind == one), minlength=touched.n_lines))
        times /= np.maximum(1.0, of_group(changers))  # of an SM that does it at all
        own[one] = of_group(same) / read * times
        met = of_group(readers * changers - same) / read / (units - 1)
        other[one] = met * (active_sms - 1) * times
    met = of_group(readers * (readers - 1.0)) / read / (units - 1)
    once = 1.0 + own[_ATOMIC]  # L1 has the line until the SM itself adds to it
    loads = once + 0.5 * met * (active_sms - 1) * once
    lost = own[_ATOMIC] + other[_ATOMIC] + 0.5 * other[_WRITE]
    kept = loads + own[_WRITE] + 0.5 * other[_WRITE]
    when = step[chosen(touched.access, mine)] / max(1, int(step.max()))
    mine_group = group[chosen(touched.used, mine)]
    before = -np.expm1(-(own[_ATOMIC] + other[_ATOMIC] + other[_WRITE])[mine_group] * when)
    chance[:] = (_AWAY * lost / (lost + kept))[mine_group] * before
    return chance
