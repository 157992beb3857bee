"""Runs memcheck and racecheck over the Indigo suite (github.com/burtscher/IndigoSuite).

    python validation/sanitize_indigo.py FOLDER [--part 3/40]

FOLDER is a copy of the repository; its own generator writes the CUDA programs into a temporary
folder. They are compiled for sm_90, a batch at a time, and run on a small random graph; their order
is drawn by lot, so that a part of them is a fair sample: `--part 3/40` runs the third of forty. A
program is bad if its name says so. Prints a line per program and the figures.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl
from warplens.errors import WarplensError

THREADS = 64
BATCH = 20


def generated(folder: Path, target: Path) -> list[Path]:
    """The suite's CUDA programs, written by its own generator."""
    generators = folder.resolve() / "Generators"
    for source in sorted(generators.glob("CUDA_sources/*.idg")):
        subprocess.run(
            [sys.executable, "-W", "ignore", "generate_CUDA_codes.py", str(source),
             str(folder.resolve() / "copyright.txt"), str(target)],
            cwd=generators, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    return sorted(target.rglob("*.cu"))


def problem(name: str) -> tuple[int, tuple[Any, ...]]:
    """Blocks and arguments: a random graph with fewer vertices than there are workers.

    The first vertex and the last have no neighbours: else missing bounds checks change nothing.
    """
    rng = np.random.default_rng(22)
    if "_block" in name:
        blocks, vertices, degree = 8, 7, 90
    elif "_warp" in name:
        blocks, vertices, degree = 4, 7, 40
    else:
        blocks, vertices, degree = 2, 100, 6
    if "persistent" in name:
        vertices = vertices * 2 - 1
    counts = rng.integers(0, degree, vertices)
    counts[[0, -1]] = 0
    neighbours = [np.sort(rng.integers(0, vertices, n)) for n in counts]
    index = np.zeros(vertices + 1, np.int32)
    index[1:] = np.cumsum([len(row) for row in neighbours])
    edges = np.concatenate(neighbours).astype(np.int32)
    size = max(vertices, len(edges), 1)
    first = rng.integers(0, vertices, size).astype(np.int32)
    second = rng.integers(0, max(1, len(edges)), size).astype(np.int32)
    first[0] = second[0] = 0
    if name.startswith("path_compression"):
        first = np.maximum(np.arange(size) - 1, 0).astype(np.int32)
    return blocks, (index, edges, first, second, vertices)


def kernel_of(path: Path) -> str:
    """A program's kernel and functions, the kernel called as the program."""
    text = path.read_text()
    text = text[text.index("typedef int data_t;"):].replace('#include "indigo_cuda.h"', "")
    kernels = re.split(r"^(?:void serial_code|int verify_result)", text, flags=re.M)[0]
    return re.sub(r"\btest_kernel\b", path.stem, kernels)


def batches(paths: list[Path]) -> list[list[Path]]:
    """Programs that are compiled together: it takes longer to start the tools than to use them.

    Programs with functions of their own stand alone, as their names are the same.
    """
    alone = [path for path in paths if "__device__" in path.read_text()]
    others = [path for path in paths if path not in alone]
    together = [others[i : i + BATCH] for i in range(0, len(others), BATCH)]
    return together + [[path] for path in alone]


def verdict(module: Any, name: str) -> list[str]:
    """The checks that fire for one program."""
    blocks, arguments = problem(name)
    report = module[name].sanitize[blocks, THREADS](*arguments, tools=["memcheck", "racecheck"])
    return sorted({finding.check for finding in report.errors})


def outcome_of(module: Any, name: str) -> str:
    """What the tools say of a program, its name given, and the checks."""
    is_bad = "bug" in name.lower()
    try:
        checks = verdict(module, name)
    except WarplensError as error:
        return f"error    {error.message.splitlines()[0]}"
    outcome = ("found" if checks else "MISSED") if is_bad else ("REPORTED" if checks else "clean")
    return f"{outcome:8} {', '.join(checks)}"


def main() -> None:
    """Reads the folder and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", default="1/1", metavar="I/N", help="run the I-th of N parts")
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="run the programs whose name matches")
    arguments = parser.parse_args()
    figures: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        paths = generated(arguments.folder, Path(folder))
        random.Random(22).shuffle(paths)
        part, parts = map(int, arguments.part.split("/"))
        chosen = [path for path in paths if re.search(arguments.only, path.stem)]
        for batch in batches(chosen[part - 1 :: parts]):
            module = wl.Device("H200").compile("\n".join(map(kernel_of, batch)))
            for path in batch:
                outcome = outcome_of(module, path.stem)
                figures[outcome.split()[0]] += 1
                print(f"{path.stem:70} {outcome}", flush=True)
    print(dict(figures))


if __name__ == "__main__":
    main()
