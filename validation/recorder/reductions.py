"""Measures atomics on global memory: turns of a warp's lanes, latencies by place."""

from __future__ import annotations

import ctypes as ct
import itertools

import numpy as np
from session import Session

COUNT = 16  # atomics of a warp
KERNELS = ("red_add", "red_float", "red_max64", "atom_add", "atom_exch", "atom_cas")
SHIFTS = range(6)  # 1 << shift lanes use one word
APART = (1, 8, 32)  # words from one such word to the next
WARPS = (1, 4, 8, 16)
LINES = 128
# Cycles of an atomic: from the first warp's beginning to the end of the last one's fence, over how
# many there are of a warp. Of "latency" the lines differ: `words_apart` is a line's number.
COLUMNS = "kernel", "lanes_on_a_word", "words_apart", "warps", "cycles"


def main() -> None:
    """Writes reductions_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("reductions"))
    size = 1 << 20
    data, clocks = driver.alloc(size), driver.alloc(8 * 16)
    driver.fill(data, 0, size)

    def run(kernel: str, place: ct.c_uint64, shift: int, apart: int, warps: int) -> float:
        function = driver.function(module, kernel)
        arguments = (clocks, place, *(np.uint32(n) for n in (shift, apart, 0)))
        for _ in range(2):
            driver.launch(function, (1,), (32 * warps,), arguments)
        driver.synchronize()
        found = driver.download(clocks, 2 * warps, np.uint32).astype(np.int64).reshape(-1, 2)
        return round(float(found[:, 1].max() - found[:, 0].min()) / COUNT, 2)

    rows = [
        (kernel, 1 << shift, apart, warps, run(kernel, data, shift, apart, warps))
        for kernel, shift, apart, warps in itertools.product(KERNELS, SHIFTS, APART, WARPS)
    ]
    for line in range(LINES):
        place = ct.c_uint64((data.value or 0) + line * 4096 + line % 32 * 128)
        rows.append(("latency", 1, line, 1, run("latency", place, 0, 0, 1)))
    session.save_rows("reductions_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
