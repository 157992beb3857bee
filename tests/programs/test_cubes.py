"""A cube map and mipmap levels of CUDA's runtime."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.programs.conftest import HERE, WARPLENS


@pytest.mark.long
def test_a_program(tmp_path: Path) -> None:
    """Each face by its direction; levels blend from 100 to 300, and stay there."""
    path = tmp_path / "cubes"
    subprocess.run([*WARPLENS, "build", str(HERE / "cubes.cu"), "-o", str(path)], check=True)
    done = subprocess.run([*WARPLENS, "run", str(path)], capture_output=True, text=True, check=True)

    assert [float(word) for word in done.stdout.split()] == [
        *range(10, 70, 10), 100, 125, 150, 175, 200, 225, 250, 275, 300,
    ]  # fmt: skip
