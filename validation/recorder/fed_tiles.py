"""Measures tiled products whose tiles come from global memory: cycles, what warps are counted to
wait for and what L2 and DRAM read, by who shares the tiles and whether L2 holds them before."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from launches import STATES
from session import Session

from counters import counter_of

SMS, THREADS, DEPTH = 132, 256, 1024  # of a product
STEPS = {"rows8": 8, "columns8": 8, "columns16": 16, "strided8": 8}  # of k in a tile
WIDTHS = 1, 12, 44  # blocks that share their rows, and lie beside each other
FLUSHED = 1 << 28  # bytes that are read before
METRICS = (
    "sm__cycles_active.avg", "smsp__inst_issued.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "lts__t_sectors_srcunit_tex_op_read.sum",
    "dram__bytes_read.sum", *STATES,
)  # fmt: skip
COLUMNS = ("kernel", "blocks", "width", "of_dram", *METRICS)


def cases() -> Iterator[tuple[str, int, int, int]]:
    """Kernel, blocks of an SM, width, whether tiles come from DRAM: always where all blocks have
    their own rows, which L2 has no room for."""
    for name in STEPS:
        for blocks in (1, 2):
            for width in WIDTHS:
                for of_dram in (0, 1) if width > 1 else (1,):
                    yield f"fed_{name}", blocks, width, of_dram


def numbers(name: str, width: int) -> tuple[np.uint32, ...]:
    """Width, columns of B and rounds."""
    return (
        np.uint32(width), np.uint32(128 * width), np.uint32(DEPTH // STEPS[name.split("_")[1]])
    )  # fmt: skip


def main() -> None:
    """Writes fed_tiles_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("fed_tiles"))
    size = 4096 if session.dry_run else 4 * 128 * 2 * SMS * DEPTH
    out, a, b = driver.alloc(4 * 1024), driver.alloc(size), driver.alloc(size)
    other = driver.alloc(4096 if session.dry_run else FLUSHED)
    for array, count in ((a, size), (b, size), (other, 4096 if session.dry_run else FLUSHED)):
        driver.fill(array, 0, count)
    through = driver.function(module, "read_through")
    flush = partial(
        driver.launch, through, (8 * SMS,), (THREADS,), (out, other, np.uint32(FLUSHED // 16))
    )
    counted = counter_of(session, METRICS)
    rows = []
    for name, blocks, width, of_dram in cases():
        given = out, a, b, *numbers(name, width)
        function = driver.function(module, name)
        launch = partial(driver.launch, function, (SMS * blocks,), (THREADS,), given)
        found = counted(launch, flush) if of_dram else counted(launch)
        rows.append((name, blocks, width, of_dram, *found))
    session.save_rows("fed_tiles_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
