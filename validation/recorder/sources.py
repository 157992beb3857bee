"""Measures what warps are counted to wait for whose next addresses, or data to store, are written
where an earlier memory instruction has its own: when its registers are read."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from launches import STATES
from session import Session

from counters import counter_of

KERNELS = ("load_shared", "store_shared", "load_global", "store_global", "load_l2", "data_shared",
           "data_global")  # fmt: skip
WARPS = (1, 2, 4, 8, 16, 32)
APART = (4, 32, 128)  # bytes from a lane to the next
STEP, OWN, SMS = 32, 1 << 16, 132  # bytes from one access to the next, and of a block
BLOCKS = (132, 198, 264)  # of 8 warps: one on each SM, two on half of them, two on each
METRICS = ("sm__cycles_active.avg", "smsp__inst_issued.sum", *STATES)
COLUMNS = ("kernel", "warps", "apart", "blocks", *METRICS)


def main() -> None:
    """Writes sources_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("sources"))
    out, data = driver.alloc(4096), driver.alloc(BLOCKS[-1] * OWN)
    driver.fill(data, 0, BLOCKS[-1] * OWN)
    counted = counter_of(session, METRICS)
    rows = []
    for name, warps, apart in itertools.product(KERNELS, WARPS, APART):
        given = out, data, np.uint32(apart), np.uint32(STEP)
        function = driver.function(module, name)
        for blocks in BLOCKS if warps == 8 else (SMS,):
            launch = partial(driver.launch, function, (blocks,), (32 * warps,), given)
            rows.append((name, warps, apart, blocks, *counted(launch)))
    session.save_rows("sources_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
