"""Samples where warps of short blocks wait: at their first instructions, beside others' streams."""

from __future__ import annotations

import base64
import itertools
import lzma
from functools import partial

import numpy as np
from samples import Samples
from session import Session

STREAMS = ("SPECIAL", "SHARED", "CONFLICT", "STORE")
WARPS = 4  # of a block
ROUNDS = (4, 16)
SMS, THREADS = 132, 1 << 22  # of a launch
COLUMNS = ("kernel", "rounds", "offset", "state", "samples")


def main() -> None:
    """Writes starts_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    sampled = None if session.dry_run else Samples(driver.context, 6)
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
        launch()
        if sampled:
            found = sampled.of(name, launch, driver.synchronize)
            rows += [(name, rounds, *key, count) for key, count in sorted(found.items())]
    packed = base64.b64encode(lzma.compress(cubin)).decode()
    session.save_rows("starts_sm90", COLUMNS, rows, cubin_xz_base64=packed)


if __name__ == "__main__":
    main()
