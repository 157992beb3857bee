"""How launches scale over cores: wall time of warm launches on 1, 2, 4 and more of them.

    python benchmarks/cores.py [--gpu H200] [--cores 16] [--only sgemm] [--repeats 7]

sgemm, a reduction (`sequential`) and Mandelbrot of benchmarks/user.py, large enough for every core;
the least of several launches, their times not asked for, on each number of cores in turn. First
what the machine itself allows: the same number of processes that multiply arrays in their first
cache (`cache`), or sum memory of their own (`memory`), all that they do in a second over what one
does. Clocks that fall with load, and cores that are two threads of one, show there.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).parent / "user_kernels.cu"


def launches() -> dict[str, tuple[Any, Any, tuple[Any, ...]]]:
    """Grid, block and arguments."""
    g = np.random.default_rng(1)
    side, n, w = 2304, 1 << 28, 8192
    a, b = (g.random(side * side).astype(np.float32) for _ in range(2))
    return {
        "sgemm": ((side // 64, side // 64), 64, (a, b, np.zeros(side * side, np.float32), side)),
        "sequential": (n // 256, 256, (g.integers(0, 16, n, dtype=np.int32),
                                       np.zeros(1, np.int32), n)),
        "mandelbrot": ((w // 128, w), 128, (np.zeros(w * w, np.uint16), w, w, 256)),
    }  # fmt: skip


def measure(gpu: str, name: str, steps: list[int], repeats: int) -> list[float]:
    """Seconds of the quickest launch on so many cores each; in turn, so that all of them meet
    what else the machine does."""
    import warplens as wl
    from user import wait_for_fast_code
    from warplens.api import LaunchOptions

    grid, block, arguments = launches()[name]
    ready = []
    for workers in steps:
        device = wl.Device(gpu, options=LaunchOptions(workers=workers))
        launch = device.compile(SOURCE)[name][grid, block]
        wait_for_fast_code(launch, lambda: arguments)
        ready.append(launch)
    found = [float("inf")] * len(steps)
    for _ in range(repeats):
        for i, launch in enumerate(ready):
            begin = time.perf_counter()
            launch(*arguments)
            found[i] = min(found[i], time.perf_counter() - begin)
    return found


def _alone(kind: str, seconds: float, begin: Any, found: Any) -> None:
    """Does rounds of a kind of work for some seconds; puts how many a second."""
    a = np.ones(2048 if kind == "cache" else 1 << 25, np.float32)
    b = np.ones_like(a)
    begin.wait()
    rounds, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        if kind == "cache":
            for _ in range(200):
                np.multiply(a, b, out=a)
        else:
            a.sum()
        rounds += 1
    found.put(rounds / (time.perf_counter() - start))


def ceiling(kind: str, cores: int, seconds: float = 1.0) -> float:
    """Rounds a second of so many processes together."""
    context = multiprocessing.get_context("spawn")
    begin, found = context.Barrier(cores), context.Queue()
    workers = [context.Process(target=_alone, args=(kind, seconds, begin, found))
               for _ in range(cores)]  # fmt: skip
    for worker in workers:
        worker.start()
    rates = [found.get() for _ in workers]
    for worker in workers:
        worker.join()
    return sum(rates)


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="Measure how launches scale over cores.")
    parser.add_argument("--gpu", default="H200")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", action="append", help="kernels to run")
    parser.add_argument("--steps", help="numbers of cores, as in 1,16 (1, 2, 4, 8 and so on)")
    options = parser.parse_args()
    steps = [int(n) for n in (options.steps or "1,2,4,8,16,32,64").split(",")]
    steps = [n for n in steps if n <= options.cores]
    for kind in ("cache", "memory"):
        rates = [ceiling(kind, n) for n in steps]
        shown = (f"{n}: {rate / rates[0]:.1f}x" for n, rate in zip(steps, rates, strict=True))
        print(f"{kind:<12}", "  ".join(shown), flush=True)
    for name in options.only or launches():
        times = measure(options.gpu, name, steps, options.repeats)
        pairs = zip(steps, times, strict=True)
        found = (f"{n}: {t * 1e3:.1f} ms ({times[0] / t:.1f}x)" for n, t in pairs)
        print(f"{name:<12}", "  ".join(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
