"""Measures warps of one block an SM that add to few words: when SMs end, and what loads of another
warp wait for meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from session import Session

from counters import counter_of

SMS, PROBES, WORDS = 132, 40, 256  # words that a block writes
# Sectors of an addition of a warp, by kind: see the kernel
SECTORS = {0: 1, 1: 8, 2: 1, 3: 4, 4: 8}
PAIRS = (1, 6, 32, 1024)  # of lines
OF_AN_SM = (32, 64, 128, 256, 320, 384, 512, 1024, 2048)  # sectors
METRICS = (
    "gpu__time_duration.sum", "sm__cycles_active.avg", "sm__cycles_active.max",
    "sm__cycles_active.min", "sm__cycles_elapsed.max",
)  # fmt: skip
COLUMNS = ("kind", "pairs", "sectors", "warps", "rounds", *METRICS)
LOADS = ("kind", "pairs", "sectors", "lines", "at", "latency", "all_added")  # means of all SMs


def cases() -> Iterator[tuple[int, int, int, int, int]]:
    """Kind, pairs, sectors, warps and rounds."""
    for kind in (1, 0, 2, 3, 4):
        for pairs in PAIRS:
            for sectors in OF_AN_SM:
                for warps in (2, 9):
                    rounds = sectors // SECTORS[kind] // (warps - 1)
                    if rounds:
                        yield kind, pairs, sectors, warps, rounds


def main() -> None:
    """Writes behind_adds_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    function = driver.function(driver.load(session.cubin("behind_adds")), "behind_adds")
    out, words, data = driver.alloc(SMS * WORDS * 4), driver.alloc(1 << 22), driver.alloc(1 << 24)
    driver.fill(words, 0, 1 << 22)
    driver.fill(data, 0, 1 << 24)

    def run(kind: int, rounds: int, pairs: int, warps: int, probes: int, fenced: int) -> None:
        numbers = (np.int32(n) for n in (kind, rounds, pairs, probes, fenced))
        given = out, words, data, np.uint32((1 << 17) - 1), *numbers
        driver.launch(function, (SMS,), (32 * warps,), given)
        driver.synchronize()

    def noted(*given: int) -> Any:
        for _ in range(3):
            run(*given)
        return driver.download(out, SMS * WORDS, np.uint32).reshape(SMS, WORDS).mean(0)

    loads: list[Any] = []
    for kind, pairs, sectors, warps, rounds in cases():
        if warps == 2 and kind and pairs <= 6 and sectors <= 256:
            found = noted(kind, rounds, pairs, warps, PROBES, 0)
            added = noted(kind, rounds, pairs, warps, PROBES, 1)[1]
            for i in range(8):
                times = [round(float(n)) for n in (*found[16 + 2 * i : 18 + 2 * i], added)]
                loads.append((kind, pairs, sectors, i % 2 * 31 + 1, *times))
    counted = counter_of(session, METRICS)
    rows = [
        (*case, *counted(partial(run, case[0], case[4], case[1], case[3], -1, 0)))
        for case in cases()
    ]
    found_all = {
        "metadata": session.metadata(), "clocks": session.clocks(), "columns": COLUMNS,
        "rows": rows, "loads_columns": LOADS, "loads": loads,
    }  # fmt: skip
    (session.out / "behind_adds_sm90.json").write_text(json.dumps(found_all))


if __name__ == "__main__":
    main()
