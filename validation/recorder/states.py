"""Records what warps are counted to wait for in loops of a few instructions, by warps."""

from __future__ import annotations

import itertools

import numpy as np
from launches import STATES
from session import Session

from counters import counter_on_all_sms

KERNELS = (
    "barrier_only", "barrier_chain", "load_chain", "barrier_load", "barrier_store_load",
    "barrier_one_loads", "loads_without_lanes", "constant_behind_barrier",
    "special_behind_barrier", "loop_short", "loop_long", "skips", "shuffles", "many_loads",
    "many_global", "scattered_then_special", "scattered_then_shared",
)  # fmt: skip
WARPS, ROUNDS = (1, 2, 4, 8, 16, 32), 256
METRICS = ("sm__cycles_active.avg", "smsp__inst_issued.sum", *STATES)
COLUMNS = ("kernel", "warps", *METRICS)  # of 132 blocks of so many warps


def main() -> None:
    """Writes states_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("states"))
    out, data = driver.alloc(1 << 16), driver.alloc(4 << 24)
    driver.fill(data, 0, 4 << 24)
    counted = counter_on_all_sms(session, METRICS)
    rows = []
    for kernel, warps in itertools.product(KERNELS, WARPS):
        function = driver.function(module, kernel)
        given = out, data, np.uint32(ROUNDS)
        rows.append((kernel, warps, *counted(function, warps, given)))
    session.save_rows("states_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
