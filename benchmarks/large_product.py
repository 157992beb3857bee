"""How long the prediction of a large product of matrices takes: 4096 x 4096 x 4096 halves on an
H200, by TMA and wgmma, two consumers.

    python benchmarks/large_product.py [--rounds 3]

Processor time of the first prediction in this process, compilation included, and of further ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE / "validation" / "recorder"))

from gemm_kernels import Gemm, gemm  # noqa: E402
from gemm_preamble import PREAMBLE  # noqa: E402

import warplens as wl  # noqa: E402

SIZE = 4096


def predicted_us(shape: Gemm, a: np.ndarray, out: np.ndarray) -> float:
    """Microseconds of the product."""
    kernel = wl.Device("H200").compile(PREAMBLE + gemm(shape))[shape.name]
    left = wl.TensorMap(a, box=(shape.rows, shape.step), swizzle="128B")
    right = wl.TensorMap(a, box=(shape.columns, shape.step), swizzle="128B")
    across = SIZE // shape.columns
    tiles = SIZE // shape.rows * across
    launch = kernel.predict[tiles, shape.threads, 0, shape.shared](
        left, right, SIZE // shape.step, tiles, across, out, SIZE
    )
    return float(launch["gpu__time_duration.sum"]) / 1000


def main() -> None:
    """One line a prediction."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    row = np.random.default_rng(1).standard_normal(SIZE).astype(np.float16)
    a, out = np.tile(row, (SIZE, 1)), np.zeros((SIZE, SIZE), np.float32)
    shape = Gemm(name="large", consumers=2, stages=4, columns=256)
    for number in range(given.rounds):
        started, clock = time.process_time(), time.perf_counter()
        found = predicted_us(shape, a, out)
        spent = time.process_time() - started
        which = "first" if number == 0 else "again"
        print(f"{which}: {found:.1f} us predicted in {spent:.2f} s of processor time"
              f" ({time.perf_counter() - clock:.2f} s)", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
