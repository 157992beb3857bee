"""Measures loads that hit L1 by how their lanes are spread over lines and sectors."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

LOADS = 32 * 8  # of each warp
WARPS = 1, 8, 32
APART = 0, 512  # bytes between loads that follow each other
COLUMNS = "pattern", "bytes_of_a_lane", "warps", "bytes_apart", "cycles_of_a_load"
LANES = np.arange(32)


def patterns(size: int) -> dict[str, np.ndarray]:
    """Byte offsets of the lanes, by name; all below 64 KiB."""
    found = {f"shift_{k}": k * 4 + LANES * size for k in (0, 1, 2, 4, 7, 8, 12, 16, 24, 28, 31)
             if k * 4 % size == 0}  # fmt: skip
    found |= {f"stride_{k}": LANES * size * k for k in (2, 3, 4, 5, 6, 8, 12, 16, 32, 33)}
    for rows, pitch in itertools.product((2, 4, 8, 16), (160, 1024, 1056, 1152)):
        width = 32 // rows
        at = LANES // width * pitch + LANES % width * size
        found[f"rows_{rows}_{pitch}"] = at
        found[f"rows_{rows}_{pitch}_shifted"] = at + 64 + size
    rng = np.random.default_rng(1)
    for lines in (1, 2, 3, 4, 6, 8, 16, 64):
        for draw in range(3):
            words = lines * 128 // size
            found[f"random_{lines}_{draw}"] = rng.integers(0, words, 32) * size
    found["same"] = 0 * LANES
    for lanes in (1, 2, 4, 8, 16):  # so many different places, each in a line of its own
        found[f"lines_{lanes}"] = LANES % lanes * 128
        found[f"lines_{lanes}_banks"] = LANES % lanes * (128 + size)
        found[f"halves_{lanes}"] = LANES // (32 // lanes) * 128
    return found


def main() -> None:
    """Writes l1_lines_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("l1_lines"))
    data, clocks = driver.alloc(1 << 20), driver.alloc(4096)
    driver.fill(data, 0, 1 << 20)
    rows = []
    for size in (4, 8, 16):
        function = driver.function(module, f"loads_{size}")
        for name, offsets in patterns(size).items():
            table = driver.upload(offsets.astype(np.uint32))
            for warps, apart in itertools.product(WARPS, APART):
                given = clocks, data, table, np.uint32(apart), np.uint32(0)
                driver.launch(function, (1,), (32 * warps,), given)
                driver.synchronize()
                found = driver.download(clocks, 2 * warps, np.uint32).astype(np.int64)
                begin, end = found.reshape(-1, 2).T
                cycles = float(end.max() - begin.min())
                rows.append((name, size, warps, apart, round(cycles / LOADS / warps, 4)))
    session.save_rows("l1_lines_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
