"""Measures lanes that leave some at a time, nine times, each with or without a byte that it stores
before.

Times, states and counters, caches filled before each launch.
"""

from __future__ import annotations

from kind_cases import Case, case, zeros
from kinds import record
from session import Session

KERNELS, BLOCKS, EACH = ("store_and_leave", "leave"), (132, 1056), (1, 2, 8, 32)
# Threads of a block, and of how many of them the lanes leave that leave at a time
SHAPES = ((32, 32), (512, 32), (512, 512))
FURTHER = (
    "smsp__inst_executed_op_global_st.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
)  # fmt: skip


def cases() -> list[Case]:
    """Kernels by blocks, threads of each, and lanes that leave at a time of how many."""
    return [
        case(f"{kernel}/{each}/{of}/{blocks}x{threads}", kernel, (blocks,), (threads,),
             zeros("u8", blocks * threads), f"i32={each}", f"i32={of}")
        for kernel in KERNELS
        for blocks in BLOCKS
        for threads, of in SHAPES
        for each in EACH
    ]  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "leaving_lanes", cases(), further=FURTHER)
