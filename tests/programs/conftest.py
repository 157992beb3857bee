"""One build of the programs for all tests, and a way to run them as users do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
Run = Callable[..., "subprocess.CompletedProcess[str]"]
WARPLENS = (sys.executable, "-m", "warplens.cli.main")


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that holds many, built by `warplens build`."""
    path = tmp_path_factory.mktemp("programs") / "many"
    subprocess.run(
        [*WARPLENS, "build", "--gpu", "H200", str(HERE / "many.cu"), "-lineinfo", "-o", str(path)],
        check=True,
    )
    return path


@pytest.fixture
def run(many: Path) -> Run:
    """Runs one of them with `warplens run`; options come before its words."""

    def run(*words: object, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*WARPLENS, "run", *options, str(many), *map(str, words)],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    return run
