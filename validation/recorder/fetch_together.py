"""Times loops of straight code on one SM to all of them: the first turn, and the later ones."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from session import Session

TURNS = 5
LENGTHS = (256, 1024, 2048, 4096, 8192, 9216, 12288, 16384)  # instructions of 16 bytes
BLOCKS, WARPS, DELAYS = (1, 2, 4, 8, 16, 33, 66, 132), (1, 4, 8), (0, 100)
COLUMNS = "instructions", "blocks", "warps", "delay", "cold", "first", "later"
ALONE_BYTES = 200 << 10  # of shared memory: one block on an SM
FLUSH_BYTES = 256 << 20


def main() -> None:
    """Writes fetch_together_sm90.json: mean cycles of an instruction in a warp's first turn, with
    what L2 had thrown out (`cold`) and not, and in later ones."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("fetch_together"))
    data, clocks = session.zeros(1 << 16), session.zeros(8 * 132 * 8)
    flushed = driver.alloc(FLUSH_BYTES)
    rows = []
    for length, blocks, warps, delay in itertools.product(LENGTHS, BLOCKS, WARPS, DELAYS):
        function = driver.function(module, f"loop_{length}")
        driver.set_dynamic_shared(function, ALONE_BYTES)
        given = clocks, data, *(np.uint32(n) for n in (TURNS, delay, 0))
        launch = partial(
            driver.launch, function, (blocks,), (32 * warps,), given, shared=ALONE_BYTES
        )
        found = []
        driver.fill(flushed, 0, FLUSH_BYTES)
        driver.synchronize()
        for _ in range(4):
            launch()
            driver.synchronize()
            cycles = driver.download(clocks, 2 * warps * blocks, np.uint32).reshape(-1, 2)
            found.append(cycles.mean(axis=0) / (length, length * (TURNS - 1)))
        values = found[0][0], *np.median(found[1:], axis=0)
        rows.append((length, blocks, warps, delay, *(round(float(n), 4) for n in values)))
    session.save_rows("fetch_together_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
