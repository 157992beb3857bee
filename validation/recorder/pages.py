"""Times loads and stores of lines that L2 holds, by how many pages of 2 MiB they are spread
over."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

METRICS = (
    "sm__cycles_active.avg", "sm__cycles_active.max", "gpc__cycles_elapsed.max",
    "lts__t_sectors.sum", "lts__t_sectors.avg", "dram__sectors_read.sum",
    "dram__sectors_read.avg",
)  # fmt: skip
PAGES = (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)  # powers of two
PAGE_BYTES = 1 << 21
# blocks and threads of them
SHAPES = {"chase": ((1, 32), (132, 32), (132, 256)), "load": ((132, 32), (132, 256), (528, 512)),
          "gather": ((1, 256), (17, 256), (132, 32), (132, 256), (528, 256)),
          "store": ((132, 256), (528, 512))}  # fmt: skip
TURNS = {"chase": 1024, "load": 512, "gather": 128, "store": 512}
COLUMNS = ("kernel", "pages", "blocks", "threads", *METRICS)


def main() -> None:
    """Writes pages_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("pages"))
    out, data = driver.alloc(4096), session.zeros(PAGE_BYTES << max(PAGES))
    counted = counter_of(session, METRICS)
    rows = []
    for name, pages in itertools.product(SHAPES, PAGES):
        function = driver.function(module, f"pages_{name}")
        for blocks, threads in SHAPES[name]:
            given = out, data, np.uint32(pages), np.uint32(TURNS[name])
            launch = partial(driver.launch, function, (blocks,), (threads,), given)
            rows.append((name, pages, blocks, threads, *counted(launch)))
    session.save_rows("pages_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
