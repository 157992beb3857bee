"""One build of the programs for all tests, and one process that runs most of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WARPLENS = (sys.executable, "-m", "warplens.cli.main")
Results = dict[str, tuple[str, str, int]]
# Words of the program, and how many GPUs it has if not one.
CASES: dict[str, int] = {
    "managed": 1, "symbols": 1, "graph": 1, "grid_sync": 1, "exceptions": 1, "threads": 1,
    "registered": 1, "rows": 1, "attributes": 1, "streams 3": 1, "events": 1, "exit 7": 1,
    "leak": 1, "unchecked": 1, "errors": 1, "fault": 1, "asserts": 1, "host_functions": 1,
    "forks": 1, "talks": 1, "peer": 2, "pools": 2, "abort": 1, "raise 15": 1, "raise 9": 1,
    "host_reads_device": 1,
}  # fmt: skip


def built(folders: pytest.TempPathFactory, name: str, *options: str) -> Path:
    """A program of this folder, built by `warplens build` with nvcc's options."""
    path = folders.mktemp(name) / name
    source = str(HERE / f"{name}.cu")
    command = [*WARPLENS, "build", "--gpu", "H200", source, *options, "-o", str(path)]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that holds many, built by `warplens build`."""
    return built(tmp_path_factory, "many", "-lineinfo")


@pytest.fixture(scope="session")
def results(many: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What every case printed on both outputs, and how it ended."""
    folder = tmp_path_factory.mktemp("batch")
    cases, found = folder / "cases.json", folder / "results.json"
    cases.write_text(json.dumps([(words.split(), ["H200"] * n) for words, n in CASES.items()]))
    command = [sys.executable, str(HERE / "batch.py"), str(many), str(cases), str(found)]
    subprocess.run(command, check=True, timeout=600)
    return dict(zip(CASES, map(tuple, json.loads(found.read_text())), strict=True))
