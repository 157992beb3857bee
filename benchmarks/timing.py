"""Speed of the timing model: warp instructions per second in replay, on ten kernels.

    python benchmarks/timing.py [--gpu H200] [--repeats 3]
    python benchmarks/timing.py --exact [--gpu "RTX 4060"]
    python benchmarks/timing.py --uneven

With --exact: elapsed cycles from a sample of the blocks against those from all blocks of an SM.
With --uneven: seconds of predicting a launch of 2^20 blocks whose lengths depend on data, or grow.

One core; CPU seconds. The replay is cycle by cycle; sampling and the preparation of L2's answers
are not counted in it but shown. The first use compiles the model, which is cached.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl
from warplens.api import LaunchOptions
from warplens.timing.model import Model

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "validation" / "recorder" / "kernels" / "counters.cu"
# kernel -> grid, block, (p, q, r, s)
KERNELS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, int, int, int]]] = {
    "histogram": ((132,), (256,), (1 << 20, 0, 0, 0)),
    "saxpy": ((32768,), (512,), (0, 0, 0, 0)),
    "stencil5": ((32, 128), (32, 8), (1024, 0, 0, 0)),
    "transpose_padded": ((64, 64), (32, 8), (2048, 0, 0, 0)),
    "sgemm_naive": ((64, 64), (16, 16), (1024, 0, 0, 0)),
    "sgemm_tiled": ((64, 64), (16, 16), (1024, 0, 0, 0)),
    "reduce_grid_stride": ((1056,), (256,), (1 << 24, 0, 0, 0)),
    "mandelbrot": ((2048,), (256,), (200, 0, 0, 0)),
    "spmv_gather": ((4096,), (256,), (64, 0xFFFFF, 0, 0)),
    "pipe_ffma": ((264,), (512,), (128, 0, 0, 0)),
}

UNEVEN = """
extern "C" __global__ void by_data(const int* lengths, const float* x, float* y, int mask) {
    int b = blockIdx.x, rounds = lengths[b];
    float sum = 0.0f;
    for (int i = 0; i < rounds; ++i) sum += x[(threadIdx.x + i * blockDim.x + b * 7) & mask];
    y[b * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void growing(const int* lengths, const float* x, float* y, int mask) {
    int b = blockIdx.x, rounds = b >> 14;
    float sum = 0.0f;
    for (int i = 0; i < rounds; ++i) sum += x[(threadIdx.x + i * blockDim.x + b * 7) & mask];
    y[b * blockDim.x + threadIdx.x] = sum;
}
"""

# The same, of a size whose blocks an exact replay can keep.
WHOLE: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, int, int, int]]] = {
    **KERNELS,
    "histogram": ((2048,), (256,), (1 << 22, 0, 0, 0)),
    "saxpy": ((8192,), (512,), (0, 0, 0, 0)),
    "sgemm_naive": ((32, 32), (16, 16), (512, 0, 0, 0)),
    "sgemm_tiled": ((32, 32), (16, 16), (512, 0, 0, 0)),
    "reduce_grid_stride": ((2048,), (256,), (1 << 22, 0, 0, 0)),
    "spmv_gather": ((2048,), (256,), (64, 0xFFFFF, 0, 0)),
    "pipe_ffma": ((1200,), (512,), (128, 0, 0, 0)),
}


def _measure(kernel: wl.Kernel, shape: Any, arguments: list[Any], repeats: int) -> list[float]:
    begin = time.process_time()
    launch = kernel.predict[shape](*arguments)
    sampled = time.process_time() - begin
    model: Model = launch.timing.model
    begin = time.process_time()
    _ = model.answer
    prepared = time.process_time() - begin
    best = 1e9
    for _ in range(repeats):
        begin = time.process_time()
        replay = model.replay()
        best = min(best, time.process_time() - begin)
    return [sampled, prepared, best, replay.instructions, replay.instructions / best / 1e6]


def _compare(gpu: str) -> None:
    """Prints sampled and exact cycles of every kernel, and the largest difference."""
    results: dict[str, list[tuple[float, int]]] = {name: [] for name in WHOLE}
    for exact in (False, True):
        device = wl.Device(gpu, options=LaunchOptions(exact_timing=exact))
        module = device.compile(SOURCE)
        given = device.to_device(np.arange(1 << 24, dtype=np.uint32))
        out = device.to_device(np.zeros(1 << 24, np.uint32))
        for name, (grid, block, numbers) in WHOLE.items():
            shape = (grid, block, 0, 1024 if name.startswith("reduce") else 0)
            model: Model = module[name].predict[shape](given, out, *numbers).timing.model
            results[name].append((model.estimate.elapsed_cycles, model.result.blocks))
    print(f"{'kernel':<20}{'blocks':>8}{'cycles':>12}{'of':>8}{'cycles':>12}{'%':>8}")
    worst = 0.0
    for name, ((cycles, few), (whole, every)) in results.items():
        percent = 100.0 * (cycles / whole - 1.0)
        worst = max(worst, abs(percent))
        print(f"{name:<20}{few:>8}{cycles:>12,.0f}{every:>8}{whole:>12,.0f}{percent:>+8.2f}")
    print(f"largest difference {worst:.2f} %")


def _uneven(gpu: str) -> None:
    """Prints how long predictions of a million uneven blocks take, first ones and on other data."""
    blocks, rng = 1 << 20, np.random.default_rng(1)
    module = wl.Device(gpu).compile(UNEVEN)
    x, y = rng.random(1 << 20).astype(np.float32), np.zeros(64 * blocks, np.float32)
    for name in ("by_data", "growing", "by_data", "growing"):
        lengths = np.minimum(rng.pareto(1.5, blocks) * 4, 400).astype(np.int32)
        begin, used = time.perf_counter(), time.process_time()
        launch = module[name].predict[blocks, 64](lengths, x, y, (1 << 20) - 1)
        nanoseconds = launch.metric("gpu__time_duration.sum")
        print(f"{name:<10}{nanoseconds / 1e3:>10,.0f} us predicted in "
              f"{time.perf_counter() - begin:.2f} s, {time.process_time() - used:.2f} s of "
              "processors")  # fmt: skip


def main() -> None:
    """Prints one line a kernel and the slowest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", default="H200")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--exact", action="store_true", help="sampled against exact replay")
    parser.add_argument("--uneven", action="store_true", help="a million uneven blocks")
    options = parser.parse_args()
    if options.exact:
        _compare(options.gpu)
        return
    if options.uneven:
        _uneven(options.gpu)
        return
    device = wl.Device(options.gpu)
    module = device.compile(SOURCE)
    given = device.to_device(np.arange(1 << 24, dtype=np.uint32))
    out = device.to_device(np.zeros(1 << 24, np.uint32))
    warm = module["saxpy"].predict[1, 32](given, out, 0, 0, 0, 0)
    warm.metric("gpu__time_duration.sum")
    print(f"{'kernel':<20}{'sample s':>10}{'L2 s':>8}{'replay s':>10}{'instructions':>14}"
          f"{'M/s':>8}")  # fmt: skip
    speeds = []
    for name, (grid, block, numbers) in KERNELS.items():
        shape = (grid, block, 0, 1024 if name.startswith("reduce") else 0)
        row = _measure(module[name], shape, [given, out, *numbers], options.repeats)
        speeds.append(row[-1])
        print(f"{name:<20}{row[0]:>10.2f}{row[1]:>8.2f}{row[2]:>10.3f}{row[3]:>14,.0f}"
              f"{row[4]:>8.2f}")  # fmt: skip
    print(f"slowest {min(speeds):.2f} M warp instructions per second")


if __name__ == "__main__":
    main()
