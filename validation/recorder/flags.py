"""Measures stores of most of a grid's threads to one byte, and loops that seek the least number by
compare and exchange."""

from __future__ import annotations

import ctypes as ct
import itertools
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

BLOCKS, THREADS = 4096, 256
AREA, LAUNCHES = 1 << 16, 64  # bytes of words, and how many such areas
STORES = (0, 1, 3), (1, 4, 16), (0, 16, 64, 256, 1024)  # own arrays, one warp of, steps before
LEAST = (132, 528, 1056, 4096), (1, 16, 512), (0, 64, 1024)  # blocks, words, steps before
METRICS = (
    "sm__cycles_active.avg", "gpu__time_duration.sum", "lts__t_requests_srcunit_tex_op_write.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum", "dram__bytes_read.sum",
)  # fmt: skip


def main() -> None:
    """Writes flags_sm90.json and least_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("flags"))
    n = BLOCKS * THREADS
    sizes = n, 3 * n, AREA * LAUNCHES, 4 * n
    mask, own, word, tries = (driver.alloc(size) for size in sizes)
    driver.fill(mask, 1, n)
    counted = counter_of(session, METRICS)
    rows = []
    for arrays, every, work in itertools.product(*STORES):
        function = driver.function(module, f"flag_{arrays}")
        given = mask, own, word, np.uint32(every), np.uint32(work)
        launch = partial(driver.launch, function, (BLOCKS,), (THREADS,), given)
        rows.append((arrays, every, work, *counted(launch)))
    session.save_rows("flags_sm90", ("arrays", "every", "work", *METRICS), rows)
    function, rows = driver.function(module, "least"), []
    for blocks, words, work in itertools.product(*LEAST):
        driver.fill(word, 0, AREA * LAUNCHES)
        fresh = itertools.count()  # each launch finds words that are 0

        def launch(blocks: int = blocks, words: int = words, work: int = work,
                   fresh: itertools.count[int] = fresh) -> None:  # fmt: skip
            at = ct.c_uint64(word.value + AREA * (next(fresh) % LAUNCHES))
            given = at, tries, np.uint32(words), np.uint32(work)
            driver.launch(function, (blocks,), (THREADS,), given)

        found = counted(launch)
        count = int(driver.download(tries, blocks * THREADS, np.uint32).astype(np.uint64).sum())
        rows.append((blocks, words, work, *found, count))
    columns = "blocks", "words", "work", *METRICS, "tries"
    session.save_rows("least_sm90", columns, rows)


if __name__ == "__main__":
    main()
