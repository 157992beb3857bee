"""Measures loops of straight code: the sizes of the instruction caches and the rate behind them."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

TURNS = 8
# instructions of 16 bytes
LENGTHS = (256, 512, 1024, 1536, 2048, 3072, 4096, 8192, 8704, 9216, 10240, 12288, 16384)
WARPS = (1, 4, 16)
COLUMNS = "instructions", "warps", "cycles_of_an_instruction"  # from the first warp's to the last's


def main() -> None:
    """Writes fetch_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("fetch"))
    data, clocks = driver.alloc(1 << 16), driver.alloc(8 * 16)
    driver.fill(data, 0, 1 << 16)
    rows = []
    for length, warps in itertools.product(LENGTHS, WARPS):
        function = driver.function(module, f"loop_{length}")
        for _ in range(2):
            driver.launch(function, (1,), (32 * warps,), (clocks, data, np.uint32(0)))
        driver.synchronize()
        found = driver.download(clocks, 2 * warps, np.uint32).astype(np.int64).reshape(-1, 2)
        cycles = float(found[:, 1].max() - found[:, 0].min())
        rows.append((length, warps, round(cycles / TURNS / length, 4)))
    session.save_rows("fetch_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
