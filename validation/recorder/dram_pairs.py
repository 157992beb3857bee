"""Measures loads of one or two words of lines drawn by lot that only DRAM holds, the second word in
the same sector, its neighbour or another one, at once or after a wait.

Times, states and counters, L2 filled with other lines before each launch.
"""

from __future__ import annotations

from kind_cases import Case, M, case, zeros
from kinds import record
from session import Session

LOADS = ("plain", "cg", "nc")
# Bytes from the start of the line to the first and the second word; -1: there is no second one
WORDS = ((0, -1), (0, 0), (0, 32), (0, 64), (0, 96), (32, 0), (32, 64))
WAITS = (0, 2000)
SHAPES = ((1, 1, 64), (1, 32, 64), (132, 32, 48), (132, 256, 24))
FURTHER = (
    "lts__t_sectors_srcunit_tex_lookup_hit.sum", "dram__sectors_read.sum",
    "lts__t_requests_srcunit_tex_lookup_miss.sum",
)  # fmt: skip


def cases() -> list[Case]:
    """Kinds of loads by words of the line, cycles of the wait, blocks, threads of each and
    rounds."""
    return [
        case(f"{load}/{first}/{second}/{wait}/{blocks}x{threads}", f"load_{load}", (blocks,),
             (threads,), zeros("u32", 64 * M), zeros("u32", 32), f"i32={rounds}", f"i32={first}",
             f"i32={second}", f"i32={wait}")
        for load in LOADS
        for first, second in WORDS
        for wait in (WAITS if second >= 0 else WAITS[:1])
        for blocks, threads, rounds in SHAPES
    ]  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "dram_pairs", cases(), further=FURTHER)
