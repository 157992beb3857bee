"""Counts what blocks find in L1 of rows that they go through again and again, loading and storing,
by the rows' length, blocks of an SM, threads, shared memory and how many SMs work."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

SIZES = (64, 96, 112, 128, 160, 192, 224)  # KiB of all rows of an SM
# Threads of a block, blocks of an SM, bytes of shared memory
SHAPES = (
    (32, 1, 0), (32, 8, 0), (32, 8, 128), (32, 16, 128), (128, 8, 0), (128, 16, 0), (256, 8, 0),
    (256, 4, 256),
)  # fmt: skip
STEPS = {"rows_loaded": (1, 2), "rows_stored": (2, 3, 4), "rows_streamed": (2,), "rows_back": (2,)}
METRICS = (
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit.sum",
    "l1tex__m_xbar2l1tex_read_sectors.sum",
    "sm__cycles_active.max",
)  # fmt: skip
COLUMNS = (
    "kernel", "steps", "sms", "threads", "blocks", "shared_bytes", "kib", "words", *METRICS,
)  # fmt: skip


def cases() -> Iterator[tuple[str, int, int, int, int, int, int, int]]:
    """Kernel, walks, SMs, threads, blocks of an SM, shared memory, KiB of an SM, words of a row."""
    for kernel, numbers in STEPS.items():
        for steps in numbers:
            for sms in (1, 132):
                for threads, blocks, shared in SHAPES if sms > 1 else SHAPES[:1]:
                    for kib in SIZES:
                        words = 256 * kib // blocks // threads * threads
                        yield kernel, steps, sms, threads, blocks, shared, kib, words


def main() -> None:
    """Writes rows_again_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("rows_again"))
    size = 132 * (max(SIZES) << 10)
    out, a, b = (session.zeros(size) for _ in range(3))
    counted = counter_of(session, METRICS)
    rows = []
    for case in cases():
        kernel, steps, sms, threads, blocks, shared, _, words = case
        given = out, a, b, np.uint32(words), np.uint32(steps)
        launch = partial(
            driver.launch, driver.function(module, kernel), (sms * blocks,), (threads,), given,
            shared,
        )  # fmt: skip
        rows.append((*case, *counted(launch)))
    session.save_rows("rows_again_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
