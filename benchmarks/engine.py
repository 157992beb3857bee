"""Speed of the engine: warp-instructions per second and core, compile time, ratios to other ways.

    python benchmarks/engine.py [--gpu sm_90] [--size 1.0] [--force avx2] [--only sgemm] [--json]

Counters are on, as always; the timing model's trace, which costs a time of its own per launch, is
off. Every kernel runs until its fast code is in place, then `--repeats` times; the least processor
time counts, so that other load on the machine disturbs little. `--size` scales the problems.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SIMULATED = """
import json, sys, time
import numpy as np
from numba import cuda, int32

@cuda.jit
def reduce(data, out):
    part = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    part[t] = data[cuda.blockIdx.x * 256 + t]
    cuda.syncthreads()
    s = 128
    while s > 0:
        if t < s:
            part[t] += part[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])

n = 256 * 8
data, out = np.ones(n, np.int32), np.zeros(1, np.int32)
begin = time.process_time()
reduce[n // 256, 256](data, out)
assert out[0] == n
print((time.process_time() - begin) * 1e9 / n)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One kernel, its launch and its arguments."""

    kernel: str
    grid: Any
    block: Any
    arguments: Callable[[], tuple[Any, ...]]
    target: float  # million warp-instructions per second and core
    check: Callable[[tuple[Any, ...]], bool] = lambda arguments: True  # after a launch


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one workload reached."""

    kernel: str
    warp_instructions: int
    seconds: float
    million_per_second: float
    target: float
    first_launch_seconds: float


def workloads(size: float) -> list[Workload]:
    """The kernels of the list, scaled; the sparse product by threads and by warps."""
    rng = np.random.default_rng(0)
    n = int(32_000_000 * size) // 1024 * 1024
    rows, keys = int(200_000 * size), int(1_000_000 * size)
    side = max(64, int(1024 * size**0.5) // 64 * 64)
    bodies, width = max(128, int(16384 * size**0.5) // 128 * 128), int(1024 * size**0.5)

    def spmv() -> tuple[Any, ...]:
        lengths = rng.integers(16, 112, rows)
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        column = rng.integers(0, rows, start[-1], dtype=np.int32)
        # small whole numbers: sums are exact in any order
        value = rng.integers(0, 8, start[-1]).astype(np.float32)
        x = rng.integers(0, 8, rows).astype(np.float32)
        return start, column, value, x, np.zeros(rows, np.float32), rows

    def is_product(arguments: tuple[Any, ...]) -> bool:
        start, column, value, x, y, _ = arguments
        return bool(np.array_equal(np.add.reduceat(value * x[column], start[:-1]), y))

    def ints() -> tuple[Any, ...]:
        return (np.arange(n, dtype=np.int32) & 15), np.zeros(1, np.int32), n

    def table() -> tuple[Any, ...]:
        slots = 1 << (2 * keys - 1).bit_length()
        values = rng.integers(1, 2**32, keys, dtype=np.uint32)
        return values, np.zeros(slots, np.uint32), slots - 1, keys

    def is_table(arguments: tuple[Any, ...]) -> bool:
        values, slots = arguments[:2]
        return bool(np.array_equal(np.sort(slots[slots != 0]), np.unique(values)))

    def matrices() -> tuple[Any, ...]:
        i = np.arange(side * side)
        a, b = (i % 7).astype(np.float32), (i % 5).astype(np.float32)
        return a, b, np.zeros(side * side, np.float32), side

    def points() -> tuple[Any, ...]:
        body = rng.standard_normal((bodies, 4)).astype(np.float32)
        return body, np.zeros((bodies, 4), np.float32), bodies

    return [
        Workload(kernel="ladder", grid=n // 1024, block=256, arguments=ints, target=100),
        Workload(kernel="sequential", grid=n // 256, block=256, arguments=ints, target=100),
        Workload(
            kernel="histogram", grid=256, block=256, target=100,
            arguments=lambda: (rng.integers(0, 256, n, dtype=np.uint8),
                               np.zeros(256, np.uint32), n),
        ),
        Workload(kernel="spmv", grid=-(-rows // 128), block=128, arguments=spmv, target=100,
                 check=is_product),
        Workload(kernel="spmv_vector", grid=-(-rows // 4), block=128, arguments=spmv, target=100,
                 check=is_product),
        Workload(kernel="hashing", grid=-(-keys // 128), block=128, arguments=table, target=100,
                 check=is_table),
        Workload(kernel="sgemm", grid=(side // 64, side // 64), block=64, arguments=matrices,
                 target=300),
        Workload(kernel="nbody", grid=bodies // 128, block=128, arguments=points, target=300),
        Workload(
            kernel="mandelbrot", grid=(-(-width // 128), width), block=128, target=300,
            arguments=lambda: (np.zeros(width * width, np.uint16), width, width, 256),
        ),
    ]  # fmt: skip


def wait_for_fast_code(kernel: Any, launch: Callable[[], Any]) -> None:
    """Launches until the code that is compiled meanwhile is in place; small problems do without."""
    end = time.perf_counter() + 30.0
    while kernel.code.program.is_fast and not kernel.code.program.has_fast_code:
        if time.perf_counter() > end:
            raise SystemExit(f"{kernel.name}: no fast code after 30 s")
        launch()


def measure(device: Any, work: Workload, repeats: int) -> Measurement:
    """Best of several launches on one worker."""
    begin = time.perf_counter()
    kernel = device.compile(HERE / "engine_kernels.cu")[work.kernel]
    launch = kernel[work.grid, work.block]
    arguments = work.arguments()
    run = launch(*arguments)
    first = time.perf_counter() - begin
    if not work.check(arguments):
        raise SystemExit(f"{work.kernel}: a wrong result")
    wait_for_fast_code(kernel, lambda: launch(*work.arguments()))
    best = float("inf")
    for _ in range(repeats):
        arguments = work.arguments()
        begin = time.process_time()
        run = launch(*arguments)
        best = min(best, time.process_time() - begin)
    count = int(run.metric("smsp__inst_executed.sum"))
    return Measurement(
        kernel=work.kernel,
        warp_instructions=count,
        seconds=best,
        million_per_second=count / best / 1e6,
        target=work.target,
        first_launch_seconds=first,
    )


def straight_code(statements: int, first: int) -> str:
    """A kernel without branches; `first` makes its constants, and so its machine code, its own."""
    names = [f"v{i}" for i in range(40)]
    lines = []
    for i in range(statements):
        a, b, c = (i * 7) % 40, (i * 11 + 3) % 40, (i * 13 + 5) % 40
        lines.append(f"v{a} = v{b} * v{c} + {first + i}u; v{c} ^= v{a} >> {1 + i % 31};")
    return (
        'extern "C" __global__ void straight(unsigned* p) {\n'
        + "".join(f"unsigned {name} = p[{i}];\n" for i, name in enumerate(names))
        + "\n".join(lines)
        + "".join(f"p[{i}] = {name};\n" for i, name in enumerate(names))
        + "}"
    )


def compile_times(device: Any) -> list[tuple[int, float, float, float]]:
    """Instructions of straight-line kernels, and processor time of lifting them, of code
    generation in tier 0 and of both in tier 1; nothing comes from a cache."""
    from warplens.lift import jit
    from warplens.lift.engines.host import host_features
    from warplens.lift.lifter import lift

    found = []
    for statements in (500, 2500, 5000, 10000):
        first = time.time_ns() % 1_000_000_000 + 1000
        kernel = device.compile(straight_code(statements, first)).sass("straight")
        clock = [time.thread_time()]
        for tier in (0, 1):
            lifted = lift(kernel, host_features(), False, tier=tier)
            clock.append(time.thread_time())
            jit.compile_lifted(lifted, host_features())
            clock.append(time.thread_time())
        lifting, quick = clock[1] - clock[0], clock[2] - clock[1]
        found.append((len(kernel.instructions), lifting, quick, clock[4] - clock[2]))
    return found


def plain_c(work: list[Measurement], size: float) -> dict[str, dict[str, float]]:
    """Our time over that of C compiled with -O3 -march=native, for the ladder and sgemm.

    "same kernel" is the kernel in C, thread by thread between barriers; "shortest" the simplest
    loops with the same result.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return {}
    n = int(32_000_000 * size) // 1024 * 1024
    side = max(64, int(1024 * size**0.5) // 64 * 64)
    ratios: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "host")
        source = str(HERE / "engine_host.c")
        subprocess.run([compiler, "-O3", "-march=native", source, "-o", program], check=True)
        for name, number in (("ladder", n), ("sgemm", side)):
            ours = next((m.seconds for m in work if m.kernel == name), None)
            if ours is None:
                continue
            checks = set()
            for label, words in (("same kernel", name), ("shortest", f"{name}-short")):
                times = []
                for _ in range(5):
                    out = subprocess.run([program, words, str(number)], check=True,
                                         capture_output=True, text=True).stdout  # fmt: skip
                    nanoseconds, check = out.split()
                    times.append(float(nanoseconds) / 1e9)
                    checks.add(check)
                ratios.setdefault(name, {})[label] = ours / min(times)
            if len(checks) > 1:
                raise SystemExit(f"{name}: plain C disagrees with itself: {checks}")
    return ratios


def simulator(work: list[Measurement], size: float) -> float | None:
    """How many times faster than numba's CUDA simulator, per element of the sequential ladder."""
    ours = next((m.seconds for m in work if m.kernel == "sequential"), None)
    if ours is None:
        return None
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SIMULATED], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        print(f"numba's simulator did not run: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    n = int(32_000_000 * size) // 1024 * 1024
    return float(done.stdout) / (ours * 1e9 / n)


def processor() -> str:
    """The processor's name."""
    try:
        text = Path("/proc/cpuinfo").read_text()
        return next(
            line.split(":")[1].strip() for line in text.splitlines() if "model name" in line
        )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="Measure the engine.")
    parser.add_argument("--gpu", default="sm_90")
    parser.add_argument("--size", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--force", choices=("avx2", "no-fma"), help="a lesser processor's code")
    parser.add_argument("--only", action="append", help="kernels to run")
    parser.add_argument("--no-compile-times", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.force:
        os.environ["WARPLENS_HOST"] = options.force
    import warplens as wl
    from warplens.api import LaunchOptions
    from warplens.lift.engines.host import host_features

    features = host_features()
    width = 512 if features.has_avx512 else 256 if features.has_avx2 else 128
    device = wl.Device(options.gpu, options=LaunchOptions(workers=1, timing=False))
    found = []
    if not options.json:
        print(f"{processor()}, code for {features.cpu}, {width}-bit vectors, one worker")
        print(f"{'kernel':<12}{'M warp-inst/s':>14}{'target':>8}{'seconds':>9}"
              f"{'warp-inst':>14}{'first launch s':>16}")  # fmt: skip
    for work in workloads(options.size):
        if options.only and work.kernel not in options.only:
            continue
        m = measure(device, work, options.repeats)
        found.append(m)
        if not options.json:
            speed = f"{m.million_per_second:>14.0f}{m.target:>8.0f}{m.seconds:>9.3f}"
            work_done = f"{m.warp_instructions:>14,}{m.first_launch_seconds:>16.2f}"
            print(f"{m.kernel:<12}{speed}{work_done}", flush=True)
    times = [] if options.no_compile_times else compile_times(device)
    ratios = plain_c(found, options.size)
    faster = simulator(found, options.size)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if options.json:
        print(json.dumps({
            "processor": processor(), "vector_bits": width, "code_for": features.cpu,
            "kernels": [asdict(m) for m in found], "compile_times": times,
            "times_of_plain_c": ratios, "times_faster_than_simulator": faster,
            "peak_memory_mib": peak,
        }, indent=1))  # fmt: skip
        return 0
    for instructions, *seconds in times:
        lifting, quick, fast = (1e6 * t / instructions for t in seconds)
        print(f"compile {instructions:>6} instructions, us each: lifting {lifting:.0f}, "
              f"code of tier 0 {quick:.0f}, lifting and code of tier 1 {fast:.0f}")  # fmt: skip
    for name, both in ratios.items():
        print(f"{name}: {both['same kernel']:.2f} times the time of the same kernel in plain C "
              f"(-O3 -march=native), {both['shortest']:.2f} times that of the shortest C with the "
              "same result")  # fmt: skip
    if faster is not None:
        print(f"sequential ladder: {faster:,.0f} times as fast as numba's CUDA simulator")
    print(f"peak memory {peak:.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
