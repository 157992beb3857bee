"""Measures long blocks that begin together, by how many an SM has and what they wait for."""

from __future__ import annotations

from functools import partial

import numpy as np
from session import Session

from counters import counter_of

SMS = 132
KERNELS = "chains", "two_chains", "four_chains", "tiles", "roots"
THREADS = 128, 256, 512
BLOCKS = 1, 2, 3, 4, 6, 8  # of an SM
TURNS = 6000
A, B = 0.999, 0.5
METRICS = (
    "gpu__time_duration.sum", "sm__cycles_active.avg", "sm__cycles_active.max",
    "sm__warps_active.avg.pct_of_peak_sustained_active", "smsp__inst_executed.sum",
)  # fmt: skip
COLUMNS = ("kernel", "threads", "blocks_an_sm", *METRICS)


def main() -> None:
    """Writes begun_together_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("begun_together"))
    out = driver.alloc(4 * SMS * max(BLOCKS) * max(THREADS))
    counted = counter_of(session, METRICS)
    rows = []
    for name in KERNELS:
        function = driver.function(module, name)
        for threads in THREADS:
            for blocks in BLOCKS:
                if blocks > driver.occupancy(function, threads, 0):
                    continue
                given = out, np.uint32(TURNS), np.float32(A), np.float32(B)
                launch = partial(driver.launch, function, (blocks * SMS,), (threads,), given)
                rows.append((name, threads, blocks, *counted(launch)))
    session.save_rows("begun_together_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
