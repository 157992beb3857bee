"""What the runtime refuses, and what a GPU does not notice."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.programs.conftest import HERE, WARPLENS, built

RECORDED = HERE.parents[1] / "validation/data/own_programs_sm90.json"


@pytest.fixture(scope="session")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that makes mistakes."""
    return built(tmp_path_factory, "refused")


def _ran(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*WARPLENS, "run", "--gpu", "H200", str(program), *words],
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip


def test_errors_are_those_of_a_gpu(refused: Path) -> None:
    """Launches and calls that are refused give the errors that an H200 gave."""
    expected = json.loads(RECORDED.read_text())["launch_errors_13_5"][1:]
    told = _ran(refused).stdout.splitlines()

    assert told == [line.replace("zero: cudaSuccess (nil)", "zero: cudaSuccess")
                    for line in expected]  # fmt: skip


def test_beside_an_array_goes_on(refused: Path) -> None:
    """A GPU maps pages of 2 MB: stores just behind an array stay, and are told of once a line."""
    done = _ran(refused, "near")

    assert (done.stdout, done.returncode) == ("cudaSuccess\n63 0\n", 0)
    assert done.stderr.count("out of bounds: invalid __global__ write of size 4 bytes") == 1
    assert done.stderr.count("out of bounds: invalid __global__ read of size 4 bytes") == 1
    assert "warplens sanitize" in done.stderr


def test_beside_an_array_is_a_finding(refused: Path) -> None:
    """The sanitizer reports the same accesses as errors."""
    done = subprocess.run([*WARPLENS, "sanitize", "--gpu", "H200", str(refused), "near"],
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip

    assert done.returncode == 1
    assert "Invalid __global__ write of size 4 bytes" in done.stdout
