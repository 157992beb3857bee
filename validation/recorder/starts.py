"""Samples where warps of short blocks wait: at their first instructions, beside others' streams."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from samples import sampler_of
from session import Session

STREAMS = ("SPECIAL", "SHARED", "CONFLICT", "STORE")
WARPS = 4  # of a block
ROUNDS = (4, 16)
SMS, THREADS = 132, 1 << 22  # of a launch
# Every 64 cycles some samples are lost; every 512 they fall in step with rounds of conflicts: 83 %
# of them are of a wait that is 54 and 52 % of those taken every 64 and 2,048 cycles.
LOG2_PERIOD = 11
COLUMNS = ("kernel", "rounds", "offset", "state", "samples")


def main() -> None:
    """Writes starts_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    sampled = sampler_of(session, LOG2_PERIOD)
    cubin = session.cubin("starts")
    module = driver.load(cubin)
    out, data = driver.alloc(1 << 16), driver.alloc(1 << 16)
    driver.fill(data, 0, 1 << 16)
    rows = []
    for stream, rounds in itertools.product(STREAMS, ROUNDS):
        name = f"starts_{stream}"
        function = driver.function(module, name)
        given = out, data, np.uint32(rounds), np.uint32(0)
        shape = (THREADS // 32 // WARPS,), (32, WARPS)
        launch = partial(driver.launch, function, *shape, given)
        rows += [(name, rounds, *row) for row in sampled(name, launch)]
    session.save_rows("starts_sm90", COLUMNS, rows, cubin=cubin)


if __name__ == "__main__":
    main()
