"""Measures the rate of stores that write sectors in part."""

from __future__ import annotations

import numpy as np
from session import Session

THREADS, REPEATS = 256, 5
TO_DRAM, TO_L2 = 1 << 30, 16 << 20  # bytes written in turn: more, or less, than L2 holds
STORES = 1 << 24  # of a warp's, in a launch at most
PITCHES = (32, 64, 128, 256, 1024, 8192, 65536)
COLUMNS = (
    "lane_bytes", "stores_of_a_warp", "pitch", "apart", "buffer_bytes", "warp_stores",
    "nanoseconds",
)  # fmt: skip


class Bench:
    """Buffers and launches."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.module = self.driver.load(session.cubin("stores"))
        size = 4096 if session.dry_run else TO_DRAM
        self.target = self.driver.alloc(size)
        self.driver.fill(self.target, 0, size)
        self.start, self.stop = self.driver.event(), self.driver.event()

    def run(self, lane: int, each: int, pitch: int, apart: int, size: int) -> tuple[int, ...]:
        """A row: the median launch."""
        driver = self.driver
        function = driver.function(self.module, f"store_{lane}_{each}")
        stores = min(STORES, size // (32 * apart) * (16 if size == TO_L2 else 1))
        arguments = (self.target, np.uint32(pitch), np.uint32(apart), np.uint64(size))
        times = []
        for _ in range(REPEATS + 1):
            driver.record(self.start)
            driver.launch(function, (stores * 32 // each // THREADS,), (THREADS,), arguments)
            driver.record(self.stop)
            times.append(driver.elapsed_ms(self.start, self.stop))
        return lane, each, pitch, apart, size, stores, round(float(np.median(times[1:])) * 1e6)


def main() -> None:
    """Writes stores_sm90.json."""
    session = Session.of_command_line(__doc__)
    bench = Bench(session)
    rows = [
        bench.run(lane, each, pitch, apart, size)
        for size in (TO_DRAM, TO_L2) for lane in (4, 8, 16) for each in (1, 4)
        for pitch in (lane, *PITCHES) for apart in sorted({lane, 32, 64})
        if apart <= pitch and 32 * pitch <= size
    ]  # fmt: skip
    session.save_rows("stores_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
