"""Measures how long an SM's loads take together when it rests between them, as others do."""

from __future__ import annotations

import numpy as np
from session import Session

SMS, BURSTS, SKIPPED = 132, 72, 8
FROM_DRAM, FROM_L2 = 1 << 31, 18 << 20  # bytes read in turn: more, or less, than L2 holds
SHARED = 120_000  # dynamic shared bytes of a block: one of an SM
SHAPES = (  # bytes of a lane's load, loads of a lane, warps
    (4, 1, 1), (4, 1, 8), (4, 2, 8), (4, 1, 32), (4, 2, 32), (4, 4, 32), (4, 8, 32),
    (16, 1, 1), (16, 1, 8), (16, 2, 8), (16, 4, 8), (16, 1, 32), (16, 2, 32), (16, 4, 32),
    (16, 8, 32),
)  # fmt: skip
PAUSES = (0, 300, 1000, 3000, 10_000)
BUSY = (1, 2, 16, 66, 132)
COLUMNS = (
    "what", "lane_bytes", "loads", "warps", "buffer_bytes", "sms", "pause",
    "cycles_of_a_burst", "cycles_from_burst_to_burst",
)  # fmt: skip


class Bench:
    """Buffers and launches."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.module = self.driver.load(session.cubin("bursts"))
        size = 4096 if session.dry_run else FROM_DRAM
        self.source, self.target = self.driver.alloc(size), self.driver.alloc(size)
        self.out = self.driver.alloc(16 * SMS)
        self.begin = 0  # no launch reads from DRAM what one shortly before it has read
        for buffer in (self.source, self.target):
            self.driver.fill(buffer, 0, size)

    def run(self, what: str, shape: tuple[int, int, int], size: int, sms: int,
            pause: int) -> tuple[str | int | float, ...]:  # fmt: skip
        """A row, on average over the SMs that take part."""
        driver, (lane, loads, warps) = self.driver, shape
        function = driver.function(self.module, f"{what}_{lane}_{loads}")
        driver.set_dynamic_shared(function, SHARED)
        for _ in range(2):  # the first brings in what L2 can hold
            numbers = (self.begin % size // lane, size // lane, BURSTS, SKIPPED, pause, sms)
            arguments = (self.out, self.source, self.target, *(np.uint32(n) for n in numbers))
            driver.launch(function, (SMS,), (32 * warps,), arguments, SHARED)
            if size == FROM_DRAM:
                self.begin += BURSTS * sms * lane * loads * warps * 32
                self.begin = -(-self.begin >> 17) << 17
        driver.synchronize()
        rows = driver.download(self.out, 2 * SMS, np.uint64).reshape(-1, 2)[:sms]
        burst, passed = rows.astype(np.float64).mean(axis=0)
        of_bursts = BURSTS - SKIPPED
        each = round(burst / of_bursts, 1), round(passed / (of_bursts - 1 / 2), 1)
        return what, lane, loads, warps, size, sms, pause, *each


def main() -> None:
    """Writes bursts_sm90.json."""
    session = Session.of_command_line(__doc__)
    bench = Bench(session)
    rows = [
        bench.run(what, shape, size, sms, pause)
        for what in ("read", "write", "copy") for size in (FROM_DRAM, FROM_L2) for shape in SHAPES
        for sms in BUSY for pause in PAUSES
    ]  # fmt: skip
    session.save_rows("bursts_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
