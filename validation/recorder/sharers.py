"""Measures what blocks wait for that walk through the same parts of an array in step: those of a
row through one, those of a column through another, as tiled products do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from session import Session

SMS, WARPS, ROUNDS, SKIPPED = 132, 8, 96, 16
KERNELS = (1, 0), (2, 0), (4, 0), (1, 1), (2, 2)  # loads of 512 bytes of the row, of the column
WORK = 0, 64, 256  # multiply-adds behind the loads of a round, each of 4 cycles
WIDTHS = 1, 2, 4, 11, 33, 66, 132
TABLE = 1 << 28  # bytes of the rows' parts; as much for the columns'
COLUMNS = ("rows", "columns", "blocks", "width", "work", "of_dram", "round", "first", "mean",
           "last", "quarters")  # fmt: skip


def cases() -> Iterator[tuple[int, ...]]:
    """Loads of the row and of the column, blocks of an SM, width, work, whether from DRAM."""
    for (rows, columns), width, work in (
        (kernel, width, work) for kernel in KERNELS for width in WIDTHS for work in WORK
    ):
        for blocks in (1, 2):
            yield rows, columns, blocks, width, work, 1
        if width in (1, 132):
            yield rows, columns, 1, width, work, 0


def record(session: Session, module: Any, out: Any, data: Any, case: tuple[int, ...]) -> list[Any]:
    """Of a round: its cycles, those until the first, the middle and the last warp of a block have
    their loads, and quartiles of the last's."""
    rows, columns, blocks, width, work, of_dram = case
    driver, grid = session.driver, SMS * blocks
    function = driver.function(module, f"sharers_{rows}_{columns}")
    arguments = out, data, np.uint32(width), np.uint32(ROUNDS), np.uint32(work)
    if of_dram:  # L2 is full of clean lines of something else
        numbers = np.uint32(1), np.uint32(ROUNDS), np.uint32(0)
        other = type(data)(data.value + 2 * TABLE)
        flush = driver.function(module, "sharers_4_0")
        driver.launch(flush, (SMS,), (32 * WARPS,), (out, other, *numbers))
    for _ in range(1 if of_dram else 2):
        driver.launch(function, (grid,), (32 * WARPS,), arguments)
    found = driver.download(out, grid * (ROUNDS * WARPS + 1), np.uint32)
    found = found.reshape(grid, ROUNDS * WARPS + 1).astype(float)
    took = found[:, :-1].reshape(grid, ROUNDS, WARPS)[:, SKIPPED:]
    last = took.max(2)
    numbers = found[:, -1].mean() / ROUNDS, took.min(2).mean(), took.mean(), last.mean()
    quarters = [round(float(np.percentile(last, share)), 1) for share in (5, 25, 50, 75, 95)]
    return [*case, *(round(float(one), 1) for one in numbers), quarters]


def main() -> None:
    """Writes sharers_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("sharers"))
    size = 4096 if session.dry_run else 4 * TABLE
    data, out = driver.alloc(size), driver.alloc(4 * SMS * 2 * (ROUNDS * WARPS + 1))
    driver.fill(data, 0, size)
    listed = list(cases())
    if session.dry_run:
        listed = listed[:1]
    else:
        record(session, module, out, data, listed[0])  # the clocks rise
    session.save_rows("sharers_sm90", COLUMNS, [
        record(session, module, out, data, case) for case in listed
    ])  # fmt: skip


if __name__ == "__main__":
    main()
