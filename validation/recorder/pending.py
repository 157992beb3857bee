"""Measures loads of lines that are on their way to L1, beside loads of lines that are there."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

SAME = 1, 2, 4, 7, 14, 28  # loads of a line, each a word further
BLOCKS = 4224, 2112, 1056, 528  # of 256 threads
STEPS = 32, 0  # words from a warp's line to its next
COUNT, REPEATS = 64, 9
COLUMNS = "loads_of_a_line", "blocks", "step_words", "ns"  # by events, the median


def main() -> None:
    """Writes pending_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("pending"))
    size = 4 * (max(BLOCKS) * 8 * COUNT * max(STEPS) + 4096)
    data, out = driver.alloc(size), driver.alloc(1 << 24)
    driver.fill(data, 0, size)
    rows = []
    for same, blocks, step in itertools.product(SAME, BLOCKS, STEPS):
        function = driver.function(module, f"rows_{same}")
        given = out, data, np.int32(COUNT), np.int32(step)
        events = [driver.event() for _ in range(REPEATS + 1)]
        driver.launch(function, (blocks,), (256,), given)
        for event in events[:-1]:
            driver.record(event)
            driver.launch(function, (blocks,), (256,), given)
        driver.record(events[-1])
        found = [1e6 * driver.elapsed_ms(*pair) for pair in itertools.pairwise(events)]
        rows.append((same, blocks, step, round(float(np.median(found)), 1)))
    session.save_rows("pending_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
