"""What a user waits for: 30 kernels of all kinds, run as a user runs them, with the defaults on.

    python benchmarks/user.py [--gpu H200] [--size 1.0] [--only scan] [--repeats 3] [--json]
    python benchmarks/user.py --cold        # one launch and its time, in processes with no cache

For every kernel, in million warp-instructions per second of processor time, so that other load on
the machine and the number of workers disturb little:

  engine   a warm launch without the timing model
  launch   a warm launch with the defaults, whose time nobody asks for
  time     the same with its time asked for, on the data of an earlier launch
  other    the same on data that no launch has seen

and the seconds of the first launch in a process, with its time, and of a prediction.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).parent / "user_kernels.cu"
EXAMPLES = SOURCE.parent.parent / "examples"
TIME = "gpu__time_duration.sum"
ONE_LINE = """
import numpy as np, warplens as wl
x = np.zeros(1024, np.float32)
source = 'extern "C" __global__ void one(float* x) { x[blockIdx.x * 256 + threadIdx.x] += 1; }'
wl.Device("H200").compile(source)["one"][4, 256](x)
assert x[0] == 1
"""
LADDER = f"import runpy; runpy.run_path({str(EXAMPLES / 'ladder.py')!r}, run_name='__main__')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A kernel, its launch and its arguments."""

    grid: Any
    block: Any
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one kernel reached."""

    kernel: str
    kind: str
    warp_instructions: int
    first_seconds: float
    predict_seconds: float
    engine: float
    launch: float
    time: float
    other: float


def cases(size: float) -> dict[str, Case]:
    """The kernels with their launches, scaled."""
    m, k = int(4096 * size) * 1024, int(256 * size) * 1024
    side, wide = max(64, int(512 * size**0.5) // 64 * 64), max(64, int(2048 * size**0.5) // 64 * 64)
    rows = int(100_000 * size)
    f, i32, u32, u8 = np.float32, np.int32, np.uint32, np.uint8

    def floats(n: int, kind: Any = f) -> Callable[[np.random.Generator], Any]:
        return lambda g: g.random(n).astype(kind)

    def ints(n: int, top: int, kind: Any = i32) -> Callable[[np.random.Generator], Any]:
        return lambda g: g.integers(0, top, n, dtype=kind)

    def zeros(n: int, kind: Any = f) -> Callable[[np.random.Generator], Any]:
        return lambda g: np.full(n, 0, kind)  # pages that are there

    def make(kind: str, grid: Any, block: Any, *given: Any) -> Case:
        def arguments(g: np.random.Generator) -> tuple[Any, ...]:
            return tuple(one(g) if callable(one) else one for one in given)

        return Case(grid=grid, block=block, arguments=arguments, kind=kind)

    def matrix(g: np.random.Generator) -> tuple[Any, ...]:
        start = np.concatenate([[0], np.cumsum(g.integers(16, 112, rows))]).astype(i32)
        column = g.integers(0, rows, start[-1], dtype=i32)
        value, x = g.random(start[-1]).astype(f), g.random(rows).astype(f)
        return start, column, value, x, np.full(rows, 0, f), rows

    def text(g: np.random.Generator) -> tuple[Any, ...]:
        word = np.frombuffer(b"abcabcab", u8)
        return g.integers(97, 101, m, dtype=u8), word, 8, m, zeros(1, i32)(g)

    slots = 1 << (2 * k - 1).bit_length()
    tiles, edge = (side // 64, side // 64), wide // 32
    return {
        "polynomial": make("arithmetic", k // 256, 256, floats(k), zeros(k), k, 256),
        "blackscholes": make("arithmetic", m // 256, 256, lambda g: floats(m)(g) + f(1),
                             lambda g: floats(m)(g) + f(1), zeros(m), m),
        "xorshift": make("arithmetic", k // 256, 256, zeros(k, u32), 256),
        "doubles": make("arithmetic", k // 256, 256, floats(k, np.float64),
                        zeros(k, np.float64), 128),
        "halves": make("arithmetic", k // 256, 256, floats(2 * k, np.float16),
                       zeros(2 * k, np.float16), 128),
        "sgemm": make("arithmetic", tiles, 64, floats(side**2), floats(side**2),
                      zeros(side**2), side),
        "naive_product": make("memory", (side // 32, side // 8), (32, 8), floats(side**2),
                              floats(side**2), zeros(side**2), side),
        "tensor_product": make("tensor", (side // 64, side // 16), 128,
                               floats(side**2, np.float16), floats(side**2, np.float16),
                               zeros(side**2), side),
        "saxpy": make("memory", 2 * m // 256, 256, floats(2 * m), floats(2 * m), 2.5, 2 * m),
        "copy_wide": make("memory", 512, 256, floats(8 * m), zeros(8 * m), 2 * m),
        "transpose": make("memory", (edge, edge), (32, 8), floats(wide**2), zeros(wide**2), wide),
        "stencil": make("memory", (wide // 32, wide // 8), (32, 8), floats((wide + 2) ** 2),
                        zeros((wide + 2) ** 2), wide),
        "gather": make("memory", m // 256, 256, floats(m), ints(m, m), zeros(m), m),
        "scatter": make("memory", m // 256, 256, floats(m),
                        lambda g: g.permutation(m).astype(i32), zeros(m), m),
        "spmv": Case(grid=-(-rows // 128), block=128, arguments=matrix, kind="memory"),
        "grey": make("memory", m // 256, 256, ints(3 * m, 256, u8), zeros(m, u8), m),
        "search": Case(grid=m // 256, block=256, arguments=text, kind="memory"),
        "samples": make("memory", m // 256, 256, ints(m, 1000, np.int16), zeros(m, np.int16), m),
        "convolution": make("memory", k // 64, 256, floats(4 * k + 16), zeros(4 * k), 4 * k),
        "ladder": make("memory", 2 * m // 256, 256, ints(8 * m, 16), zeros(1, i32), 8 * m),
        "sequential": make("memory", m // 256, 256, ints(m, 16), zeros(1, i32), m),
        "scan": make("memory", k // 64, 256, ints(4 * k, 16), zeros(4 * k, i32)),
        "bitonic": make("memory", k // 256, 256, ints(2 * k, 1 << 30)),
        "histogram": make("atomics", 256, 256, ints(2 * m, 256, u8), zeros(256, u32), 2 * m),
        "global_histogram": make("atomics", m // 256, 256, ints(m, 1 << 30, u32),
                                 zeros(4096, u32), m),
        "hashing": make("atomics", k // 128, 128, ints(k, 2**32, u32), zeros(slots, u32),
                        slots - 1, k),
        "compaction": make("atomics", m // 256, 256, lambda g: ints(m, 10)(g) - i32(5),
                           zeros(m, i32), zeros(1, i32), m),
        "mandelbrot": make("arithmetic", (side // 128, side), 128, zeros(side**2, np.uint16),
                           side, side, 256),
        "collatz": make("arithmetic", k // 256, 256, zeros(k, u32)),
        "bisection": make("memory", k // 256, 256, lambda g: np.sort(ints(k, 1 << 30)(g)),
                          ints(k, 1 << 30), zeros(k, i32), k),
    }  # fmt: skip


def case(gpu: str, name: str, size: float, **options: Any) -> tuple[Any, Callable[[], Any]]:
    """A kernel with its launch shape, and a function that gives it the same arguments anew."""
    import warplens as wl
    from warplens.api import LaunchOptions

    chosen = cases(size)[name]
    device = wl.Device(gpu, options=LaunchOptions(**options)) if options else wl.Device(gpu)
    kernel = device.compile(SOURCE)[name]
    return kernel[chosen.grid, chosen.block], lambda seed=1: chosen.arguments(
        np.random.default_rng(seed)
    )


def seconds(task: Callable[[], Any]) -> float:
    """Processor time of a task."""
    begin = time.process_time()
    task()
    return time.process_time() - begin


def wait_for_fast_code(launch: Any, arguments: Callable[[], Any]) -> None:
    """Launches until the code that is compiled meanwhile, of traced blocks too, is in place.

    A kernel that was not busy enough yet is launched until it is, for two seconds at most.
    """
    program, begin = launch._code.program, time.perf_counter()
    while not program.has_fast_code and time.perf_counter() < begin + (
        120.0 if program.is_fast else 2.0
    ):
        launch(*arguments())
    join_compilers()


def join_compilers() -> None:
    """Waits until no better code is being compiled."""
    for thread in threading.enumerate():
        if "_compile_fast" in thread.name:
            thread.join(120.0)


def measure(gpu: str, name: str, size: float, repeats: int) -> Measured:
    """One kernel in this process."""
    launch, arguments = case(gpu, name, size)
    given = arguments()
    runs: list[Any] = []
    first = seconds(lambda: runs.append(launch(*given)) or runs[0].metric(TIME))
    count = int(runs.pop().metric("smsp__inst_executed.sum"))
    wait_for_fast_code(launch, arguments)
    plain, _ = case(gpu, name, size, timing=False)
    plain(*arguments())
    wait_for_fast_code(plain, arguments)

    def best(run: Callable[[Any], Any], given: Callable[[int], Any]) -> float:
        return count / min(seconds(partial(run, given(i))) for i in range(repeats)) / 1e6

    def same(_: int) -> Any:
        return arguments()

    def predict(given: Any) -> Any:
        return launch.predicted(given).metric(TIME)

    return Measured(
        kernel=name, kind=cases(size)[name].kind, warp_instructions=count, first_seconds=first,
        engine=best(lambda a: plain(*a), same),
        launch=best(lambda a: launch(*a), same),
        time=best(lambda a: launch(*a).metric(TIME), same),
        other=best(lambda a: launch(*a).metric(TIME), lambda i: arguments(2 + i)),
        predict_seconds=min(seconds(partial(predict, arguments(i))) for i in (2, 3)),
    )  # fmt: skip


def cold(text: str) -> tuple[float, float]:
    """Processor seconds and seconds of a program in a home without a cache."""
    with tempfile.TemporaryDirectory() as home:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WARPLENS_")}
        environment |= {"HOME": home, "XDG_CACHE_HOME": str(Path(home) / "cache")}
        before, begin = os.times(), time.perf_counter()
        subprocess.run([sys.executable, "-c", text], env=environment, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        after = os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system, time.perf_counter() - begin


def table(found: list[Measured]) -> None:
    """The summary below the rows."""
    for name in ("engine", "launch", "time", "other"):
        values = [getattr(m, name) for m in found]
        if values:
            print(f"{name:<7} median {statistics.median(values):6.0f}  least {min(values):6.0f}")
    first, predict = ([getattr(m, f"{k}_seconds") for m in found] for k in ("first", "predict"))
    if found:
        print(f"first launch: median {statistics.median(first):.2f} s, most {max(first):.2f} s; "
              f"prediction: median {statistics.median(predict):.2f} s, "
              f"most {max(predict):.2f} s")  # fmt: skip


def options_of(description: str) -> argparse.ArgumentParser:
    """The command line of what runs these kernels."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--gpu", default="H200")
    parser.add_argument("--size", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", action="append", help="kernels to run")
    parser.add_argument("--json", action="store_true")
    return parser


def main() -> int:
    """Measures and prints."""
    parser = options_of("Measure what a user waits for.")
    parser.add_argument("--cold", action="store_true", help="first runs in homes without a cache")
    options = parser.parse_args()
    if options.cold:
        for label, text in (("one-line kernel", ONE_LINE), ("examples/ladder.py", LADDER)):
            used, waited = cold(text)
            print(f"{label:<22} {used:6.2f} s of processor time, {waited:6.2f} s", flush=True)
        return 0
    found = []
    if not options.json:
        print(f"{'kernel':<17}{'kind':<11}{'warp-inst':>12}{'engine':>8}{'launch':>8}{'time':>8}"
              f"{'other':>8}{'first s':>9}{'predict s':>10}")  # fmt: skip
    for name in cases(options.size):
        if options.only and name not in options.only:
            continue
        m = measure(options.gpu, name, options.size, options.repeats)
        found.append(m)
        if not options.json:
            print(f"{m.kernel:<17}{m.kind:<11}{m.warp_instructions:>12,}{m.engine:>8.0f}"
                  f"{m.launch:>8.0f}{m.time:>8.0f}{m.other:>8.0f}{m.first_seconds:>9.2f}"
                  f"{m.predict_seconds:>10.2f}", flush=True)  # fmt: skip
    if options.json:
        print(json.dumps([asdict(m) for m in found], indent=1))
    else:
        table(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
