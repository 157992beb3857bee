"""Runs programs one after another in one process, which saves starting Python for each.

    python batch.py PROGRAM CASES.json RESULTS.json

A case is the program's words and the GPUs; its result standard output, standard error and status.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from warplens.programs.process import run_program
from warplens.programs.program import Settings


def ran(program: Path, words: list[str], gpus: list[str]) -> tuple[str, str, int]:
    """One program's output and how it ended."""
    saved = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            status = run_program(program, words, Settings(gpus=tuple(gpus)))
        finally:
            sys.stderr.flush()
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    for file in saved:
        os.close(file)
    return texts[0], texts[1], status


if __name__ == "__main__":
    program, cases, results = map(Path, sys.argv[1:])
    found = [ran(program, words, gpus) for words, gpus in json.loads(cases.read_text())]
    results.write_text(json.dumps(found))
