"""Sanitizers of a program whose kernels read device memory through textures."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.programs.conftest import HERE, WARPLENS, built

LINES = (HERE / "texture_memory.cu").read_text().splitlines()
FETCH, SAMPLE = (next(i for i, line in enumerate(LINES, 1) if word in line)
                 for word in ("tex1Dfetch<", "tex2D<"))  # fmt: skip
UNWRITTEN, OUTSIDE, FREED = "uninitialised-global-read", "out-of-bounds", "use-after-free"
# What the program does: checks and how often, at which line.
EXPECTED = {
    "right": ({}, 0), "unwritten": ({UNWRITTEN: 4}, FETCH), "freed": ({FREED: 32}, FETCH),
    "beyond": ({OUTSIDE: 32, UNWRITTEN: 4}, FETCH), "rows": ({}, 0), "rows-linear": ({}, 0),
    "rows-half": ({UNWRITTEN: 32}, SAMPLE), "rows-short": ({OUTSIDE: 64}, SAMPLE),
    "array": ({UNWRITTEN: 64}, SAMPLE), "array-filled": ({}, 0),
}  # fmt: skip
SOON = ("right",)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built."""
    return built(tmp_path_factory, "texture_memory", "-lineinfo")


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=() if c in SOON else pytest.mark.long) for c in EXPECTED]
)
def test_reads_through_textures(program: Path, case: str) -> None:
    """Linear, pitched and array memory: freed, too short, or not written."""
    done = subprocess.run([*WARPLENS, "sanitize", "--json", str(program), case],
                          capture_output=True, text=True, check=False)  # fmt: skip
    report = json.loads(done.stdout[done.stdout.index("{") :])
    found = [one for launch in report["launches"] for one in launch["findings"]]

    checks, line = EXPECTED[case]
    assert {one["check"]: one["count"] for one in found} == checks, done.stdout
    assert {access["line"] for one in found for access in one["accesses"]} <= {line}
    assert done.returncode == (1 if checks else 0)
