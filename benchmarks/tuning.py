"""Time to compile, prune and rank a space of configurations, stage by stage.

    python benchmarks/tuning.py [--configurations 1000] [--processes 2]

The space is the recorded matrix product's with further values (6,592 configurations), taken evenly.
What is known already is not computed again, so give a fresh cache: WARPLENS_CACHE_DIR=$(mktemp -d).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from warplens.tune import Problem, Search, Space

KERNEL = Path(__file__).parent.parent / "validation" / "tuning" / "kernels" / "gemm.cu"
N, K = 2048, 1024
VALUES = {
    "BM": [16, 32, 64, 128], "BN": [16, 32, 64, 128], "BK": [4, 8, 16, 32], "TM": [1, 2, 4, 8],
    "TN": [1, 2, 4, 8], "PAD": [0, 1, 2, 4], "PREFETCH": [0, 1],
}  # fmt: skip
RULES = ("32 <= BM * BN // (TM * TN) <= 1024", "BM * BK + BK * BN + BK * PAD <= 12288",
         "BM >= TM", "BN >= TN")  # fmt: skip


def main() -> None:
    """Prints configurations and seconds of each stage."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--configurations", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    every = list(Space(VALUES, RULES))
    step = max(1, len(every) // options.configurations)
    chosen = {tuple(one.values()) for one in every[::step]}
    print(f"{len(chosen):,} of {len(every):,} configurations, {options.processes} processes")
    arrays = [np.ones(N * K, np.float32), np.ones(N * K, np.float32), np.zeros(N * N, np.float32)]
    problem = Problem(
        source=KERNEL, kernel="gemm", grid=f"({N} // BN, {N} // BM)",
        space=Space(VALUES, (*RULES, lambda c: tuple(c.values()) in chosen)),
        block="BM * BN // (TM * TN)", args=[*arrays, N, K],
    )  # fmt: skip
    begin = time.perf_counter()
    ends: dict[str, float] = {}

    def progress(stage: str, done: int, total: int) -> None:
        ends[stage] = time.perf_counter() - begin

    found = Search(
        problem, ("H200",), processes=options.processes, confirm=0, progress=progress
    ).run()
    for stage, seconds in ends.items():
        print(f"{stage}: {seconds:,.1f} s after the start")
    print(f"{len(found.of()):,} ranked, {len(found.failures()):,} pruned or failed")


if __name__ == "__main__":
    main()
