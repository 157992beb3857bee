"""Builds and runs programs of HeCBench, unmodified, by their own makefiles, on a simulated GPU.

    python validation/programs/hecbench.py FOLDER [NAME ...] [--gpu H200] [-o results.json]

FOLDER is a clone of https://github.com/zjin-lcf/HeCBench. `hecbench.txt` names the programs and
small arguments for them. A program holds if it is built, ends with 0 in time and does not say that
something failed; most check their own results.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from trying import Found, every, ran

HERE = Path(__file__).parent
FAILED = re.compile(r"\bFAIL(?:ED|URE)?\b|Test failed|CUDA error|incorrect|mismatch", re.IGNORECASE)
_PROGRAM = re.compile(r"^program\s*=\s*(\S+)", re.MULTILINE)
_BESIDE = re.compile(r"\.\./([\w-]+)")


def shim(folder: Path) -> Path:
    """A folder with an `nvcc` that is `warplens build`."""
    path = folder / "nvcc"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m warplens.cli.main build "$@"\n')
    path.chmod(0o755)
    return folder


def tried(program: list[str], root: Path, gpu: str, limit: float) -> Found:
    """Builds and runs a program, its name and arguments, in a copy of its folder; says how that
    ended."""
    name, *words = program
    source = root / "src" / f"{name}-cuda"
    if not source.is_dir():
        return {"name": name, "outcome": "not there"}
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "src" / source.name
        shutil.copytree(source, copy)
        makefile = (source / "Makefile").read_text()
        for other in set(_BESIDE.findall(makefile)) - {source.name}:
            if (root / "src" / other).exists():
                (copy.parent / other).symlink_to(root / "src" / other)
        path = f"{shim(Path(place))}:{os.environ['PATH']}"
        status, text, seconds = ran(["make", "CC=nvcc", f"ARCH=sm_{_sm(gpu)}"], copy, limit, path)
        found: Found = {"name": name, "build_seconds": round(seconds, 1)}
        if status:
            return {**found, "outcome": "not built", "output": text[-3000:]}
        binary = _PROGRAM.search(makefile)
        command = [sys.executable, "-m", "warplens.cli.main", "run", "--gpu", gpu,
                   str(copy / (binary[1] if binary else "main")), *words]  # fmt: skip
        status, text, seconds = ran(command, copy, limit, path)
    outcome = "holds" if not status and not FAILED.search(text) else "fails"
    return {**found, "run_seconds": round(seconds, 1), "status": status, "output": text[-3000:],
            "outcome": "too slow" if status == 124 else outcome}  # fmt: skip


def _sm(gpu: str) -> int:
    from warplens.gpus.find import find_gpu

    return find_gpu(gpu).sm


def main() -> int:
    """Tries all programs, or those that are named."""
    listed = [line.split() for line in (HERE / "hecbench.txt").read_text().splitlines()]
    return every(listed, lambda program: program[0], tried, __doc__ or "", "programs")


if __name__ == "__main__":
    sys.exit(main())
