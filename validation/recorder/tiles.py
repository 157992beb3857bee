"""Measures the inner loops of tiled products without global memory: cycles, and what warps are
counted to wait for, by how a tile is read, with and without stores and barriers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from launches import STATES
from session import Session

from counters import counter_on_all_sms

ROUNDS = 64
THREADS = {"warped4": 128}  # all others 256
NAMES = (
    "rows8", "columns8", "columns16", "strided8", "padded8", "warped4", "warped1", "small",
    "halves", "thirds", "doubles",
)  # fmt: skip
METRICS = (
    "sm__cycles_active.avg", "smsp__inst_issued.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "l1tex__lsu_writeback_active.sum", *STATES,
)  # fmt: skip
COLUMNS = ("kernel", "threads", "blocks", *METRICS)


def cases() -> Iterator[tuple[str, int, int]]:
    """Kernel, threads of a block, blocks of an SM."""
    for name in NAMES:
        for suffix in ("", "_stores"):
            for blocks in (1, 2) if name != "warped4" else (1, 2, 3):
                yield f"tile_{name}{suffix}", THREADS.get(name, 256), blocks


def main() -> None:
    """Writes tiles_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("tiles"))
    out = driver.alloc(4 * 1024)
    counted = counter_on_all_sms(session, METRICS)
    rows = []
    for name, threads, blocks in cases():
        function = driver.function(module, name)
        given = out, np.uint32(ROUNDS)
        rows.append((name, threads, blocks, *counted(function, threads // 32, given, blocks)))
    session.save_rows("tiles_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
