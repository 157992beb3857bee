"""Measures latencies, rates, bandwidths and block scheduling with kernels/latency.cu."""

from __future__ import annotations

import json
import re
from typing import Any

import build
import numpy as np
import numpy.typing as npt
from session import Session

BIG_BYTES = 4 << 30


class Timing:
    """Kernels of latency.cu with common buffers."""

    def __init__(self, session: Session) -> None:
        self.dry_run = session.dry_run
        self.driver = session.driver
        self.module = self.driver.load(session.cubin("latency"))
        self.out = self.driver.alloc(4 << 20)
        self.big = self.driver.alloc(4096 if session.dry_run else BIG_BYTES)
        self.driver.fill(self.big, 0, 4096 if session.dry_run else BIG_BYTES)
        self.found: dict[str, Any] = {}

    def run(self, name: str, grid: int, block: int, n: int, m: int) -> npt.NDArray[np.uint32]:
        """One launch; the first words of the output."""
        function = self.driver.function(self.module, name)
        arguments = (self.out, self.big, np.uint32(n), np.uint32(m))
        self.driver.launch(function, (grid,), (block,), arguments)
        self.driver.synchronize()
        result: npt.NDArray[np.uint32] = self.driver.download(self.out, 8192 * 4, np.uint32)
        return result

    def names(self, prefix: str) -> list[str]:
        """Kernels of the source whose names start with a prefix."""
        text = (build.KERNELS / "latency.cu").read_text()
        macro = {"latency_": r"^(?:MMA_)?CHAIN\((\w+)", "rate_": r"^(?:SHARED_)?RATE\((\w+)"}
        found = re.findall(macro[prefix], text, re.M)
        return [prefix + n for n in found if n != "name"]

    def latencies(self) -> None:
        """Cycles per dependent instruction, one warp."""
        for name in self.names("latency_"):
            for warps in (1, 4, 8, 16, 32) if name.endswith("barrier") else (1,):
                self.run(name, 1, 32 * warps, 3, 5)
                o = self.run(name, 1, 32 * warps, 3, 5)
                if "mma" in name or "tf32" in name:
                    cycles = float(o[0]) / 64
                else:
                    cycles = (float(o[1]) - float(o[0])) / 64
                self.found[name if warps == 1 else f"{name}/{warps}warps"] = cycles

    def chases(self) -> None:
        """Cycles per load against the footprint; random order, one 128-byte line a step."""
        rng = np.random.default_rng(1)
        base = int(self.big.value or 0)
        for kernel in ("chase_l1", "chase_l2"):
            for kib in (1, 4, 16, 64, 128, 192, 224, 256, 512, 4096, 16384, 24576, 32768, 49152,
                        65536, 131072, 524288):  # fmt: skip
                lines = 8 if self.dry_run else kib * 8
                order = rng.permutation(lines)
                chain = np.zeros(lines * 16, np.uint64)
                chain[order * 16] = base + 128 * np.roll(order, -1).astype(np.uint64)
                if not self.dry_run:
                    self.driver.write(self.big, chain)
                steps = min(max(lines, 256), 4096)
                warm = min(lines, 40000)
                o = self.run(kernel, 1, 1, steps // 8, warm)
                self.found[f"{kernel}/{kib}KiB"] = float(o[0]) / (steps // 8 * 8)
        self.driver.fill(self.big, 0, 1 << 20)
        for kernel, block, m in (
            ("chase_shared", 1, 0), ("chase_shared", 32, 0), ("chase_shared_128", 1, 0),
            ("chase_shared_128", 32, 0), ("chase_atomic_shared", 1, 1),
            ("chase_atomic_shared", 32, 1), ("chase_atomic_shared", 32, 0),
            ("chase_atomic_global", 1, 1), ("chase_atomic_global", 32, 1),
            ("chase_atomic_global", 32, 0), ("chase_constant", 1, 0), ("chase_constant", 1, 15),
            ("chase_constant", 1, 16383),
        ):  # fmt: skip
            self.run(kernel, 1, block, 64, m)
            o = self.run(kernel, 1, block, 64, m)
            self.found[f"{kernel}/{block}threads/m{m}"] = float(o[0]) / 512

    def rates(self) -> None:
        """Warp instructions per cycle of one SM, 32 warps of four chains each."""
        for name in self.names("rate_"):
            shared = name.startswith(("rate_st", "rate_ld", "rate_atoms"))
            width = {"32": 4, "64": 8, "28": 16}.get(name[-2:], 4)
            strides = (width, 0, 2 * width, 4 * width, 8 * width) if shared else (5,)
            for stride in strides:
                for warps in (1, 4, 8, 16, 32):
                    if shared and warps not in (4, 32):
                        continue
                    n = 8 if shared else 16
                    self.run(name, 1, warps * 32, n, stride)
                    o = self.run(name, 1, warps * 32, n, stride)
                    start, end = o[: 2 * warps : 2], o[1 : 2 * warps : 2]
                    cycles = int((end - start[0]).max()) if len(end) else 1
                    label = f"{name}/{warps}warps" + (f"/stride{stride}" if shared else "")
                    self.found[label] = warps * n * 64 / max(cycles, 1)

    def seconds(self, name: str, shape: tuple[int, int], n: int, m: int, repeats: int = 3) -> float:
        """The best time of a launch by events."""
        driver = self.driver
        function = driver.function(self.module, name)
        start, stop = driver.event(), driver.event()
        best = 1e9
        for _ in range(repeats):
            driver.record(start)
            driver.launch(
                function, (shape[0],), (shape[1],), (self.out, self.big, np.uint32(n), np.uint32(m))
            )
            driver.record(stop)
            best = min(best, driver.elapsed_ms(start, stop) / 1e3)
        return best

    def bandwidths(self) -> None:
        """GB/s: device memory and L2 against the number of warps, writes, copies, L1."""
        for name, mib, turns in (("stream_read_4", 2048, 1), ("stream_read_16", 2048, 1),
                                 ("stream_read_16", 16, 200), ("stream_read_16", 32, 100),
                                 ("stream_write_16", 2048, 1),
                                 ("stream_copy_16", 2048, 1)):  # fmt: skip
            for warps_per_sm in (1, 2, 4, 8, 16, 32, 64):
                blocks, threads = 132 * max(1, warps_per_sm // 8), 32 * min(8, warps_per_sm)
                took = self.seconds(name, (blocks, threads), mib, turns)
                moved = mib * turns * (1 << 20)
                self.found[f"{name}/{mib}MiB/{warps_per_sm}warps"] = moved / took / 1e9
        for warps in (4, 8, 16, 32):
            took = self.seconds("stream_l1", (132, 32 * warps), 64, 2000)
            self.found[f"stream_l1/{warps}warps"] = 132 * 64 * 1024 * 2000 / took / 1e9

    def atomics(self) -> None:
        """Thread atomics per nanosecond on the whole GPU, by pattern."""
        for m, label in enumerate(("one", "32words", "per_warp", "distinct", "32lines")):
            took = self.seconds("atomics", (132 * 8, 256), 16, m)
            self.found[f"atomics/{label}"] = 132 * 8 * 256 * 16 / took / 1e9

    def blocks(self) -> None:
        """Start times (ns) and SMs of blocks, and the time of empty grids."""
        for threads in (32, 256, 1024):
            for wait in (0, 20000):
                self.run("blocks", 2048, threads, wait, 0)
                o = self.run("blocks", 2048, threads, wait, 0)[: 8192].reshape(-1, 4)
                first = int(o[:, 1].min()) if len(o) else 0
                key = f"blocks/{threads}threads/wait{wait}"
                self.found[key] = {
                    "sm": o[:1056, 0].tolist(), "start_ns": (o[:1056, 1] - first).tolist(),
                    "end_ns": (o[:1056, 2] - first).tolist(),
                }  # fmt: skip
        for grid in (1, 132, 1056, 4224, 16896, 135168, 1081344):
            for threads in (32, 256, 1024):
                took = self.seconds("nothing", (grid, threads), 0, 0, 20)
                self.found[f"empty/{grid}x{threads}_us"] = took * 1e6


def main() -> None:
    """Runs everything and writes timing_sm90.json."""
    session = Session.of_command_line(__doc__)
    timing = Timing(session)
    for _ in range(40):
        timing.seconds("rate_ffma", (1056, 256), 64, 5, 1)
    for part in (timing.latencies, timing.rates, timing.chases, timing.bandwidths,
                 timing.atomics, timing.blocks):  # fmt: skip
        part()
        print(part.__name__, len(timing.found))
        report = {
            "metadata": session.metadata(),
            "clocks": session.clocks(),
            "values": timing.found,
        }
        (session.out / "timing_sm90.json").write_text(json.dumps(report, separators=(",", ":")))


if __name__ == "__main__":
    main()
