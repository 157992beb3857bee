"""Counts what loads find in L1 after stores: of the lines that were stored, and of those that were
loaded before."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

THREADS = 256
KINDS = (
    "plain", "streaming", "global_cache", "through", "short", "half_sectors", "every_second",
    "loaded", "loaded_streaming",
)  # fmt: skip
SIZES = (0, 16), (0, 128), (128, 16), (128, 64), (128, 128), (192, 16), (192, 64)  # KiB
MOST_BYTES = 1 << 20
METRICS = (
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
)  # fmt: skip
COLUMNS = ("kernel", "first_kib", "second_kib", "again", *METRICS)


def cases() -> Iterator[tuple[str, int, int, int]]:
    """Kernel, KiB of both arrays, which of them is loaded again."""
    for kind in KINDS:
        for first, second in SIZES:
            for again in (0, 1, 2) if first else (0, 2):
                yield f"stored_{kind}", first, second, again


def main() -> None:
    """Writes stored_lines_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("stored_lines"))
    out, a, b = (session.zeros(MOST_BYTES) for _ in range(3))
    counted = counter_of(session, METRICS)
    rows = []
    for name, first, second, again in cases():
        given = out, a, b, *(np.uint32(n) for n in (256 * first, 256 * second, again))
        launch = partial(driver.launch, driver.function(module, name), (1,), (THREADS,), given)
        rows.append((name, first, second, again, *counted(launch)))
    session.save_rows("stored_lines_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
