"""Measures how long instructions take: latencies and rates of some 160 operations."""

from __future__ import annotations

import re

import build
import numpy as np
from cuda_driver import Array
from session import Session

OPERATIONS = 8 * 64  # of a warp between its two readings of the clock
RUNS = (("one", 1), ("one", 4), ("one", 16), ("four", 4), ("four", 16))  # chains, warps
SIZE = 1 << 20
ONES = {"float": np.float32(1.0), "double": np.float64(1.0)}  # others start from zeros
# Cycles of an operation: from the first warp's beginning to the last one's end, over how many there
# are of a warp.
COLUMNS = "operation", "chains", "warps", "cycles"


def operations() -> dict[str, str]:
    """The type of each operation of paces.cu."""
    text = (build.KERNELS / "paces.cu").read_text()
    found = re.findall(r"^(?:[A-Z]+\d?)\((\w+), ?(\w+)?", text, re.M)
    return {name: kind for name, kind in found if name.islower()}


def pace(clocks: Array) -> float:
    """From the clocks per warp, before and after."""
    return round(float(clocks[:, 1].max() - clocks[:, 0].min()) / OPERATIONS, 3)


def main() -> None:
    """Writes paces_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("paces"))
    clocks, data = driver.alloc(8 * 16), driver.alloc(SIZE)
    rows = []
    for name, kind in operations().items():
        for chains, warps in RUNS:
            function = driver.function(module, f"{chains}_{name}")
            one = ONES.get(kind)
            if one is None or session.dry_run:
                driver.fill(data, 0, SIZE)
            else:
                driver.write(data, np.full(SIZE // one.itemsize, one))
            for _ in range(2):
                driver.launch(function, (1,), (32 * warps,), (clocks, data, np.uint32(0)))
            driver.synchronize()
            found = driver.download(clocks, 2 * warps, np.uint32).astype(np.int64)
            rows.append((name, chains, warps, pace(found.reshape(warps, 2))))
    session.save_rows("paces_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
