"""Pairs in CUDA files: a kernel with one mistake and the same without it, told apart by macros.

A case is a line `// @ name: check|check <<<grid, block, shared>>>` before its kernel. Built with
BUGGED, at least one of the checks must be reported and none that is not named; built without, none
at all. Every kernel takes three arrays of 4,096 bytes; with `unwritten` nobody has written the
first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

FOLDER = Path(__file__).parent / "pairs"
_CASE = re.compile(r"^// @ (\w+): ([\w|-]+) <<<([\d, ]+)>>>(.*)$", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One kernel in two builds."""

    file: str
    name: str
    checks: frozenset[str]
    shape: tuple[int, ...]
    is_unwritten: bool


def pairs() -> list[Pair]:
    """Every pair of every file."""
    return [
        Pair(file=path.name, name=name, checks=frozenset(checks.split("|")),
             shape=tuple(map(int, shape.split(","))), is_unwritten="unwritten" in words)
        for path in sorted(FOLDER.glob("*.cu"))
        for name, checks, shape, words in _CASE.findall(path.read_text())
    ]  # fmt: skip


PAIRS = pairs()
# Who reads too early may read what nobody has written yet.
CONSEQUENCES = {"uninitialised-shared-read"}


@cache
def module(file: str, bugged: bool) -> Any:
    """All kernels of a file at once."""
    options = ("-DBUGGED",) if bugged else ()
    return wl.Device("H200").compile(FOLDER / file, options=options)


def report_of(pair: Pair, *, bugged: bool) -> Any:
    """What the sanitizers say of one build."""
    first = wl.uninitialized(1024, np.int32) if pair.is_unwritten else np.zeros(1024, np.int32)
    grid, block, shared = (*pair.shape, 0)[:3]
    kernel = module(pair.file, bugged)[pair.name]
    return kernel.sanitize[grid, block, 0, shared](
        first, np.zeros(1024, np.int32), np.zeros(1024, np.int32)
    )


def name_of(pair: Pair) -> str:
    return pair.name


@pytest.mark.parametrize("pair", one_in(360, PAIRS, name_of, first=240))
def test_mistake_is_found(pair: Pair) -> None:
    """The build with the mistake gives a finding of its check and of no other."""
    found = {finding.check for finding in report_of(pair, bugged=True).errors}

    assert found & pair.checks
    assert found <= pair.checks | CONSEQUENCES


@pytest.mark.parametrize("pair", one_in(360, PAIRS, name_of, first=300))
def test_twin_is_clean(pair: Pair) -> None:
    """The build without it gives none."""
    report = report_of(pair, bugged=False)

    assert not report.errors, str(report)


def test_enough_pairs() -> None:
    """There are at least eighty, no two of one name."""
    assert len({pair.name for pair in PAIRS}) == len(PAIRS) >= 80
