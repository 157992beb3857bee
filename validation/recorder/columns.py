"""Counts what the busiest slice of L2 serves, and times, where lanes walk along rows of a matrix,
by how far rows lie apart and by whether L2 or DRAM has them."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

METRICS = (
    "sm__cycles_active.avg", "gpc__cycles_elapsed.max", "lts__t_sectors.sum", "lts__t_sectors.max",
    "lts__t_sectors.min", "lts__t_requests.max", "lts__cycles_elapsed.max",
    "lts__lts2xbar_cycles_active.max", "lts__lts2xbar_cycles_active.avg", "dram__sectors_read.sum",
    "dram__sectors_read.max", "lts__t_sectors_srcunit_tex_lookup_hit.sum",
)  # fmt: skip
PITCHES = tuple(
    base + over
    for base in (1024, 2048, 4096, 8192, 12288, 16384, 32768)
    for over in (0, 32, 128, 512)
)  # bytes
SECTORS = (8, 24, 128)  # of a row: 17, 52 and 277 MB in all (8 and 24 where rows are short)
BLOCKS, THREADS = 264, 256
COLUMNS = ("kernel", "pitch", "sectors", *METRICS)


def main() -> None:
    """Writes columns_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("columns"))
    out, data = driver.alloc(4096), session.zeros(BLOCKS * THREADS * max(PITCHES))
    counted = counter_of(session, METRICS)
    rows = []
    for name, pitch, sectors in itertools.product(("load", "store"), PITCHES, SECTORS):
        if 32 * sectors > pitch:
            continue
        function = driver.function(module, f"columns_{name}")
        given = out, data, np.uint64(pitch), np.uint32(sectors)
        launch = partial(driver.launch, function, (BLOCKS,), (THREADS,), given)
        rows.append((name, pitch, sectors, *counted(launch)))
    session.save_rows("columns_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
