"""Measures copies between host and device: pinned and pageable memory, both ways, by size."""

from __future__ import annotations

import ctypes as ct
import json
import statistics
import time
from typing import Any

from session import Session

SIZES = tuple(4 << 2 * k for k in range(15))  # 4 bytes to 1 GiB
REPEATS = 7


class Copies:
    """Buffers on both sides, and timed copies between them."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.size = 4096 if session.dry_run else SIZES[-1]
        self.device = self.driver.alloc(self.size)
        self._pageable = ct.create_string_buffer(self.size)
        ct.memset(self._pageable, 1, self.size)  # every page is there before the first copy
        pinned = ct.c_void_p()
        self.driver._call("cuMemHostAlloc", ct.byref(pinned), ct.c_size_t(self.size), ct.c_uint(0))
        self.host = {"pinned": pinned, "pageable": ct.cast(self._pageable, ct.c_void_p)}
        self.events = self.driver.event(), self.driver.event()

    def copy(self, kind: str, way: str, size: int) -> None:
        """One blocking copy."""
        host, length = self.host[kind], ct.c_size_t(size)
        if way == "host_to_device":
            self.driver._call("cuMemcpyHtoD_v2", self.device, host, length)
        else:
            self.driver._call("cuMemcpyDtoH_v2", host, self.device, length)

    def measure(self, kind: str, way: str, size: int) -> dict[str, float]:
        """Medians in microseconds: between events, and of the call as the host sees it."""
        between, called = [], []
        start, stop = self.events
        for _ in range(REPEATS):
            self.driver.synchronize()
            self.driver.record(start)
            self.copy(kind, way, size)
            self.driver.record(stop)
            between.append(1e3 * self.driver.elapsed_ms(start, stop))
            self.driver.synchronize()
            begin = time.perf_counter()
            self.copy(kind, way, size)
            self.driver.synchronize()
            called.append(1e6 * (time.perf_counter() - begin))
        return {"events_us": statistics.median(between), "call_us": statistics.median(called)}


def main() -> None:
    """Writes transfers.json."""
    session = Session.of_command_line(__doc__)
    copies = Copies(session)
    found: dict[str, Any] = {"metadata": session.metadata(), "copies": {}}
    for kind in copies.host:
        for way in ("host_to_device", "device_to_host"):
            found["copies"][f"{kind}/{way}"] = {
                str(size): copies.measure(kind, way, size)
                for size in SIZES if size <= copies.size
            }  # fmt: skip
    (session.out / "transfers.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
