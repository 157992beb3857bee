"""Measures blocks whose threads load some words at once and store as many, or none, behind an L2
that holds other lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from session import Session

THREADS, WARPS, NOTED = 256, 8, 12  # of a block; words that a warp writes
ARRAY, FLUSHED = 256 << 20, 64 << 20  # bytes, words
WORDS = (1, 2, 4, 8)  # of a thread
MODES = (0, 1, 2)  # no stores, to what was loaded, elsewhere
BLOCKS = (132, 264, 528, 1056, 2112, 4224, 8448)
MOST = 33792  # words of a block's thread times blocks
# Cycles of the SMs (mean, least, most) from their first warp's begin to their last one's end, and
# of warps until the first word, until all of them, until the loads have been issued, and in all
COLUMNS = ("words", "mode", "blocks", "span", "least", "most", "first", "all", "issued", "life")


def _spans(noted: Any) -> Any:
    """Of each SM that took part."""
    sm, begin, end = noted[:, 0], noted[:, 1].astype(np.int64), noted[:, 10].astype(np.int64)
    return np.array([end[sm == one].max() - begin[sm == one].min() for one in np.unique(sm)])


def main() -> None:
    """Writes stored_bursts_sm90.json: of three launches each the one with the middle span."""
    session = Session.of_command_line(__doc__)
    driver, cubin = session.driver, session.cubin("stored_bursts")
    module = driver.load(cubin)
    names = ("flush", *(f"burst{words}" for words in WORDS))
    functions = {name: driver.function(module, name) for name in names}
    x, y, flushed = (session.zeros(ARRAY) for _ in range(3))
    out = session.zeros(max(BLOCKS) * WARPS * NOTED * 4)

    def run(words: int, mode: int, blocks: int) -> list[float]:
        given = flushed, np.uint32(FLUSHED), out
        driver.launch(functions["flush"], (1056,), (256,), given)
        driver.synchronize()
        given = x, y, out, np.uint32(blocks * THREADS), np.int32(mode)
        driver.launch(functions[f"burst{words}"], (blocks,), (THREADS,), given)
        driver.synchronize()
        noted = driver.download(out, blocks * WARPS * NOTED, np.uint32).reshape(-1, NOTED)
        spans = _spans(noted)
        life = (noted[:, 10].astype(np.int64) - noted[:, 1]).mean()
        means = *noted[:, 2:5].astype(np.float64).mean(0), life
        return [round(float(one)) for one in (spans.mean(), spans.min(), spans.max(), *means)]

    rows = [
        (words, mode, blocks, *sorted(run(words, mode, blocks) for _ in range(3))[1])
        for words in WORDS for mode in MODES for blocks in BLOCKS if words * blocks <= MOST
    ]  # fmt: skip
    session.save_rows("stored_bursts_sm90", COLUMNS, rows, cubin=cubin)


if __name__ == "__main__":
    main()
