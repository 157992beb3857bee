"""Measures lanes that copy rows of 1, 2 and 4 bytes an element, and blocks that store columns.

Times, states and counters, caches filled before each launch.
"""

from __future__ import annotations

from kind_cases import Case, case, zeros
from kinds import record
from session import Session

KINDS = {1: "u8", 2: "u16", 4: "u32"}
PITCHES = (1536, 2048)  # bytes of a row
COPIES = ((264, 32), (128, 64), (132, 256), (264, 256))
# Columns, blocks along each, threads, rows
COLUMNS = ((2048, 64, 32, 2048), (2048, 8, 256, 2048), (512, 132, 64, 8448), (64, 264, 256, 67584))
FURTHER = (
    "lts__t_requests_srcunit_tex_op_write.sum", "lts__t_sectors_op_write.sum",
    "l1tex__m_l1tex2xbar_write_sectors_mem_lg_op_st.sum", "dram__sectors_read.sum",
    "dram__sectors_write.sum",
)  # fmt: skip


def cases() -> list[Case]:
    """Bytes of an element by elements at once, pitches and shapes; and by columns."""
    copies = [
        case(f"copy/{size}/{once}/{pitch}/{blocks}x{threads}", f"copy_{size}_{once}", (blocks,),
             (threads,), zeros(kind, blocks * threads * pitch // size),
             zeros(kind, blocks * threads * pitch // size), f"i32={pitch // size // 4 * 4}")
        for size, kind in KINDS.items()
        for once in (1, 4)
        for pitch in PITCHES
        for blocks, threads in COPIES
    ]  # fmt: skip
    return copies + [
        case(f"column/{size}/{width}/{blocks}x{threads}/{rows}", f"column_{size}",
             (width, blocks), (threads,), zeros(kind, width * rows), f"i32={width}",
             f"i32={rows}")
        for size, kind in KINDS.items()
        for width, blocks, threads, rows in COLUMNS
    ]  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "narrow_copies", cases(), further=FURTHER)
