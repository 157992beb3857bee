"""Measures which loads still hit L1 among loads and stores of other lines, by rounds of them."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

COUNT = 64  # rounds, a word further each
COLUMNS = (
    "read_lanes", "read_stride_words", "write_lanes", "write_stride_words", "kinds", "warps",
    "cycles_of_each_round_of_the_first_warp",
)  # fmt: skip
KINDS = 1, 3, 5, 6, 7  # 1: a load, 2: a load of what is stored, 4: the store


def cases() -> list[tuple[int, ...]]:
    """What is launched."""
    strides = 8, 32, 64, 96, 1024
    found = {
        (reads, 64, writes, stride, kinds, warps)
        for reads, writes, stride, kinds, warps in itertools.product(
            (1, 12, 32), (1, 4, 8, 16, 24, 32), strides, KINDS, (1, 2))
    }  # fmt: skip
    found |= {(reads, stride, 32, 64, 7, 1) for reads in (1, 4, 12) for stride in (8, 32, 1024)}
    return sorted(found)


def main() -> None:
    """Writes l1_hits_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    function = driver.function(driver.load(session.cubin("l1_hits")), "rounds")
    words = 1 << 20
    read, write, clocks = driver.alloc(4 * words), driver.alloc(4 * words), driver.alloc(4 * 128)
    driver.fill(read, 0, 4 * words)
    driver.fill(write, 0, 4 * words)
    rows = []
    for case in cases():
        *shape, kinds, warps = (np.uint32(number) for number in case)
        given = (clocks, read, write, *shape, kinds, np.uint32(COUNT), np.uint32(1 << 16))
        for _ in range(2):
            driver.launch(function, (1,), (32 * int(warps),), given)
        driver.synchronize()
        rows.append((*case, driver.download(clocks, 128, np.uint32)[:COUNT].tolist()))
    session.save_rows("l1_hits_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
