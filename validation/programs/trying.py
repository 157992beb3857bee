"""What scripts that try public programs share: running a command, going through programs."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

Program = TypeVar("Program")
Found = dict[str, object]


def ran(
    words: Sequence[str], folder: Path, limit: float, path: str | None = None
) -> tuple[int, str, float]:
    """Status (124: not in time), output and seconds of a command; `path`: another PATH for it."""
    began = time.perf_counter()
    try:
        done = subprocess.run(
            words, cwd=folder, env=None if path is None else {**os.environ, "PATH": path},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        return 124, (error.stdout or b"").decode(errors="replace"), limit
    return done.returncode, done.stdout.decode(errors="replace"), time.perf_counter() - began


def every(
    programs: Sequence[Program], name_of: Callable[[Program], str],
    tried: Callable[[Program, Path, str, float], Found], description: str, what: str,
) -> int:  # fmt: skip
    """Tries all programs, or those that the command line names; 0 if all of them hold."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--gpu", default="H200")
    parser.add_argument("--limit", type=float, default=300, help="seconds for each step")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    results = []
    for program in programs:
        if arguments.names and name_of(program) not in arguments.names:
            continue
        found = tried(program, arguments.folder.resolve(), arguments.gpu, arguments.limit)
        results.append(found)
        print(f"{found['name']:28}{found['outcome']:12}{found.get('run_seconds', '')}", flush=True)
        if arguments.output is not None:
            arguments.output.write_text(json.dumps(results, indent=1))
    n_right = sum(found["outcome"] == "holds" for found in results)
    print(f"{n_right} of {len(results)} {what} hold")
    return 0 if n_right == len(results) else 1
