"""What the sanitizers say of tensor memory: cells nobody has written, races, and wrong uses."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.in_turn import one_in
from warplens import Device

FOLDER = Path(__file__).parent
READERS = {"loaded": "tcgen05.ld", "added_to": "tcgen05.mma", "operand": "tcgen05.mma",
           "beside_the_product": "tcgen05.ld", "taken_again": "tcgen05.ld"}  # fmt: skip

# `// @ name: checks` stands before each kernel; none: it is right in both builds
FILES = {"races.cu": (1, 128), "pair_races.cu": (2, 128), "ring_races.cu": (1, 192)}
_CASE = re.compile(r"^// @ (\w+): ?([\w|-]*)$", re.M)
RACES = [(file, *case) for file in FILES for case in _CASE.findall((FOLDER / file).read_text())]
# Who reads too early may read what is not there yet; phases that nobody waits for are overtaken.
CONSEQUENCES = {"uninitialised-tensor-memory-read", "invalid-access", "endless-wait"}


@cache
def module(name: str, *options: str) -> Any:
    """The kernels of a file."""
    return Device("sm_100").compile(FOLDER / name, options=["-arch=sm_100a", *options])


@pytest.mark.parametrize("name", one_in(3, list(READERS), str))
def test_unwritten_cells_are_found(name: str) -> None:
    """A load, D's old value, A, columns beside D, and columns that were given back before."""
    report = module("unwritten.cu", "-DBUGGED")[name].sanitize[1, 128](np.ones(128, np.uint32))

    (finding,) = report.errors
    assert finding.check == "uninitialised-tensor-memory-read"
    line = next(iter(finding.lines))
    assert READERS[name] in (FOLDER / finding.file).read_text().splitlines()[line - 1]


@pytest.mark.parametrize("name", one_in(3, list(READERS), str, first=1))
def test_written_cells_are_not(name: str) -> None:
    """The same kernels, the cells written first."""
    report = module("unwritten.cu")[name].sanitize[1, 128](np.ones(128, np.uint32))

    assert not report.findings, str(report)


@pytest.mark.parametrize(
    ("file", "name", "checks"), one_in(10, RACES, lambda race: race[1], first=5, several=True)
)
def test_races_are_found(file: str, name: str, checks: str) -> None:
    """Of products, copies, loads and stores, in tensor memory and in operands in shared memory."""
    expected = set(checks.split("|")) - {""}
    arguments = [np.ones(4096, np.uint32) for _ in range(1 + file.startswith("ring"))]

    racy = module(file, "-DBUGGED")[name].sanitize[FILES[file]](*arguments)
    right = module(file)[name].sanitize[FILES[file]](*arguments)

    found = {finding.check for finding in racy.findings}
    assert bool(found & expected) == bool(expected), str(racy)
    assert found <= (expected | CONSEQUENCES if expected else set()), str(racy)
    assert not right.findings, str(right)


@pytest.mark.parametrize("name", ["not_allocated", "freed_before", "not_committed", "not_awaited"])
def test_wrong_uses_are_findings(name: str) -> None:
    """Memcheck names columns outside the allocation, freed ones, and results not waited for."""
    report = module("misuse.cu")[name].sanitize[1, 128](
        np.ones(128, np.uint32), tools=("memcheck",)
    )

    assert [finding.check for finding in report.errors] == ["invalid-access"]
