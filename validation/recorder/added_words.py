"""Times additions to lines drawn by lot that L2 has, or DRAM, by how many lanes share a word, words
a sector, and sectors a line."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

METRICS = (
    "sm__cycles_active.avg", "sm__cycles_active.max", "gpc__cycles_elapsed.max",
    "lts__t_sectors_srcunit_tex.sum", "lts__t_requests_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
)  # fmt: skip
WIDE = ("double", "pair", "long")  # of which a sector has four
KERNELS = ("int", "float", *WIDE, "ask")
MIB = (8, 128)
BLOCKS = (16, 66, 132)
THREADS, TURNS = 1024, 128
COLUMNS = ("kernel", "mib", "blocks", "lanes", "words", "sectors", *METRICS)


def main() -> None:
    """Writes added_words_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("added_words"))
    data = session.zeros(max(MIB) << 20)
    counted = counter_of(session, METRICS)
    rows = []
    shapes = itertools.product(KERNELS, MIB, BLOCKS, range(6), range(4), range(3))
    for name, mib, blocks, lanes, words, sectors in shapes:
        if lanes + words + sectors > 5 or (name in WIDE and words > 2) or (mib > 8 and lanes):
            continue
        function = driver.function(module, f"added_words_{name}")
        numbers = ((mib << 20) // 128, TURNS, lanes, words, sectors)
        given = data, *map(np.uint32, numbers)
        launch = partial(driver.launch, function, (blocks,), (THREADS,), given)
        for _ in range(2):
            launch()
        rows.append((name, mib, blocks, 1 << lanes, 1 << words, 1 << sectors, *counted(launch)))
    session.save_rows("added_words_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
