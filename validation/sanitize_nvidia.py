"""Runs the tools over NVIDIA's examples (github.com/NVIDIA/compute-sanitizer-samples).

    python validation/sanitize_nvidia.py FOLDER

FOLDER is a copy of the repository. Of each example the kernels are run with the memory that its
host code would have given them: how much was allocated, and how much of that was set. Prints what
is found beside what the example is there to show.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl


def ints(count: int, written: int | None = None) -> Any:
    """An array of `cudaMalloc`, of which `written` bytes have been set to zero (None: all)."""
    array = wl.uninitialized(count, np.int32)
    array.view(np.uint8)[:written] = 0
    return array


# file, kernel, grid, block, arguments, the check that the example is there for
EXAMPLES = (
    ("Memcheck/memcheck_demo.cu", "unaligned_kernel", 1, 1, (), "misaligned-access"),
    ("Memcheck/memcheck_demo.cu", "out_of_bounds_kernel", 1, 1, (), "out-of-bounds"),
    ("Racecheck/block_error.cu", "sumKernel", 1, 128, (ints(128), ints(1, 0)),
     "shared-read-write-race"),
    ("Racecheck/warp_error.cu", "sumKernel", 1, 64, (ints(64), ints(1, 0)),
     "shared-read-write-race"),
    ("Synccheck/divergent_threads.cu", "myKernel", 1, 64, (ints(1008), ints(1, 0)),
     "divergent-barrier"),
    ("Synccheck/illegal_syncwarp.cu", "myKernel", 1, 32, (ints(1, 0),), "mask-without-caller"),
    ("Initcheck/memset_error.cu", "vectorAdd", 2, 32, (ints(64, 64),),
     "uninitialised-global-read"),
    ("Suppressions/suppressions_initcheck_demo.cu", "mult", 1, 123,
     (ints(123, 123 * 4 - 1), ints(123, 0), 123), "uninitialised-global-read"),
)  # fmt: skip


def main() -> None:
    """Reads the folder and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    found = 0
    for file, name, grid, block, arguments, wanted in EXAMPLES:
        text = (folder / file).read_text().replace("#include <iostream>", "")
        kernels = text.split("static void run_unaligned")[0].split("int main")[0]
        module = wl.Device("H200").compile(kernels)
        report = module[name].sanitize[grid, block](*arguments)
        checks = sorted({finding.check for finding in report.errors})
        found += wanted in checks
        outcome = "found" if wanted in checks else "MISSED"
        print(f"{file:45} {name:22} {outcome:7} {', '.join(checks)}", flush=True)
    print(f"{found} of {len(EXAMPLES)} found")


if __name__ == "__main__":
    main()
