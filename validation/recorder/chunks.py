"""Measures what the warps of a block wait for that load a piece of an array together: each for its
own loads, all for the slowest."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from session import Session

SMS, ROUNDS, SKIPPED = 132, 24, 4
# MiB of the array, blocks of an SM, warps of a block, loads of a warp, lines from one to the next,
# blocks that load the same, cycles of a pause
CASES = tuple(
    (size, blocks, warps, loads, apart, alike, pause)
    for size, apart, alike in ((8, 1, 1), (8, 257, 1), (8, 1, 12), (1024, 1, 1), (1024, 257, 12))
    for blocks, warps, loads in ((1, 8, 1), (1, 8, 4), (1, 8, 8), (1, 16, 4), (2, 8, 4), (4, 8, 2))
    for pause in (0, 3000)
)


def record(session: Session, module: Any, out: Any, data: Any, case: tuple[int, ...]) -> Any:
    """Per block and round: the mean of its warps, the quickest and the slowest one."""
    size, blocks, warps, loads, apart, alike, pause = case
    driver, u32 = session.driver, np.uint32
    function = driver.function(module, f"chunks_{loads}")
    numbers = (size << 13, apart, alike, ROUNDS, pause)
    for _ in range(2):  # the first time brings the array to L2
        driver.launch(function, (SMS * blocks,), (32 * warps,), (out, data, *map(u32, numbers)))
    cycles = driver.download(out, SMS * blocks * ROUNDS * warps, np.uint32)
    took = cycles.reshape(-1, ROUNDS, warps)[:, SKIPPED:].astype(float)
    slowest = took.max(2)
    of_last = [round(float(np.percentile(slowest, share)), 1) for share in (5, 25, 50, 75, 95)]
    return {
        "case": case, "mean": round(float(took.mean()), 1),
        "first": round(float(took.min(2).mean()), 1), "last": round(float(slowest.mean()), 1),
        "of_last": of_last,
    }  # fmt: skip


def main() -> None:
    """Writes chunks_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("chunks"))
    size = 4096 if session.dry_run else 1 << 30
    data, out = driver.alloc(size), driver.alloc(4 * SMS * 4 * ROUNDS * 16)
    driver.fill(data, 0, size)
    rows = [record(session, module, out, data, case) for case in CASES]
    found = {"metadata": session.metadata(), "clocks": session.clocks(), "cases": rows}
    (session.out / "chunks_sm90.json").write_text(json.dumps(found, indent=1))
    print(len(rows), "cases")


if __name__ == "__main__":
    main()
