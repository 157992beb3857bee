"""Measures the clock of SMs while their tensor cores or arithmetic pipes are busy."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

KERNELS = (
    "half_float", "bf16_float", "tf32_float", "bytes_int", "half_half", "fma_float", "double_mma",
)  # fmt: skip
BLOCKS = (33, 66, 99, 132)
GAPS = (0, 8, 24, 64)  # dependent multiplications between groups of tensor instructions
TARGETS_US = (20, 100, 1000, 20000)
THREADS = 256
COLUMNS = ("kernel", "data", "blocks", "gap", "turns", "cycles", "ns", "mhz")


def main() -> None:
    """Writes droop_sm90.json: cycles and nanoseconds of the blocks, the mean of each."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("droop"))
    out = driver.alloc(132 * 32)
    random = np.random.default_rng(1)
    halves = random.uniform(-1, 1, 8 * THREADS * 2).astype(np.float16).view(np.uint32)
    inputs = {"random": driver.upload(halves), "zero": driver.upload(np.zeros_like(halves))}
    rows = []
    for kernel, (data, values), blocks, gap in itertools.product(
        KERNELS, inputs.items(), BLOCKS, GAPS
    ):
        if data == "zero" and (gap or blocks != 132):
            continue
        function, ns = driver.function(module, kernel), 0.0
        turns = 200
        for target in (None, *TARGETS_US):  # the first finds out how long a turn takes
            if target:
                turns = int(min(1e8, max(1, turns * target * 1e3 / max(1.0, ns))))
            arguments = (out, values, np.uint32(turns), np.uint32(gap))
            driver.launch(function, (blocks,), (THREADS,), arguments)
            driver.synchronize()
            found = driver.download(out, 4 * blocks, np.uint64).astype(np.int64).reshape(-1, 4)
            cycles = float((found[:, 1] - found[:, 0]).mean())
            ns = float((found[:, 3] - found[:, 2]).mean())
            mhz = round(1e3 * cycles / max(1.0, ns), 1)
            if target:
                rows.append((kernel, data, blocks, gap, turns, cycles, ns, mhz))
    session.save_rows("droop_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
