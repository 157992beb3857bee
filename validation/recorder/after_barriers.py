"""Samples where warps wait at barriers: at which instructions behind them."""

from __future__ import annotations

from functools import partial

import numpy as np
from samples import sampler_of
from session import Session

KERNELS = (
    "iadd3", "imad", "imad_wide", "lop3", "shf", "prmt", "isetp", "idp", "ffma", "fset", "hfma2",
    "dfma", "dadd", "mufu", "popc", "flo", "brev", "f2i", "i2f", "i2f64", "f2f", "f2fp", "vote",
    "shfl", "match_any", "redux", "cs2r", "s2r", "mma", "dmma", "imma", "ldc", "ldsm", "lds", "sts",
    "atoms", "ldg", "stg", "red", "ldgsts", "commit", "wait_group", "fence_block", "warpsync",
    "nanosleep", "prefetch", "branch",
)  # fmt: skip
SMS, THREADS, ROUNDS, LATE = 132, 128, 64, 4000  # cycles that a block's first warp comes late
COLUMNS = ("kernel", "offset", "state", "samples")


def main() -> None:
    """Writes after_barriers_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    sampled = sampler_of(session, 9)
    cubin = session.cubin("after_barriers")
    module = driver.load(cubin)
    out = driver.alloc(4 * SMS * THREADS)
    rows = []
    for name in KERNELS:
        function = driver.function(module, name)
        given = out, np.uint32(ROUNDS), np.uint32(LATE)
        launch = partial(driver.launch, function, (SMS,), (THREADS,), given)
        rows += [(name, *row) for row in sampled(name, launch)]
    session.save_rows("after_barriers_sm90", COLUMNS, rows, cubin=cubin)


if __name__ == "__main__":
    main()
