"""Counts what loads find in L1 of lines that were loaded before and then stored in part, and what
of stores to local memory reaches L2."""

from __future__ import annotations

from functools import partial

import numpy as np
from session import Session

from counters import counter_of

THREADS = 256
LANES = 0x00, 0xFF, 0x0F, 0x55, 0x01  # of eight neighbours, a sector, that store
WARPS = 1, 8, 32, 64  # of an SM, with local memory
METRICS = (
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum", "lts__t_sectors_srcunit_tex_op_write.sum",
    "lts__t_requests_srcunit_tex_op_write.sum", "sm__cycles_active.avg",
)  # fmt: skip
COLUMNS = ("kernel", "first", "second", "third", "blocks", "threads", *METRICS)


def main() -> None:
    """Writes stored_again_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("stored_again"))
    out, data = session.zeros(4 * THREADS), session.zeros(1 << 20)
    counted = counter_of(session, METRICS)
    rows = []

    def count(name: str, given: tuple[int, int, int], blocks: int, threads: int) -> None:
        pointers = (out, data) if name == "again_global" else (out,)
        function, numbers = driver.function(module, name), (np.uint32(n) for n in given)
        launch = partial(driver.launch, function, (blocks,), (threads,), (*pointers, *numbers))
        rows.append((name, *given, blocks, threads, *counted(launch)))

    for before in (0, 1):
        for lanes in LANES:
            for after in (0, 1):
                count("again_global", (before, lanes, after), 1, THREADS)
    for size in (1, 4, 8):
        for stores, loads in ((1, 0), (1, 1), (4, 0), (4, 4), (1, 8)):
            for apart in (0, 1, 3):
                for warps in WARPS:
                    blocks = 132 * max(1, warps // 32)
                    given = stores, loads, apart
                    count(f"again_local_{size}", given, blocks, 32 * min(32, warps))
    session.save_rows("stored_again_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
