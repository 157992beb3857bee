"""Measures loops of compare and exchange, and atomics, of many blocks on the same words."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

KERNELS = (
    "exchange", "exchange_float", "returning", "returning_float", "reduction", "reduction_float",
    "locked",
)  # fmt: skip
GRIDS = (1, 2, 4, 8, 16, 33, 66, 132, 264, 528)
WORDS = ((32, 1), (128, 1), (384, 1), (1536, 1), (32, 8), (32, 32))  # words, words apart
THREADS = (128, 512)
TURNS = 5
COLUMNS = ("kernel", "blocks", "threads", "words", "spread", "us", "tries")


def main() -> None:
    """Writes exchanges_sm90.json: the shortest of some launches, and all tries in it."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("exchanges"))
    data, tries = driver.alloc(1 << 20), driver.alloc(4 * 528 * 512)
    start, stop = driver.event(), driver.event()
    warm = driver.function(module, "reduction")
    for _ in range(300):  # until the clock is up
        driver.launch(warm, (132,), (512,), (data, tries, np.uint32(1 << 14), np.uint32(1)))
    driver.synchronize()
    rows = []
    for kernel, blocks, threads, (words, spread) in itertools.product(
        KERNELS, GRIDS, THREADS, WORDS
    ):
        if kernel == "locked" and blocks > 132:
            continue
        function = driver.function(module, kernel)
        found = []
        for _ in range(TURNS):
            driver.fill(data, 0, 1 << 20)
            driver.synchronize()
            driver.record(start)
            arguments = (data, tries, np.uint32(words), np.uint32(spread))
            driver.launch(function, (blocks,), (threads,), arguments)
            driver.record(stop)
            us = driver.elapsed_ms(start, stop) * 1000.0
            count = driver.download(tries, blocks * threads, np.uint32).astype(np.uint64).sum()
            found.append((us, int(count)))
        us, count = min(found)
        rows.append((kernel, blocks, threads, words, spread, round(us, 2), count))
    session.save_rows("exchanges_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
