"""Runs racecheck over the ScoR micro-benchmarks (github.com/csl-iisc/ScoR).

    python validation/sanitize_scor.py FOLDER [--without-volatile]

FOLDER is a copy of the repository. Prints one line per program and the figures: racy programs found
and missed, the others clean and reported.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

import numpy as np

import warplens as wl


def verdict(text: str) -> list[str]:
    """The checks that fire for one program's kernel."""
    shape = [int(re.search(rf"#define {name}\s+(\d+)", text).group(1))
             for name in ("NBLOCKS", "TPERBLK")]  # fmt: skip
    source = re.sub(r"void errCheck.*?\n}", "", text[: text.index("int main")], flags=re.DOTALL)
    source = source.replace("#include <stdio.h>", "")
    module = wl.Device("H200").compile(source)
    kernel = module[module.kernels[0]]
    report = kernel.sanitize[shape[0], shape[1]](np.zeros(1, np.uint32))
    return sorted({finding.check for finding in report.errors})


def main() -> None:
    """Reads the folder and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without-volatile", action="store_true")
    arguments = parser.parse_args()
    figures: Counter[str] = Counter()
    for path in sorted(arguments.folder.glob("microbenchmarks/src/*.cu")):
        text = path.read_text()
        if arguments.without_volatile:
            text = text.replace("volatile ", "")
        checks = verdict(text)
        is_racy = not path.name.startswith("norace")
        outcome = ("found" if checks else "MISSED") if is_racy else (
            "REPORTED" if checks else "clean"
        )  # fmt: skip
        figures[outcome] += 1
        print(f"{path.stem:60} {outcome:8} {', '.join(checks)}", flush=True)
    print(dict(figures))


if __name__ == "__main__":
    main()
