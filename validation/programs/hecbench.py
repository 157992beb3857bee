"""Builds and runs programs of HeCBench, unmodified, by their own makefiles, on a simulated GPU.

    python validation/programs/hecbench.py FOLDER [NAME ...] [--gpu H200] [-o results.json]

FOLDER is a clone of https://github.com/zjin-lcf/HeCBench. `hecbench.txt` names the programs and
small arguments for them. A program holds if it is built, ends with 0 in time and does not say that
something failed; most check their own results.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def ran(words: list[str], folder: Path, limit: float, path: str) -> tuple[int, str, float]:
    """Status, output and seconds of a command."""
    began = time.perf_counter()
    try:
        done = subprocess.run(
            words, cwd=folder, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        return 124, (error.stdout or b"").decode(errors="replace"), limit
    return done.returncode, done.stdout.decode(errors="replace"), time.perf_counter() - began


def tried(root: Path, name: str, words: list[str], gpu: str, limit: float) -> dict[str, object]:
    """Builds and runs one program in a copy of its folder; says how that ended."""
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
        found: dict[str, object] = {"name": name, "build_seconds": round(seconds, 1)}
        if status:
            return {**found, "outcome": "not built", "output": text[-3000:]}
        program = _PROGRAM.search(makefile)
        command = [sys.executable, "-m", "warplens.cli.main", "run", "--gpu", gpu,
                   str(copy / (program[1] if program else "main")), *words]  # fmt: skip
        status, text, seconds = ran(command, copy, limit, path)
    outcome = "holds" if not status and not FAILED.search(text) else "fails"
    return {**found, "run_seconds": round(seconds, 1), "status": status, "output": text[-3000:],
            "outcome": "too slow" if status == 124 else outcome}  # fmt: skip


def _sm(gpu: str) -> int:
    from warplens.gpus.find import find_gpu

    return find_gpu(gpu).sm


def main() -> int:
    """Tries all programs, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--gpu", default="H200")
    parser.add_argument("--limit", type=float, default=300, help="seconds for each step")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    results = []
    for line in (HERE / "hecbench.txt").read_text().splitlines():
        name, *words = line.split()
        if arguments.names and name not in arguments.names:
            continue
        found = tried(arguments.folder.resolve(), name, words, arguments.gpu, arguments.limit)
        results.append(found)
        print(f"{name:28}{found['outcome']:12}{found.get('run_seconds', '')}", flush=True)
        if arguments.output is not None:
            arguments.output.write_text(json.dumps(results, indent=1))
    n_right = sum(found["outcome"] == "holds" for found in results)
    print(f"{n_right} of {len(results)} programs hold")
    return 0 if n_right == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
