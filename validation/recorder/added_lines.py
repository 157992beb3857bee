"""Counts what loads find in L1 of lines that were loaded before, after atomics, stores and loads
that go around L1 have touched a word of them."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

METRICS = (
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__m_xbar2l1tex_read_sectors.sum",
)  # fmt: skip
KINDS = ("none", "red", "red_f32", "red_f64", "atom", "cas", "store", "load_cg", "load_relaxed",
         "load_acquire", "fence")  # fmt: skip
BLOCKS, THREADS, LINES = 132, 64, 64
COLUMNS = ("kernel", "offset", "every", *METRICS)


def main() -> None:
    """Writes added_lines_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("added_lines"))
    out, data = driver.alloc(4096), session.zeros(BLOCKS * LINES * 128)
    counted = counter_of(session, METRICS)
    rows = []
    for name, offset, every in itertools.product(KINDS, (0, 64), (1, 2, 4)):
        function = driver.function(module, f"added_lines_{name}")
        given = out, data, np.uint32(offset), np.uint32(every)
        launch = partial(driver.launch, function, (BLOCKS,), (THREADS,), given)
        rows.append((name, offset, every, *counted(launch)))
    session.save_rows("added_lines_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
