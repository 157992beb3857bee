"""Measures how many memory instructions a sub-partition takes before its warps have to wait."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

COUNT = 16  # instructions of a warp
KERNELS = ("load_shared", "store_shared", "load_global", "store_global")
LANE = (4, 16)  # bytes of a lane
THEN = (
    "load_shared_then_shared", "load_shared_then_global", "load_global_then_shared",
    "load_global_then_global", "store_global_then_shared", "store_global_then_global",
)  # fmt: skip
WARPS = (1, 2, 4, 8, 16)
APART = (16, 32, 64, 128)  # bytes from a lane to the next
# Clocks per warp: before each of sixteen instructions and after the last; before eight of them,
# after their issue, when one that follows has its data, and when all have.
COLUMNS = "kernel", "warps", "apart", "clocks"


def main() -> None:
    """Writes queues_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("queues"))
    size = 34 * 8192
    data, clocks = driver.alloc(size), driver.alloc(4 * 32 * (COUNT + 1))
    driver.fill(data, 0, size)
    kernels = {f"{kernel}_{lane}": COUNT + 1 for kernel in KERNELS for lane in LANE}
    kernels |= dict.fromkeys(THEN, 4)
    rows = []
    for kernel, warps, apart in itertools.product(kernels, WARPS, APART):
        function, n = driver.function(module, kernel), kernels[kernel]
        for _ in range(3):  # the last one counts: its code is in the caches
            driver.launch(function, (1,), (32 * warps,), (clocks, data, np.uint32(apart)))
        driver.synchronize()
        found = driver.download(clocks, warps * n, np.uint32).astype(np.int64)
        rows.append((kernel, warps, apart, (found - found.min()).reshape(warps, n).tolist()))
    session.save_rows("queues_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
