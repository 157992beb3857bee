"""Runs a program of each framework where there is nothing but Python, the wheel and the framework.

    python validation/bare_environment.py WHEEL FOLDER [--gpu "RTX 4090"] [--only numba ...]

An environment is made in FOLDER (or used again), with the wheel and the frameworks from PyPI; the
programs of `validation/bare/` run in it with an empty HOME and nothing but its own `bin` on the
PATH: no compiler, no toolkit, no driver. Prints a row for each, with the versions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = Path(__file__).parent / "bare"
# program -> the wheel's extra, further packages, the package whose version is told
FRAMEWORKS = {
    "numba": ("numba", (), "numba-cuda"),
    "triton": ("triton", ("torch==2.13.0+cpu",), "triton"),
    "cuda_core": ("cuda-core", (), "cuda-core"),
    "cutile": ("cutile", ("torch==2.13.0+cpu",), "cuda-tile"),
    "cupy": ("cupy", (), "cupy-cuda13x"),
    "tinygrad": ("tinygrad", (), "tinygrad"),
    "warp": ("warp", (), "warp-lang"),
    "pallas": ("pallas", (), "jax"),
}
VERSIONS = """
import importlib.metadata, json, sys
print(json.dumps({name: importlib.metadata.version(name) for name in sys.argv[1:]}))
"""


def environment(folder: Path, wheel: Path, names: list[str]) -> Path:
    """An environment's `bin` with the wheel and these frameworks."""
    binaries = folder / "bin"
    if not binaries.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    extras = ",".join(sorted({FRAMEWORKS[name][0] for name in names}))
    further = sorted({package for name in names for package in FRAMEWORKS[name][1]})
    pip = [str(binaries / "pip"), "install", "--quiet"]
    subprocess.run([*pip, f"{wheel.resolve()}[{extras}]", *further], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", str(wheel.resolve())], check=True)
    return binaries


def main() -> int:
    """Runs the programs; the exit status is how many failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpu", default="RTX 4090")
    parser.add_argument("--only", nargs="*", choices=FRAMEWORKS, default=list(FRAMEWORKS))
    given = parser.parse_args()
    binaries = environment(given.folder.resolve(), given.wheel, given.only)
    packages = [FRAMEWORKS[name][2] for name in given.only]
    asked = [str(binaries / "python"), "-c", VERSIONS, *packages]
    versions = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
    failed = 0
    for name, package in zip(given.only, packages, strict=True):
        with tempfile.TemporaryDirectory() as home:
            began = time.monotonic()
            done = subprocess.run(
                [str(binaries / "warplens"), "run", "--gpu", given.gpu,
                 str(PROGRAMS / f"with_{name}.py")],
                env={"HOME": home, "PATH": str(binaries)}, cwd=home, capture_output=True, text=True,
            )  # fmt: skip
        failed += done.returncode != 0
        what = "holds" if done.returncode == 0 else f"exit status {done.returncode}"
        seconds = time.monotonic() - began
        print(f"{package} {versions[package]}: {what}, {seconds:.0f} s", flush=True)
        if done.returncode:
            print(done.stderr[-2000:])
    return failed


if __name__ == "__main__":
    sys.exit(main())
