"""Records what warps are counted to wait for in loops of a few instructions, by warps."""

from __future__ import annotations

import itertools

import numpy as np
from launches import REASONS
from session import Session

from counters import Counters

KERNELS = (
    "barrier_only", "barrier_chain", "load_chain", "barrier_load", "barrier_store_load",
    "barrier_one_loads", "loads_without_lanes", "constant_behind_barrier",
    "special_behind_barrier", "loop_short", "loop_long", "skips", "shuffles", "many_loads",
    "many_global", "scattered_then_special", "scattered_then_shared",
)  # fmt: skip
WARPS, ROUNDS, SMS = (1, 2, 4, 8, 16, 32), 256, 132
STATES = tuple(f"smsp__warps_issue_stalled_{reason}.sum" for reason in REASONS)
METRICS = ("sm__cycles_active.avg", "smsp__inst_issued.sum", *STATES)
COLUMNS = ("kernel", "warps", *METRICS)  # of 132 blocks of so many warps


def main() -> None:
    """Writes states_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("states"))
    out, data = driver.alloc(1 << 16), driver.alloc(4 << 24)
    driver.fill(data, 0, 4 << 24)
    counters = None if session.dry_run else Counters(driver.context)
    if counters is not None:
        counters.configure(METRICS)
    rows = []
    for kernel, warps in itertools.product(KERNELS, WARPS):
        function = driver.function(module, kernel)
        given = out, data, np.uint32(ROUNDS)

        def launch(function=function, warps=warps, given=given) -> None:
            driver.launch(function, (SMS,), (32 * warps,), given)

        launch()
        found = dict.fromkeys(METRICS, 0.0)
        if counters is not None:
            found = counters.measure(launch, lambda: None, driver.synchronize)
        rows.append((kernel, warps, *(round(found[name], 1) for name in METRICS)))
    session.save_rows("states_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
