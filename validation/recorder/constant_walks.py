"""Counts warps that walk through constants, by how many bytes and in what steps, by warps of an SM,
by how long after each other they begin and by how much arithmetic stands between."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from launches import STATES
from session import Session

from counters import counter_of

KINDS, WORDS, WORKS = ("uniform", "loaded"), (4, 16), (0, 8, 32)  # words of a step
SIZES = 1024, 2048, 4096, 8192, 16384, 32768, 65536  # bytes
WARPS, DELAYS, STEPS = (1, 4, 16, 32), (0, 100, 1000), 4096  # steps of a warp, all in all
METRICS = ("sm__cycles_active.avg", "smsp__inst_issued.sum", *STATES)
COLUMNS = ("kernel", "size", "warps", "delay", "steps", *METRICS)


def main() -> None:
    """Writes constant_walks_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("constant_walks"))
    out = driver.alloc(4096)
    counted = counter_of(session, METRICS)
    rows = []
    for kind, words, work, size, warps in itertools.product(KINDS, WORDS, WORKS, SIZES, WARPS):
        name = f"{kind}_{words}_{work}"
        function = driver.function(module, name)
        steps = size // (4 * words)
        turns = max(2, STEPS // steps)
        for delay in DELAYS if warps > 1 else (0,):
            given = out, *(np.uint32(n) for n in (turns, steps, delay))
            launch = partial(driver.launch, function, (132 * warps,), (32,), given)
            rows.append((name, size, warps, delay, turns * steps, *counted(launch)))
    session.save_rows("constant_walks_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
