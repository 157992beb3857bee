"""Measures what loads wait for that find their queue full, of which every one, every second or so
is an instruction of another kind: a read of a lane's number, a load of a constant or from shared
memory, a special function."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from lane_numbers import with_kinds
from launches import STATES
from session import Session

from counters import counter_of

OTHERS = {"number": ("NUMBER", "lane"), "constant": ("NUMBER", "constant"),
          "shared": ("SHARED", ""), "special": ("SPECIAL", "")}  # fmt: skip
EACH = (1, 2, 4, 8, 16)  # loads for each other instruction
WARPS = (16, 32)
SMS, ROUNDS, NONE = 132, 64, 4096
METRICS = ("sm__cycles_active.avg", "smsp__inst_issued.sum", *STATES)
COLUMNS = ("other", "each", "warps", *METRICS)


def main() -> None:
    """Writes named_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    out, data = driver.alloc(1 << 12), driver.alloc(1 << 17)
    driver.fill(data, 0, 1 << 17)
    counted = counter_of(session, METRICS)
    cubin = session.cubin("named")
    rows = []
    for other, (kernel, kind) in {"nothing": ("NOTHING", ""), **OTHERS}.items():
        module = driver.load(with_kinds(cubin, [kind]) if kind else cubin)
        for each, warps in itertools.product(EACH if other in OTHERS else (16,), WARPS):
            function = driver.function(module, f"named_{kernel}_{each}")
            given = out, data, np.uint32(ROUNDS), np.uint32(NONE)
            launch = partial(driver.launch, function, (SMS,), (32 * warps,), given)
            rows.append((other, each, warps, *counted(launch)))
    session.save_rows("named_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
