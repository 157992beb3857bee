"""Times loads, stores and additions of rows that L2 has, by how lanes lie, how large the array is,
in which order warps go through it, and how many SMs do: of each block, on which SM it ran how long.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

METRICS = (
    "sm__cycles_active.avg", "sm__cycles_active.max", "gpc__cycles_elapsed.max",
    "lts__t_sectors_srcunit_tex.sum", "lts__t_requests_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum", "lts__t_sectors.sum",
)  # fmt: skip
BYTES = {"lines": 512, "line": 128, "sector": 32}  # of a piece
TURNS = {"lines": 128, "line": 512, "sector": 64}  # of a warp
MIB = (1, 8, 16)
BLOCKS = (8, 16, 24, 33, 50, 66, 82, 98, 115, 132, 264)  # the last: two for each SM
THREADS = 1024
COLUMNS = ("kernel", "mib", "in_order", "blocks", *METRICS, "sms", "cycles")


def main() -> None:
    """Writes hit_rates_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("hit_rates"))
    marks, data = session.zeros(24 * max(BLOCKS)), session.zeros(max(MIB) << 20)
    counted = counter_of(session, METRICS)
    rows = []
    kernels = [(way, size) for way in ("load", "store") for size in BYTES]
    kernels += [("add", size) for size in ("line", "sector")]
    for (way, size), mib, in_order, blocks in itertools.product(kernels, MIB, (1, 0), BLOCKS):
        if way != "load" and mib == 16:
            continue
        function = driver.function(module, f"hit_rates_{way}_{size}")
        pieces = (mib << 20) // BYTES[size]
        given = marks, data, *(np.uint32(one) for one in (pieces, TURNS[size], in_order))
        launch = partial(driver.launch, function, (blocks,), (THREADS,), given)
        for _ in range(2):  # all of it in both parts of L2
            launch()
        found = counted(launch)
        noted = driver.download(marks, 3 * blocks, np.uint64).reshape(-1, 3).astype(np.int64)
        sms, cycles = noted[:, 0].tolist(), (noted[:, 2] - noted[:, 1]).tolist()
        rows.append((f"{way}_{size}", mib, in_order, blocks, *found, sms, cycles))
    session.save_rows("hit_rates_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
