"""Every planted bug is found on its line; the repaired twin and correct kernels are clean."""

from __future__ import annotations

from typing import Any

import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.sanitize.planted import Planted, cases
from warplens.cli._launch_arguments import parse

CASES = list(cases())


def sanitized(case: Planted, source: str, gpu: str = "H200") -> Any:
    """The report of one launch of a case."""
    kernel = wl.Device(gpu).compile(source)["kernel"]
    arguments = [parse(text) for text in case.arguments]
    return kernel.sanitize[case.grid, case.block, 0, case.shared](*arguments)


def identifier(case: Planted) -> str:
    """A short name for reports."""
    return f"{case.file}-{case.name}".replace(" ", "-")


@pytest.mark.parametrize("case", one_in(48, CASES, identifier))
def test_bug_is_found(case: Planted) -> None:
    """Every marked line is found with its check, and nothing is reported elsewhere."""
    report = sanitized(case, case.bug)
    found = {(line, finding.check) for finding in report.errors for line in finding.lines}
    marked = {line for line, _ in case.expected}

    assert set(case.expected) <= found, str(report)
    assert all(marked & set(finding.lines) for finding in report.errors), str(report)


@pytest.mark.parametrize("case", one_in(48, CASES, identifier, first=13))
def test_twin_is_clean(case: Planted) -> None:
    """The repaired twin has no finding."""
    report = sanitized(case, case.twin)

    assert not report.errors, str(report)


def test_enough_cases() -> None:
    """There are at least sixty planted bugs."""
    assert len(CASES) >= 60
