"""Records what warps that load constants by indices are counted to wait for, by how many different
words their lanes ask for and by warps."""

from __future__ import annotations

import itertools

import numpy as np
from launches import REASONS
from session import Session

from counters import Counters

KERNELS = "chase", "four", "mixed"  # see constants.cu
GROUPS, WARPS, TURNS, SMS = (1, 2, 4, 8, 32), (1, 4, 8, 16, 32), 256, 132
STATES = tuple(f"smsp__warps_issue_stalled_{reason}.sum" for reason in REASONS)
METRICS = ("sm__cycles_active.avg", "smsp__inst_issued.sum", *STATES)
COLUMNS = ("kernel", "groups", "warps", *METRICS)  # of 132 blocks of so many warps


def main() -> None:
    """Writes constant_states_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("constants"))
    out = driver.alloc(8 * 32)
    counters = None if session.dry_run else Counters(driver.context)
    if counters is not None:
        counters.configure(METRICS)
    rows = []
    for kernel, groups, warps in itertools.product(KERNELS, GROUPS, WARPS):
        function = driver.function(module, kernel)
        given = out, *(np.uint32(n) for n in (6 - groups.bit_length(), 1, TURNS))

        def launch(function=function, warps=warps, given=given) -> None:
            driver.launch(function, (SMS,), (32 * warps,), given)

        launch()
        found = dict.fromkeys(METRICS, 0.0)
        if counters is not None:
            found = counters.measure(launch, lambda: None, driver.synchronize)
        rows.append((kernel, groups, warps, *(round(found[name], 1) for name in METRICS)))
    session.save_rows("constant_states_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
