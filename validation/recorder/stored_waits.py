"""Measures loads of what the same warp has stored, or loaded, some cycles before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from session import Session

LINES = 128
KINDS = "stored", "streamed", "loaded"
WARPS = 1, 4, 16
WAITS = 0, 40, 80, 160, 320, 640, 1280, 2560
COLUMNS = ("kernel", "warps", "wait", "median", "mean", "quarters")


def cases() -> Iterator[tuple[str, int, int]]:
    """Kernel, warps of the block, cycles between."""
    for kind in KINDS:
        for warps in WARPS:
            for wait in WAITS:
                yield f"waits_{kind}", warps, wait


def main() -> None:
    """Writes stored_waits_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("stored_waits"))
    size = 4 * 32 * LINES * max(WARPS)
    out, data = driver.alloc(4 * LINES * max(WARPS)), driver.alloc(size)
    driver.fill(data, 0, size)
    rows = []
    for name, warps, wait in cases():
        function = driver.function(module, name)
        for _ in range(2):
            given = out, data, np.uint32(LINES), np.uint32(wait)
            driver.launch(function, (1,), (32 * warps,), given)
        took = driver.download(out, LINES * warps, np.uint32).astype(float)
        quarters = [round(float(np.percentile(took, share)), 1) for share in (5, 25, 75, 95)]
        rows.append((name, warps, wait, float(np.median(took)), round(float(took.mean()), 1),
                     quarters))  # fmt: skip
    session.save_rows("stored_waits_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
