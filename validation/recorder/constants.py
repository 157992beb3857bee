"""Measures loads from constant memory whose lanes ask for different words."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

TURNS = 256  # loads of a warp
KERNELS = ("chase", "four")  # each load depends on the one before, or on the fourth before
GROUPS = (1, 2, 4, 8, 16, 32)  # of lanes that ask for the same word
APART = (1, 2, 4, 8, 16, 32, 64)  # words from one group's to the next one's
WARPS = (1, 4, 16)
COLUMNS = "kernel", "groups", "words_apart", "warps", "cycles_of_a_load"  # of the slowest warp


def main() -> None:
    """Writes constants_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("constants"))
    out = driver.alloc(8 * 32)
    rows = []
    for kernel, groups, apart, warps in itertools.product(KERNELS, GROUPS, APART, WARPS):
        function = driver.function(module, kernel)
        arguments = (out, *(np.uint32(n) for n in (6 - groups.bit_length(), apart, TURNS)))
        for _ in range(2):
            driver.launch(function, (1,), (32 * warps,), arguments)
        driver.synchronize()
        cycles = driver.download(out, warps, np.uint64).max()
        rows.append((kernel, groups, apart, warps, round(float(cycles) / TURNS, 2)))
    session.save_rows("constants_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
