"""Measures a warp whose shared accesses, shuffles, transposes, loads or square roots each wait for
the one before, beside warps that load from L1, L2 or shared memory, store, shuffle, take roots."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from session import Session

TURNS = 512
CHAINS = "SHARED", "SHUFFLE", "TRANSPOSE", "GLOBAL", "ROOT"
# What the others do, by how many bytes apart and in how large a piece, and how often
TRAFFIC = (
    ("LOADS_4", 4, 8192), ("LOADS_4", 8, 8192), ("LOADS_4", 32, 8192), ("LOADS_4", 128, 16384),
    ("LOADS_16", 16, 8192), ("LOADS_16", 64, 16384), ("LOADS_4", 4, 1 << 20),
    ("LOADS_16", 16, 1 << 20), ("LOADS_4", 32, 1 << 20), ("STORES_4", 4, 8192),
    ("STORES_16", 16, 8192), ("STORES_4", 32, 8192), ("SHARED_LOADS_4", 4, 8192),
    ("SHARED_LOADS_4", 16, 8192), ("SHARED_LOADS_16", 16, 8192), ("ROOTS_4", 4, 8192),
    ("SHUFFLES_4", 4, 8192),
)  # fmt: skip
# Which warps: of the other sub-partitions, of the same, of all; warp 0 is of the first
OTHERS = (
    0, 0x00000002, 0x0000000E, 0x000000EE, 0x0000EEEE, 0xEEEEEEEE, 0x00000010, 0x00001110,
    0x11111110, 0x000000FE, 0x0000FFFE, 0xFFFFFFFE,
)  # fmt: skip
ACCESSES = 1024
COLUMNS = ("chain", "traffic", "step", "bytes", "others", "cycles", "an_access", "least", "most")


def cases() -> Iterator[tuple[str, str, int, int, int]]:
    """As COLUMNS, but for what is measured."""
    for chain in CHAINS:
        for traffic, step, size in TRAFFIC:
            for others in OTHERS:
                if others or traffic == "LOADS_4":
                    yield chain, traffic, step, size, others


def main() -> None:
    """Writes beside_loads_sm90.json: cycles of a step; of four accesses of the other warps,
    their mean, the first one's to end and the last one's."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("beside_loads"))
    out, data, rows = driver.alloc(512), driver.upload(np.zeros(1 << 20, np.uint32)), []
    for chain, traffic, step, size, others in cases():
        function = driver.function(module, f"{chain}_{traffic}")
        turns = [np.uint32(n) for n in (others, TURNS, ACCESSES, step, size)]
        for _ in range(2):
            driver.launch(function, (1,), (1024,), (out, data, *turns))
        took = driver.download(out, 32, np.uint32)
        mine = [int(took[warp]) for warp in range(32) if others >> warp & 1] or [0]
        of_others = sum(mine) / len(mine), min(mine), max(mine)
        rows.append((
            chain, traffic, step, size, others, round(took[0] / TURNS, 2),
            *(round(cycles / ACCESSES, 2) for cycles in of_others),
        ))  # fmt: skip
    session.save_rows("beside_loads_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
