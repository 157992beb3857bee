"""Measures blocks that read an array, from DRAM or L2, and add to one word or to many."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from session import Session

BLOCKS = 8192, 16384, 24576, 32768, 40960, 49152, 65536, 98304, 131072  # of 128 threads
EACH = 0, 1, 2, 4, 8, 16, 32  # vectors of 16 bytes that a thread reads
LEVELS = ("dram", (1 << 28) - 1), ("l2", (1 << 20) - 1)  # which vectors: of 4 GiB, of 16 MiB
# nothing, once a block, once a warp; how many words, so many floats apart
ADDS = (0, 1, 1), (1, 1, 1), (2, 1, 1), (1, 256, 1032)
MOST = 1 << 30  # bytes that a launch reads at most
REPEATS = 11
COLUMNS = "blocks", "each", "level", "adds", "words", "ns"  # by events, the median


def _times_ns(driver: Any, function: Any, blocks: int, given: tuple[Any, ...]) -> list[float]:
    """All launches wait in a queue behind the first."""
    events = [driver.event() for _ in range(REPEATS + 1)]
    driver.launch(function, (blocks,), (128,), given)
    for event in events[:-1]:
        driver.record(event)
        driver.launch(function, (blocks,), (128,), given)
    driver.record(events[-1])
    return [1e6 * driver.elapsed_ms(*pair) for pair in itertools.pairwise(events)]


def main() -> None:
    """Writes read_and_add_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("read_and_add"))
    function = driver.function(module, "read_and_add")
    size = 1 << 20 if session.dry_run else 1 << 32
    data, out = driver.alloc(size), driver.alloc(1 << 24)
    driver.fill(data, 0, size)
    driver.fill(out, 0, 1 << 24)
    rows = []
    for blocks, each, (level, mask), adding in itertools.product(BLOCKS, EACH, LEVELS, ADDS):
        adds, words, apart = adding
        if blocks * each * 2048 > MOST or (level == "l2" and each == 0):
            continue
        given = (data, out, np.uint32(mask), np.int32(each), np.int32(adds), np.uint32(words),
                 np.uint32(apart))  # fmt: skip
        found = _times_ns(driver, function, blocks, given)
        rows.append((blocks, each, level, adds, words, round(float(np.median(found)), 1)))
    session.save_rows("read_and_add_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
