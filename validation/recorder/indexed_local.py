"""Measures walks through arrays in local memory, where to go next read from the array.

Times, states and counters, caches filled before each launch.
"""

from __future__ import annotations

from kind_cases import Case, case, zeros
from kinds import record
from session import Session

TYPES, BLOCKS, THREADS = ("byte", "int", "double"), (1, 132), (32, 128, 256, 1024)
# Steps, how far apart lanes begin, whether each step also stores, and blocks; no steps: only the
# array is filled
WALKS = [(0, 1, 0, BLOCKS), *((200, spread, store, BLOCKS) for spread in (0, 1, 4, 8)
                              for store in (0, 1))]  # fmt: skip
LONG = [(1000, 1, store, (132,)) for store in (0, 1)]
MEETINGS = [(200, 1, store, (132,)) for store in (0, 1)]
FURTHER = (
    "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit.sum",
    "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st_lookup_hit.sum",
)  # fmt: skip


def cases() -> list[Case]:
    """Kernels by steps, begins, whether each step also stores, blocks and threads of each."""
    return [
        case(f"{kind}_{name}/{steps}/{spread}/{store}/{blocks}x{threads}", f"{kind}_{name}",
             (blocks,), (threads,), zeros("i32", blocks * threads), f"i32={steps}",
             f"i32={spread}", f"i32={store}")
        for kind, walks in (("walk", [*WALKS, *LONG]), ("meet", MEETINGS))
        for name in TYPES
        for steps, spread, store, of_blocks in walks
        for blocks in of_blocks
        for threads in THREADS
    ]  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "indexed_local", cases(), further=FURTHER)
