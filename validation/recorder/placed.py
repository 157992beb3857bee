"""Tells on which SM each block of a first wave begins, by how many blocks an SM holds."""

from __future__ import annotations

import numpy as np
from session import Session

SMS = 132
# Threads, bytes of shared memory: an SM holds 1, 2, 3, 4, 8, 16 or 32 of such blocks
SHAPES = (
    (256, 200_000), (256, 100_000), (256, 70_000), (256, 50_000), (256, 25_000), (1024, 0),
    (512, 0), (256, 0), (128, 0), (64, 0), (32, 0),
)  # fmt: skip
STAY = 200_000  # cycles: all blocks of a first wave are there before one ends
REPEATS = 3
COLUMNS = ("threads", "shared_bytes", "blocks_an_sm", "sms")


def main() -> None:
    """Writes placed_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    function = driver.function(driver.load(session.cubin("placed")), "placed")
    driver.set_dynamic_shared(function, 200_000)
    out = driver.alloc(4 * 64 * SMS)
    rows = []
    for threads, shared in SHAPES:
        held = driver.occupancy(function, threads, shared)
        shares = (held * SMS,) if held == 1 else (held * SMS // 2 + 7, held * SMS)
        for blocks in shares:
            for _ in range(REPEATS):
                driver.launch(function, (blocks,), (threads,), (out, np.uint32(STAY)), shared)
                driver.synchronize()
                found = driver.download(out, blocks, np.uint32)
                rows.append((threads, shared, held, [int(sm) for sm in found]))
    session.save_rows("placed_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
