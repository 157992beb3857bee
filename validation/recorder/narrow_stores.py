"""Measures stores of 1, 2 and 4 bytes by lanes that have a row each, some at once and then a wait.

Times, states and counters, caches filled before each launch.
"""

from __future__ import annotations

from kind_cases import Case, case, zeros
from kinds import record
from session import Session

PITCHES, STORES = (1536, 2048, 2080), 128  # Bytes of a row; how many stores a lane does
WIDTHS, AT_ONCE = (1, 2, 4), (1, 2, 4, 8)
SHAPES = ((132, 32, (0, 200, 1000)), (264, 256, (0, 200, 1000)), (132, 256, (0,)), (264, 32, (0,)))
FURTHER = (
    "lts__t_requests_srcunit_tex_op_write.sum", "lts__t_sectors_op_write.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__m_l1tex2xbar_write_sectors_mem_lg_op_st.sum", "dram__sectors_read.sum",
    "dram__sectors_write.sum",
)  # fmt: skip


def cases() -> list[Case]:
    """Bytes of an element by stores at once, pitches, cycles of the wait, blocks and threads."""
    return [
        case(f"{width}/{once}/{pitch}/{wait}/{blocks}x{threads}", f"store_{width}_{once}",
             (blocks,), (threads,), zeros("u8", blocks * threads * pitch), f"i32={pitch}",
             f"i32={STORES // once}", f"i32={wait}")
        for width in WIDTHS
        for once in AT_ONCE
        for pitch in PITCHES
        if width == 1 or once in (1, 4) or pitch == 2048
        for blocks, threads, waits in SHAPES
        for wait in waits
    ]  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "narrow_stores", cases(), further=FURTHER)
