"""Measures loads from shared memory of 4, 8 and 16 bytes a lane: cycles of one that waits for the
one before, and of four at a time, by what the lanes share and by warps of the SM."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from session import Session

TURNS = 128
WIDTHS, PARALLEL, WARPS = (4, 8, 16), (1, 4), (1, 2, 4, 8, 16, 32)
# Lanes read (lane / group % wide) times their own bytes, times `apart`
PATTERNS = (
    (1, 32, 1), (1, 32, 2), (1, 32, 4), (16, 2, 1), (16, 2, 2), (4, 8, 1), (1, 4, 1), (1, 16, 1),
    (1, 16, 2), (2, 16, 1), (32, 1, 1), (8, 4, 1),
)  # fmt: skip
COLUMNS = ("width", "parallel", "group", "wide", "apart", "warps", "cycles")  # of a turn


def cases() -> Iterator[tuple[int, int, int, int, int, int]]:
    """As COLUMNS, but for the cycles."""
    for width in WIDTHS:
        for parallel in PARALLEL:
            for group, wide, apart in PATTERNS:
                for warps in WARPS:
                    yield width, parallel, group, wide, apart, warps


def main() -> None:
    """Writes wide_loads_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("wide_loads"))
    out, rows = driver.alloc(512), []
    for width, parallel, group, wide, apart, warps in cases():
        function = driver.function(module, f"loads_{width}_{parallel}")
        numbers = (np.uint32(n) for n in (group, wide, apart * width, TURNS))
        given = (out, *numbers)
        for _ in range(2):
            driver.launch(function, (1,), (32 * warps,), given)
        took = driver.download(out, warps, np.uint32)
        case = width, parallel, group, wide, apart, warps
        rows.append((*case, round(float(took.mean()) / TURNS, 2)))
    session.save_rows("wide_loads_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
