"""The recorder compiles all its kernels and passes a dry run on a machine without a GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RECORDER = Path(__file__).parents[2] / "validation" / "recorder"
SCRIPTS = ("semantics", "operations", "mma", "mufu", "mufu_check", "timing", "counters_record",
           "joins")  # fmt: skip


@pytest.fixture(scope="module")
def cubins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All cubins, compiled as a user would."""
    folder = tmp_path_factory.mktemp("cubins")
    subprocess.run([sys.executable, RECORDER / "build.py", folder], check=True)
    return folder


@pytest.mark.parametrize("script", SCRIPTS)
def test_dry_run(script: str, cubins: Path, tmp_path: Path) -> None:
    """Every kernel that a script wants exists, and its files are written."""
    command = [sys.executable, RECORDER / f"{script}.py", cubins, tmp_path, "--dry-run"]

    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
