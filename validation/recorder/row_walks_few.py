"""Measures the same walks along rows as row_walks.py, within 64 bytes of each, on few SMs.

Times, states and counters, caches filled before.
"""

from __future__ import annotations

from kind_cases import Case, case, zeros
from kinds import record
from row_walks import FURTHER, KINDS, STEPS, WARPS, WIDTH
from session import Session

MIXES = ("01", "02", "11", "21", "22")  # loads and stores of a step
BLOCKS = (1, 16, 66)


def cases() -> list[Case]:
    """Bytes of an element by loads and stores, warps of a block and blocks."""
    return [
        case(f"walk/{size}/{mix}/{warps}x{blocks}", f"walk_{size}_{mix}", (blocks,),
             (32 * warps,), *[zeros(kind, blocks * 32 * warps * WIDTH)] * 4,
             f"i32={WIDTH}", f"i32={STEPS}", f"i32={64 // size - 1}")
        for size, kind in KINDS.items()
        for mix in MIXES
        for warps in WARPS
        for blocks in BLOCKS
    ]  # fmt: skip


if __name__ == "__main__":
    session = Session.of_command_line(__doc__)
    record(session, "row_walks_few", cases(), cubin="row_walks", further=FURTHER)
