"""Measures lanes that walk along rows of their own: loads and stores of one and two arrays.

Within 64 bytes of each row, or along all of it; times, states and counters, caches filled before.
"""

from __future__ import annotations

from kind_cases import Case, case, zeros
from kinds import record
from session import Session

KINDS = {2: "u16", 4: "u32"}
MIXES = ("10", "20", "01", "02", "11", "21", "12", "22")  # loads and stores of a step
WARPS = (1, 2, 4, 8)  # of an SM
STEPS = 512
WIDTH = STEPS + 32  # elements of a row
FURTHER = (
    "lts__t_requests_srcunit_tex_op_write.sum", "lts__t_sectors_op_write.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
)  # fmt: skip


def cases() -> list[Case]:
    """Bytes of an element by loads and stores, warps of an SM, and how far a lane goes."""
    return [
        case(f"walk/{size}/{mix}/{'row' if far else 'near'}/{warps}", f"walk_{size}_{mix}", (132,),
             (32 * warps,), *[zeros(kind, 132 * 32 * warps * WIDTH)] * 4,
             f"i32={WIDTH}", f"i32={STEPS}", f"i32={STEPS - 1 if far else 64 // size - 1}")
        for size, kind in KINDS.items()
        for mix in MIXES
        for far in (False, True)
        for warps in WARPS
    ]  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "row_walks", cases(), further=FURTHER)
