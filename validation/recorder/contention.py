"""Measures reductions by many SMs on few lines: L2's slices and what they take for each."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

KERNELS = ("red_add", "red_float")
FEW, MANY = 200, 1200  # reductions of a warp: what the launch itself takes cancels out
# 1 << shift lanes on a word, words from one of these to the next, and from a warp's to the next's
PATTERNS = (
    *((shift, 1, 0) for shift in range(6)),
    *((shift, 8, 0) for shift in range(5)),
    *((shift, 32, 0) for shift in range(5)),
    *((5, 0, apart) for apart in (1, 8, 32, 1024)), (0, 1, 32),
)  # fmt: skip
GRIDS = ((1, 1), (1, 8), (4, 8), (16, 1), (16, 8), (132, 1), (132, 8))  # blocks, warps of each
COLUMNS = (
    "kernel", "lanes_on_a_word", "words_apart", "warps_apart", "blocks", "warps", "cycles",
)  # fmt: skip  # of the chip, for each reduction of all warps


def main() -> None:
    """Writes contention_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("contention"))
    size = 1 << 24
    data, start, stop = driver.alloc(size), driver.event(), driver.event()
    driver.fill(data, 0, 4096 if session.dry_run else size)
    busy = driver.function(module, KERNELS[0])
    for _ in range(200):  # until the clock is up
        driver.launch(busy, (132,), (256,), (data, *(np.uint32(n) for n in (5, 0, 0, MANY))))
    mhz = 1980.0 if session.dry_run else float(session.clocks().split()[0])
    rows = []
    for kernel, pattern, (blocks, warps) in itertools.product(KERNELS, PATTERNS, GRIDS):
        function = driver.function(module, kernel)
        seconds = []
        for count in (FEW, MANY):
            arguments = (data, *(np.uint32(n) for n in (*pattern, count)))
            found = []
            for _ in range(4):
                driver.record(start)
                driver.launch(function, (blocks,), (32 * warps,), arguments)
                driver.record(stop)
                found.append(driver.elapsed_ms(start, stop) / 1000.0)
            seconds.append(min(found))
        cycles = (seconds[1] - seconds[0]) * mhz * 1e6 / (MANY - FEW) / (blocks * warps)
        shift, apart, warp_apart = pattern
        rows.append((kernel, 1 << shift, apart, warp_apart, blocks, warps, round(cycles, 2)))
    session.save_rows("contention_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
