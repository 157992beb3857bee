"""Counts what a block finds in L1 of arrays that just fit beside each setting of the carve-out, by
its threads, registers and shared memory: which setting the driver has chosen for the kernel."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from l1_capacity import METRICS, WHOLE
from session import Session

from counters import counter_of

CARVEOUTS = 0, 8, 16, 32, 64, 100, 132, 164, 196  # KiB
THREADS = 32, 64, 128, 192, 256, 384, 512, 768, 1024
SHARED = 0, 512, 1024, 2048, 4096, 8192, 16384, 33792, 49152
ROOM = 8  # KiB less than L1 has: all of it stays
KEPT = 1, 32, 56, 112  # values in registers
REGISTERS = 4  # number of the function's attribute
COLUMNS = ("registers", "threads", "shared_bytes", "array_kib", *METRICS)


def main() -> None:
    """Writes carveouts_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("carveouts"))
    out, a = driver.alloc(1 << 20), session.zeros(1 << 20)
    counted = counter_of(session, METRICS)
    rows = []
    for kept, threads, shared in itertools.product(KEPT, THREADS, SHARED):
        function = driver.function(module, f"kept_{kept}")
        registers = driver.function_attribute(function, REGISTERS)
        if registers * threads > 65536:
            continue
        for carveout in CARVEOUTS:
            kib = WHOLE - carveout - ROOM
            given = out, a, np.uint32(256 * kib)
            launch = partial(driver.launch, function, (1,), (threads,), given, shared)
            rows.append((registers, threads, shared, kib, *counted(launch)))
    session.save_rows("carveouts_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
