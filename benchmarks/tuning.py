"""Time to compile, prune and rank a space of configurations, stage by stage.

    taskset -c 0,1 python benchmarks/tuning.py [--configurations 5000] [--processes 2]
        [--strategy surrogate] [--record FILE --budget 500s] [--out FILE]

The space is the recorded matrix product's with further values (6,592 configurations), taken evenly.
What is known already is not computed again, so give a fresh cache: WARPLENS_CACHE_DIR=$(mktemp -d).
`--record` with `--budget` stops after a time, and goes on there when it is called again; `--out`
keeps the whole result.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
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
    parser.add_argument("--configurations", type=int, default=5000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--strategy", default="surrogate")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--budget")
    parser.add_argument("--evaluations", type=int)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    every = list(Space(VALUES, RULES))
    count = min(options.configurations, len(every))
    places = np.linspace(0, len(every) - 1, count).round().astype(int).tolist()
    chosen = {tuple(every[place].values()) for place in places}
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
        problem, ("H200",), strategy=options.strategy, processes=options.processes, confirm=0,
        progress=progress, record=options.record, budget=options.budget,
        evaluations=options.evaluations,
    ).run()  # fmt: skip
    for stage, seconds in ends.items():
        print(f"{stage}: {seconds:,.1f} s after the start")
    wall = time.perf_counter() - begin
    print(f"all: {wall:,.1f} s, {processor_seconds():,.1f} s of processors")
    print(f"{len(found.of()):,} predicted, {len(found.estimated()):,} estimated, "
          f"{len(found.failures()):,} pruned or failed. {found.stopped}")
    if found.best is not None:
        print(f"best: {found.best.name}, {(found.best.time_ns or 0) / 1e3:,.1f} us")
    for gpu, learned in found.surrogates.items():
        print(f"{gpu}: error of those left out {learned.error_percent:.1f} %")
    if options.out is not None:
        options.out.write_text(found.json())


def processor_seconds() -> float:
    """What this process and all that it started have used; a process counts once it has ended."""
    for child in multiprocessing.active_children():
        child.join()
    return sum(os.times()[:4])


if __name__ == "__main__":
    main()
