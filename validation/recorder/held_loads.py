"""Measures where warps wait whose loads are on their way from DRAM, by how much of an SM's memory
is left to L1."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from launches import STATES
from session import Session

from counters import counter_of

KERNELS = (
    "held_4_1", "held_4_4", "held_4_8", "held_16_1", "held_16_2", "held_16_4", "held_16_8",
)  # fmt: skip
WARPS = (8, 16, 32)  # of the one block of an SM
SHARED = tuple(kilobytes << 10 for kilobytes in (1, 96, 160, 196, 212, 227))  # of the block
ROUNDS, SMS, SIZE = 16, 132, 1 << 29
METRICS = (
    "sm__cycles_active.avg", "smsp__inst_issued.sum", "dram__bytes_read.sum",
    *STATES,
)  # fmt: skip
COLUMNS = ("kernel", "warps", "shared", *METRICS)


def main() -> None:
    """Writes held_loads_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("held_loads"))
    out, data, other = driver.alloc(1 << 16), driver.alloc(SIZE), driver.alloc(SIZE)
    driver.fill(data, 0, SIZE)
    driver.fill(other, 0, SIZE)
    counted = counter_of(session, METRICS)
    reads = driver.function(module, "held_16_8")
    fill_l2 = partial(driver.launch, reads, (SMS,), (1024,), (out, other, np.uint32(ROUNDS)), 1024)
    rows = []
    for name, warps, shared in itertools.product(KERNELS, WARPS, SHARED):
        function = driver.function(module, name)
        driver.set_dynamic_shared(function, shared)
        given = out, data, np.uint32(ROUNDS)
        launch = partial(driver.launch, function, (SMS,), (32 * warps,), given, shared)
        rows.append((name, warps, shared, *counted(launch, fill_l2)))
    session.save_rows("held_loads_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
