"""Counts what of an array a block finds in L1 that has loaded all of it before, by the array's size
and by the shared memory that is taken from L1."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

SHARED = 0, 30, 62, 98, 130, 162, 194, 226  # KiB of the block
THREADS = 32, 256
WHOLE = 256  # KiB of L1 and shared memory together
BEYOND = -48, -40, -32, -28, -24, -20, -16, -12, -8, -4, 0, 8, 16, 32  # KiB of the array over that
METRICS = (
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
)  # fmt: skip
COLUMNS = ("shared_kib", "threads", "array_kib", *METRICS)


def cases() -> Iterator[tuple[int, int, int]]:
    """Shared memory, threads, size of the array."""
    for shared in SHARED:
        for threads in THREADS:
            for beyond in BEYOND:
                size = WHOLE - (shared and shared + 2) + beyond
                if size > 0:
                    yield shared, threads, size


def main() -> None:
    """Writes l1_capacity_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    function = driver.function(driver.load(session.cubin("stored_lines")), "stored_loaded")
    driver.set_dynamic_shared(function, max(SHARED) << 10)
    out, a, b = (session.zeros(1 << 20) for _ in range(3))
    counted = counter_of(session, METRICS)
    rows = []
    for shared, threads, kib in cases():
        given = out, a, b, np.uint32(256 * kib), np.uint32(0), np.uint32(1)
        launch = partial(driver.launch, function, (1,), (threads,), given, shared << 10)
        rows.append((shared, threads, kib, *counted(launch)))
    session.save_rows("l1_capacity_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
