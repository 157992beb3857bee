"""Measures warps that go through cases of 2 KiB of code each in orders of their own.

Times, states and counters, caches filled before each launch.
"""

from __future__ import annotations

from kind_cases import Case, case, zeros
from kinds import record
from session import Session

BLOCKS, WARPS, ROUNDS = 132, (1, 4, 16), (64, 640)
# How many cases a warp goes through, and how far on its cases begin from those of the warp before
KINDS = ((1, 0), (1, 1), (5, 0), (5, 5), (16, 0), (48, 0))
FURTHER = ("smsp__inst_executed_op_branch.sum", "lts__t_sectors.sum")


def cases() -> list[Case]:
    """Cases by how many, how far apart, rounds and warps of the SM."""
    return [
        case(f"{kinds}/{apart}/{rounds}/{warps}", "many_cases", (BLOCKS,), (32 * warps,),
             zeros("f32", BLOCKS * 32 * warps), "f32=0.5", f"i32={kinds}", f"i32={apart}",
             f"i32={rounds}")
        for kinds, apart in KINDS
        for rounds in ROUNDS
        for warps in WARPS
        if warps > 1 or not apart
    ]  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "many_cases", cases(), further=FURTHER)
