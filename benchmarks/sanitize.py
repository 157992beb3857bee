"""What the sanitizers cost: seconds and memory against a plain counted run of the same launch.

    python benchmarks/sanitize.py [--size 1.0] [--gpu sm_90] [--repeats 2] [--threads N]
        [--only sgemm] [--json]

Kernels and workloads are those of `benchmarks/engine.py`. The plain run uses one worker, as the
sanitizers do; the least processor time counts, so that other load disturbs little. `--threads N`
instead runs a shared-memory reduction of N threads under all four tools and prints its time and the
peak memory of the process.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl
from warplens.api import LaunchOptions

sys.path.insert(0, str(Path(__file__).parent))
from engine import HERE, Workload, workloads
from user import join_compilers, wait_for_fast_code

KERNELS = ("sgemm", "histogram", "ladder")
TOOLS = ("memcheck", "synccheck", "initcheck", "racecheck")
TARGETS = {"memcheck": 2, "synccheck": 3, "initcheck": 3, "racecheck": 6}


def best(action: Any, make: Any, repeats: int) -> float:
    """Least processor time of several runs; arguments are made anew outside the clock. Better code
    is in place before, as it is for the plain run: compiling it counts as this process's time."""
    for _ in range(2):  # compiles, and is busy for long enough
        action(*make())
        join_compilers()
    found = float("inf")
    for _ in range(repeats):
        arguments = make()
        begin = time.process_time()
        action(*arguments)
        found = min(found, time.process_time() - begin)
    return found


def peak_mib() -> float:
    """Peak resident memory of the process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(device: Any, work: Workload, repeats: int) -> dict[str, Any]:
    """Ratios of one workload."""
    kernel = device.compile(HERE / "engine_kernels.cu")[work.kernel]
    launch = kernel[work.grid, work.block]
    wait_for_fast_code(launch, work.arguments)
    plain = best(launch, work.arguments, repeats)
    row: dict[str, Any] = {"kernel": work.kernel, "plain_seconds": plain}
    for tool in (*TOOLS, "all"):
        def run(*arguments: Any, tool: str = tool) -> Any:
            report = kernel.sanitize[work.grid, work.block](*arguments, tools=[tool])
            assert not report.errors, str(report)
            return report

        row[tool] = best(run, work.arguments, repeats) / plain
    row["peak_mib"] = peak_mib()
    return row


def large(device: Any, threads: int) -> dict[str, Any]:
    """A reduction of many threads under all tools."""
    kernel = device.compile(HERE / "engine_kernels.cu")["ladder"]
    n = threads * 4
    data, out = (np.arange(n, dtype=np.int32) & 15), np.zeros(1, np.int32)
    begin = time.perf_counter()
    report = kernel.sanitize[n // 1024, 256](data, out, n)
    seconds = time.perf_counter() - begin
    assert not report.errors, str(report)
    return {"threads": threads, "seconds": seconds, "peak_mib": peak_mib(),
            "notes": list(report.notes)}  # fmt: skip


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=1.0)
    parser.add_argument("--gpu", default="sm_90")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", choices=KERNELS)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    device = wl.Device(given.gpu, options=LaunchOptions(workers=1, timing=False))
    if given.threads:
        print(json.dumps(large(device, given.threads // 256 * 256)))
        return
    kernels = (given.only,) if given.only else KERNELS
    chosen = [work for work in workloads(given.size) if work.kernel in kernels]
    rows = [measure(device, work, given.repeats) for work in chosen]
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'kernel':<12}{'plain s':>10}" + "".join(f"{tool:>12}" for tool in (*TOOLS, "all")))
    for row in rows:
        ratios = "".join(f"{row[tool]:>11.1f}x" for tool in (*TOOLS, "all"))
        print(f"{row['kernel']:<12}{row['plain_seconds']:>10.3f}{ratios}")
    print(f"{'target':<22}" + "".join(f"{TARGETS[tool]:>11.1f}x" for tool in TOOLS))
    print(f"peak memory {rows[-1]['peak_mib']:.0f} MiB")


if __name__ == "__main__":
    main()
