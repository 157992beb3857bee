"""Counts which requests of SMs for the same lines L2 serves at once: by how many blocks ask for
them, how far these lie from each other in the grid and in time, lines of a load, warps, and whether
L2 has the lines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

STEPS = 64
SHARERS = (1, 2, 4, 8, 16, 33, 66, 132)
APART = (0, 20, 100, 400, 2000)  # cycles from one block to the next
LINES = (1, 2, 4, 8, 32)
WARPS = (1, 8)
MOST_BYTES = 132 * STEPS * 32 * 128 * max(WARPS)
METRICS = (
    "l1tex__m_xbar2l1tex_read_sectors.sum", "lts__t_sectors_srcunit_tex.sum",
    "lts__t_requests_srcunit_tex.sum", "dram__sectors_read.sum", "sm__cycles_active.max",
)  # fmt: skip
STRIDES = (2, 3, 4, 6, 8, 16, 33, 66)  # blocks from one that shares to the next
COLUMNS = ("kernel", "sharers", "stride", "apart", "lines", "warps", *METRICS)


def cases() -> Iterator[tuple[str, int, int, int, int, int]]:
    """Kernel, blocks that share lines, stride, cycles between them, lines of a load, warps."""
    for kernel in ("together_waiting", "together_ahead"):
        for sharers in SHARERS:
            for apart in APART if sharers > 1 else APART[:1]:
                for lines in LINES:
                    for warps in WARPS:
                        yield kernel, sharers, 1, apart, lines, warps
    for sharers in SHARERS[1:]:
        for stride in STRIDES:
            for apart in APART[:3]:
                for warps in WARPS:
                    if sharers * stride <= 132:
                        yield "together_waiting", sharers, stride, apart, 4, warps


def main() -> None:
    """Writes put_together_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("put_together"))
    out, a = session.zeros(1 << 16), session.zeros(MOST_BYTES)
    counted = counter_of(session, METRICS)
    rows = []
    for case in cases():
        kernel, sharers, stride, apart, lines, warps = case
        given = out, a, *(np.uint32(n) for n in (STEPS, lines, sharers, apart, stride))
        launch = partial(
            driver.launch, driver.function(module, kernel), (132,), (32 * warps,), given
        )
        rows.append((*case, *counted(launch)))
    session.save_rows("put_together_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
