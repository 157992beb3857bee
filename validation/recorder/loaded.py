"""Measures how long single loads take while the rest of the chip reads or copies."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from session import Session

SMS, SAMPLES = 132, 256
PROBED_BYTES, STREAM_BYTES = 256 << 20, 1 << 31
# warps of an SM that stream, cycles that they rest after 64 bytes a lane
LOADS = (
    (0, 0), (1, 4000), (1, 1000), (2, 1000), (4, 1500), (4, 1000), (4, 500), (6, 500), (8, 500),
    (8, 250), (8, 0), (10, 0), (12, 0), (16, 0), (31, 0),
)  # fmt: skip
SHARES = (5, 25, 50, 75, 90, 95, 99, 99.9)


class Bench:
    """Buffers and launches."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.module = self.driver.load(session.cubin("loaded"))
        small = session.dry_run
        self.out = self.driver.alloc(4 * SMS * SAMPLES)
        self.done = self.driver.alloc(16)
        self.stream, self.to = (self.driver.alloc(4096 if small else STREAM_BYTES) for _ in "ab")
        self.probed = self.driver.alloc(4096 if small else PROBED_BYTES)
        for buffer, size in ((self.stream, STREAM_BYTES), (self.probed, PROBED_BYTES)):
            self.driver.fill(buffer, 0, size)
        self.runs = 0
        self.start, self.stop = self.driver.event(), self.driver.event()

    def run(self, name: str, busy: int, pause: int) -> dict[str, Any]:
        """Bytes moved per second, and cycles of the loads below which so many per cent lie."""
        driver, u32 = self.driver, np.uint32
        driver.fill(self.done, 0, 16)
        function = driver.function(self.module, name)
        self.runs += 1  # each probes other places
        numbers = (SAMPLES, busy, pause, PROBED_BYTES // 4, STREAM_BYTES // 16, self.runs)
        buffers = (self.out, self.stream, self.to, self.probed, self.done)
        driver.record(self.start)
        driver.launch(function, (SMS,), (1024,), (*buffers, *(u32(n) for n in numbers)))
        driver.record(self.stop)
        seconds = driver.elapsed_ms(self.start, self.stop) / 1000.0
        cycles = driver.download(self.out, SMS * SAMPLES, np.uint32)
        moved = int(driver.download(self.done, 1, np.uint64)[0]) * 16
        moved *= 2 if name.endswith("copy") else 1
        return {
            "kernel": name, "warps": busy, "pause": pause, "bytes_per_second": moved / seconds,
            "mean": float(cycles.mean()),
            "below": {str(s): float(np.percentile(cycles, s)) for s in SHARES},
        }  # fmt: skip


def main() -> None:
    """Writes loaded_sm90.json."""
    session = Session.of_command_line(__doc__)
    bench = Bench(session)
    rows = [
        bench.run(name, busy, pause)
        for name in ("loaded_read", "loaded_copy")
        for busy, pause in LOADS
    ]
    found = {"metadata": session.metadata(), "clocks": session.clocks(), "loads": rows}
    (session.out / "loaded_sm90.json").write_text(json.dumps(found, indent=1))
    print(len(rows), "loads")


if __name__ == "__main__":
    main()
