"""Measures atomics on shared memory, by lanes on a word and warps on the same words."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

KERNELS = (
    "inc", "add", "add_lane", "add_returning", "inc_returning", "maximum", "add_float", "exchange",
)  # fmt: skip
# 1 << shift lanes on a word, words from one to the next
PATTERNS = (*((shift, 1) for shift in range(6)), (0, 2), (0, 4), (0, 32), (5, 0))
WARPS = (1, 4, 16)
LOOPS = 50  # of four atomics each
COLUMNS = ("kernel", "lanes_on_a_word", "words_apart", "warps", "cycles")  # of each atomic


def main() -> None:
    """Writes shared_atomics_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module, out = driver.load(session.cubin("shared_atomics")), driver.alloc(64)
    rows = []
    for kernel, (shift, apart), warps in itertools.product(KERNELS, PATTERNS, WARPS):
        function, found = driver.function(module, kernel), []
        for _ in range(3):
            words = (np.uint32(one) for one in (shift, apart, LOOPS, 3))
            driver.launch(function, (1,), (32 * warps,), (out, *words))
            driver.synchronize()
            found.append(int(driver.download(out, 1, np.uint64)[0]))
        cycles = round(min(found) / (4 * LOOPS * warps), 2)
        rows.append((kernel, 1 << shift, apart, warps, cycles))
    session.save_rows("shared_atomics_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
