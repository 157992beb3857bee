"""The rule about loops that make their addresses anew for every access."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warplens.analysis.address_slice import address_instructions
from warplens.analysis.advice import Context, Finding, rule
from warplens.wording import number, percent

_FEW = 0.25  # such arithmetic of less than this share of all instructions is not worth a word
_ROUNDS = 4  # what a warp executes as often as this stands in a loop


@rule("AddressArithmetic", section="InstructionStats", title="Addresses made for every access")
def address_arithmetic(c: Context) -> Iterator[Finding]:
    """A loop computes an address for each of its accesses, rather than one for several."""
    warps = float(c.executed.max(initial=0) and c.executed[c.executed > 0][0])
    in_loops = c.executed >= _ROUNDS * warps
    if not warps or not in_loops.any():
        return
    makes = address_instructions(c.kernel, in_loops)
    executed = c.executed * makes
    total = float(c.executed.sum())
    place = c.worst(executed)
    if place is None or executed.sum() < _FEW * total:
        return
    accesses = float((c.executed * in_loops * c.mask("space", "global", "shared", "local")).sum())
    each = float(executed.sum()) / max(1.0, accesses)
    yield Finding(
        text=f"{percent(float(executed.sum()) / total)} of the executed instructions compute "
        f"addresses in loops, {number(each)} for each access; most are at {place.told}. Let "
        "accesses share an address and differ by a constant offset: count with signed integers "
        "(unsigned ones wrap, which forbids it), make bounds and strides constants or template "
        "arguments so that loops unroll, move what a loop does not change out of it, and advance "
        "a pointer instead of multiplying an index.",
        percent=100.0 * float(executed.sum()) / total,
        drops=tuple(np.flatnonzero(makes & (c.executed > 0)).tolist()),
        loops=tuple(np.flatnonzero(in_loops).tolist()),
        least=10.0,
        place=place,
    )
