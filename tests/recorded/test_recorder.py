"""The recorder compiles all its kernels and passes a dry run on a machine without a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RECORDER = Path(__file__).parents[2] / "validation" / "recorder"
SCRIPTS = ("semantics", "operations", "mma", "mufu", "mufu_check", "timing", "counters_record",
           "joins", "residency", "loaded", "pieces", "ports", "bursts", "stores", "queues",
           "constants", "paces", "reductions", "fetch", "contention", "states", "generic",
           "constant_states", "idle_accesses")  # fmt: skip


@pytest.fixture(scope="module")
def cubins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All cubins, compiled as a user would."""
    folder = tmp_path_factory.mktemp("cubins")
    subprocess.run([sys.executable, RECORDER / "build.py", folder], check=True)
    return folder


def _dry_run(script: str, cubins: Path, out: Path) -> None:
    command = [sys.executable, RECORDER / f"{script}.py", cubins, out, "--dry-run"]

    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


@pytest.mark.long  # compiling all their kernels takes most of a minute
@pytest.mark.parametrize("script", SCRIPTS)
def test_dry_run(script: str, cubins: Path, tmp_path: Path) -> None:
    """Every kernel that a script wants exists, and its files are written."""
    _dry_run(script, cubins, tmp_path)


def test_dry_run_of_launches(tmp_path: Path) -> None:
    """Case files like those that were recorded, but for what was measured."""
    command = [sys.executable, RECORDER / "launches.py", "--build", tmp_path / "cubins"]
    subprocess.run(command, check=True)
    _dry_run("launches", tmp_path / "cubins", tmp_path)
    written = sorted(tmp_path.glob("h200_*.json"))
    assert len(written) == 7
    for path in written:
        recorded = json.loads((RECORDER.parent / "timing" / path.name).read_text())
        new = json.loads(path.read_text())
        for document in (recorded, new):
            del document["origin"]
            for case in document["cases"]:
                del case["measured"]
        assert new == recorded
