"""Tells on which SM each block of a grid runs, where some of the blocks end at once or are longer
than others."""

from __future__ import annotations

import numpy as np
from session import Session

# name: cycles that each block stays, in the order of the grid
ATTENTION = [cycles if x < 4 else 0 for _ in range(12)
             for x, cycles in enumerate((13_000, 33_000, 48_000, 60_000, *(0,) * 28))]  # fmt: skip
TRIANGLES = [50_000 if y <= x else 0 for _ in range(24) for y in range(3) for x in range(3)]
CAUSAL = [3_000 * (1 + x) for _ in range(24) for x in range(16)]
DRAWN = [int(n) for n in np.random.default_rng(1).lognormal(9.0, 1.0, 1000)]
KINDS = {
    "all": [60_000] * 400, "attention": ATTENTION, "triangles": TRIANGLES, "causal": CAUSAL,
    "drawn": DRAWN, "seldom": [60_000 if i % 9 == 0 else 0 for i in range(1000)],
    "every_other": [40_000 * (i % 2) for i in range(400)],
    "first": [60_000 if i < 66 else 20_000 for i in range(600)],
}  # fmt: skip
# Threads and bytes of shared memory: 1, 2, 4, 8 and 32 of such blocks on an SM
SHAPES = ((256, 200_000), (256, 100_000), (512, 0), (256, 0), (64, 0))
REPEATS = 3
COLUMNS = ("kind", "threads", "shared_bytes", "blocks_an_sm", "sms")


def main() -> None:
    """Writes unlike_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    function = driver.function(driver.load(session.cubin("unlike")), "unlike")
    driver.set_dynamic_shared(function, 200_000)
    out = driver.alloc(4 * 1024)
    rows = []
    for kind, cycles in KINDS.items():
        given = driver.upload(np.array(cycles, np.uint32))
        for threads, shared in SHAPES:
            held = driver.occupancy(function, threads, shared)
            for _ in range(REPEATS):
                driver.launch(function, (len(cycles),), (threads,), (out, given), shared)
                driver.synchronize()
                found = driver.download(out, len(cycles), np.uint32)
                rows.append((kind, threads, shared, held, found.tolist()))
    session.save_rows("unlike_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
