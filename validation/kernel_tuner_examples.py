"""Runs Kernel Tuner's own CUDA examples on a simulated GPU, as they are.

    python validation/kernel_tuner_examples.py [--folder CHECKOUT] [--seconds 480] [--gpu A100]
        [--out FILE] [NAME ...]

Nothing of the examples is kept here: CHECKOUT is a clone, else the repository is taken from GitHub
at the revision named below. Each runs in a process of its own (`warplens run`, or `warplens run`
of pytest for tests) in a fresh copy of the folder. It has run if it ends with 0; a search that is
stopped after the limit counts as running if configurations came out, and their number is noted.
`pip install 'warplens[kernel-tuner,programs]' cupy-cuda13x pytest jinja2`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = "https://github.com/KernelTuner/kernel_tuner"
REVISION = "96a6abc1"
FOLDERS = ("examples/cuda", "examples/cuda-c++")
_TIMED = re.compile(r"\btime=")
_TESTS = "import sys, pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {name!r}]))"


def checkout(folder: Path | None, into: Path) -> Path:
    """A copy of the examples' folders."""
    source = folder
    if source is None:
        source = into / "clone"
        subprocess.run(["git", "clone", "-q", REPOSITORY, str(source)], check=True)
        subprocess.run(["git", "-C", str(source), "checkout", "-q", REVISION], check=True)
    for name in FOLDERS:
        shutil.copytree(source / name, into / "copy" / name)
    return into / "copy"


def ran(script: Path, seconds: float, gpu: str) -> dict[str, object]:
    """How an example ends."""
    target = script.name
    if script.name.startswith("test_"):
        target = "run_tests.py"
        (script.parent / target).write_text(_TESTS.format(name=script.name))
    words = [sys.executable, "-m", "warplens.cli.main", "run", "--gpu", gpu, target]
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            words, cwd=script.parent, stdout=output, stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "MPLBACKEND": "Agg"},
            start_new_session=True,
        )  # fmt: skip
        try:
            status: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        output.seek(0)
        lines = output.read().splitlines()
    timed = sum(bool(_TIMED.search(line)) for line in lines)
    said = [line for line in lines if line.strip() and not line.startswith("  hint:")]
    found: dict[str, object] = {
        "seconds": round(time.monotonic() - begin, 1),
        "status": status,
        "configurations": timed,
    }
    if status or (status is None and not timed):
        found["says"] = said[-1][:300] if said else ""
    return found


def main() -> None:
    """Runs those that are named, or all; a line each, and a file of all answers."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--gpu", default="A100")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory(prefix="warplens-examples-") as folder:
        copy = checkout(options.folder, Path(folder))
        for script in sorted(path for name in FOLDERS for path in (copy / name).glob("*.py")):
            name = f"{script.parent.name}/{script.stem}"
            if options.names and name not in options.names and script.stem not in options.names:
                continue
            results[name] = ran(script, options.seconds, options.gpu)
            print(name, results[name], flush=True)
            if options.out is not None:
                options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
