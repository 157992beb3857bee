"""Counts what loads find in L1 of lines of which words were stored one right after the other, by
how many, the lanes that do, how far apart their rows are, and the time between."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

METRICS = (
    "sm__cycles_active.avg", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_miss.sum",
    "l1tex__m_xbar2l1tex_read_sectors.sum", "l1tex__m_l1tex2xbar_write_sectors.sum",
)  # fmt: skip
BLOCKS, WORDS, ROUNDS = 132, 64, 16
# words stored at a time, bytes from row to row, threads, lanes of a warp, cycles until the next
CASES = (
    *itertools.product((1, 2, 4, 8, 16), (256, 260, 384), (32, 128), (32,), (0, 1500)),
    *itertools.product((2, 4), (256, 260), (32,), (1, 4, 16), (0, 400)),
)
COLUMNS = ("words", "pitch", "threads", "lanes", "after", *METRICS)


def main() -> None:
    """Writes stored_soon_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("stored_soon"))
    out = driver.alloc(4096)
    data = session.zeros(BLOCKS * 128 * max(case[1] for case in CASES) + 4 * WORDS)
    counted = counter_of(session, METRICS)
    rows = []
    for words, pitch, threads, lanes, after in CASES:
        function = driver.function(module, f"stored_soon_{words}")
        numbers = (np.uint32(n) for n in (pitch, WORDS, ROUNDS, lanes, after))
        launch = partial(driver.launch, function, (BLOCKS,), (threads,), (out, data, *numbers))
        rows.append((words, pitch, threads, lanes, after, *counted(launch)))
    session.save_rows("stored_soon_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
