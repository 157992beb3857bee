"""Measures straight code with loads between: what fetching costs at first, and while warps wait."""

from __future__ import annotations

import numpy as np
from session import Session

TURNS = 6
CASES = tuple(
    (length, gap, warps, blocks)
    for length in (1024, 4096, 8192, 9216, 12288) for gap in (0, 32, 128, 512)
    for warps, blocks in ((1, 1), (8, 1), (1, 132), (8, 132), (16, 132))
)  # fmt: skip
# cycles of every turn, of the mean warp: launched first, again, and with code from DRAM
COLUMNS = "instructions", "between_loads", "warps", "blocks", "first", "again", "cold"


def main() -> None:
    """Writes gaps_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver, u32 = session.driver, np.uint32
    module = driver.load(session.cubin("gaps"))
    size = 4096 if session.dry_run else 1 << 28
    data, clocks = driver.alloc(1 << 16), driver.alloc(4 * 132 * TURNS * 16)
    rest = driver.alloc(size)
    driver.fill(data, 0, 1 << 16)
    other = driver.function(module, "gaps_16384_0")
    rows = []
    for length, gap, warps, blocks in CASES:
        function = driver.function(module, f"gaps_{length}_{gap}")
        found = []
        for cold in (False, False, True):
            if cold:
                driver.launch(other, (264,), (128,), (clocks, data, u32(0), u32(1)))
                for value in (1, 0):
                    driver.fill(rest, value, size)
            driver.launch(function, (blocks,), (32 * warps,), (clocks, data, u32(0), u32(TURNS)))
            cycles = driver.download(clocks, blocks * TURNS * warps, np.uint32)
            found.append(cycles.reshape(blocks, TURNS, warps).mean((0, 2)).round(1).tolist())
        rows.append((length, gap, warps, blocks, *found))
    session.save_rows("gaps_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
