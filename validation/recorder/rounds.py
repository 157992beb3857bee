"""Measures rounds of loads from DRAM by blocks of many shapes, and arrivals at mbarriers."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
from session import Session

BLOCKS, THREADS, ROUNDS = (128, 132, 264, 1056), (32, 128, 256, 512, 1024), (1, 2, 4, 16, 64)
SHAPES = tuple(itertools.product(BLOCKS, THREADS, ROUNDS))
ARRIVALS = ("arrive", "arrive_by_one", "test_wait", "try_wait", "copies_arrive")
MOST_BYTES, FLUSHED_BYTES = 128 << 20, 256 << 20


class Bench:
    """Buffers and launches."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.module = self.driver.load(session.cubin("rounds"))
        small = session.dry_run
        self.out = self.driver.alloc(1 << 20)
        size = 4096 if small else MOST_BYTES
        self.first, self.second = self.driver.alloc(size), self.driver.alloc(size)
        self.flushed = self.driver.alloc(4096 if small else FLUSHED_BYTES)

    def flush(self) -> None:
        """Fills L2 with clean lines of an array that is not measured."""
        words = np.uint32(0), np.uint32(FLUSHED_BYTES // 4)
        function = self.driver.function(self.module, "rounds1")
        arrays = self.out, self.flushed, self.flushed
        self.driver.launch(function, (1056,), (256,), (*arrays, *words))
        self.driver.synchronize()

    def rounds(self, arrays: int, blocks: int, threads: int, turns: int) -> list[int]:
        """Cycles of a block: mean, most and least; the middle one of three launches."""
        function = self.driver.function(self.module, f"rounds{arrays}")
        words = np.uint32(turns), np.uint32(blocks * threads * turns)
        found = []
        for _ in range(3):
            self.flush()
            buffers = self.out, self.first, self.second
            self.driver.launch(function, (blocks,), (threads,), (*buffers, *words))
            self.driver.synchronize()
            cycles = self.driver.download(self.out, 3 * blocks, np.uint32)[1::3].astype(float)
            found.append([round(cycles.mean()), round(cycles.max()), round(cycles.min())])
        return sorted(found)[1]

    def arrivals(self, number: int, warps: int) -> float:
        """Cycles of one operation of a warp, of 200 in a row."""
        function = self.driver.function(self.module, f"arrive_{number}")
        found = []
        for _ in range(3):
            self.driver.launch(function, (1,), (32 * warps,), (self.out, np.uint32(50)))
            self.driver.synchronize()
            found.append(int(self.driver.download(self.out, 1, np.uint32)[0]))
        return round(min(found) / 200 / warps, 3)


def main() -> None:
    """Writes rounds_sm90.json."""
    session = Session.of_command_line(__doc__)
    bench = Bench(session)
    rows = [
        (arrays, *shape, *bench.rounds(arrays, *shape))
        for arrays in (1, 2) for shape in SHAPES
        if 4 * int(np.prod(shape)) <= MOST_BYTES
    ]  # fmt: skip
    arrivals = [
        (name, warps, bench.arrivals(number, warps))
        for number, name in enumerate(ARRIVALS) for warps in (1, 4, 8, 16)
    ]  # fmt: skip
    found: dict[str, Any] = {
        "metadata": session.metadata(), "clocks": session.clocks(),
        "columns": ("arrays", "blocks", "threads", "rounds", "mean", "most", "least"),
        "rows": rows, "arrivals": arrivals,
    }  # fmt: skip
    (session.out / "rounds_sm90.json").write_text(json.dumps(found))
    print(len(rows), "launches")


if __name__ == "__main__":
    main()
