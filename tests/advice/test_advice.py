"""Advice: the right rule first on planted mistakes, with the right gain; none on good kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.advice import held_out
from tests.advice.planted import CASES, TOLD, Planted, launched
from tests.in_turn import one_in
from warplens.analysis.advice import rules
from warplens.reference.examples import examples
from warplens.report.csv import details_csv
from warplens.report.terminal import details_page
from warplens.result import Result

PAGE = Path(__file__).parents[2] / "docs" / "advice.md"
GOOD = Path(__file__).with_name("good.cu")
# What a good kernel may still hear: that it waits, that it is short.
SYMPTOMS = {"CPIStall", "LaunchOverhead"}


# A case's tests stand next to each other, so that one process runs its kernels.
each_planted = pytest.mark.parametrize(
    "case", one_in(3, CASES, lambda case: str(case.name), first=2), scope="module"
)


class Pairs(dict[str, tuple[wl.Launch, wl.Launch]]):
    """Cases by name, before and after: each is run when it is first asked for."""

    def __init__(self, cases: Sequence[Any], run: Callable[[Any, str], wl.Launch]) -> None:
        super().__init__()
        self._cases, self._run = {case.name: case for case in cases}, run

    def __missing__(self, name: str) -> tuple[wl.Launch, wl.Launch]:
        case = self._cases[name]
        self[name] = self._run(case, "before"), self._run(case, "after")
        return self[name]


@pytest.fixture(scope="module")
def planted() -> Pairs:
    """Every case, before and after, run once."""
    return Pairs(CASES, launched)


@each_planted
def test_first_advice(case: Planted, planted: Pairs) -> None:
    """The first advice names the planted mistake, at its source line, and tells what to do."""
    before, _ = planted[case.name]
    first = before.advice()[0]

    assert (first.identifier, first.tag) == (case.rule, "OPT")
    assert first.text and first.title and first.link
    if case.at:
        assert first.file is not None and first.line is not None
        lines = case.path.read_text().splitlines()
        assert Path(first.file).name == f"{case.name}.cu"
        assert case.at in lines[first.line - 1]


@each_planted
def test_estimate(case: Planted, planted: Pairs) -> None:
    """The estimated gain is within a factor 1.5 of what the repaired kernel gains in the model."""
    before, after = (float(run["gpu__time_duration.sum"]) for run in planted[case.name])
    gain = 100 * (1 - after / before)
    first = planted[case.name][0].advice()[0]

    assert first.speedup is not None
    assert gain / 1.5 <= first.speedup <= gain * 1.5
    assert figures(case.name) == pytest.approx((first.speedup, gain), abs=12)


@each_planted
def test_repaired(case: Planted, planted: Pairs) -> None:
    """The repaired kernel does not hear the same advice."""
    found = [one for one in planted[case.name][1].advice() if one.tag == "OPT"]

    assert case.rule not in {one.identifier for one in found}


def arguments(name: str) -> tuple[Any, ...]:
    """Arrays for a good kernel."""
    n = 1 << 20
    values = np.random.default_rng(1).random(n, dtype=np.float32)
    if name == "matmul":
        return values[: 384 * 384].copy(), np.zeros(384 * 384, np.float32), 384
    if name == "transpose":
        return values, np.zeros(n, np.float32), 1024
    if name == "histogram":
        return (values * 4096).astype(np.int32), np.zeros(256, np.int32), n
    return values, np.zeros(n, np.float32), n


GRIDS: dict[str, tuple[Any, Any]] = {
    "copy4": (1024, 256), "saxpy": (4096, 256), "gelu": (4096, 256), "polynomial": (4096, 256),
    "dot": (1056, 256), "transpose": ((32, 32), (32, 8)), "stencil": (4096, 256),
    "matmul": ((6, 6), 256), "softmax": (1024, 256), "histogram": (264, 256),
}  # fmt: skip


@pytest.mark.parametrize("name", one_in(4, list(GRIDS), str))
def test_good_kernels(name: str) -> None:
    """A good kernel gets no advice about a cause it does not have."""
    gpu = "RTX 4060"
    grid, block = GRIDS[name]
    run = wl.Device(gpu).compile(GOOD)[name][grid, block](*arguments(name))
    found = [one for one in run.advice() if one.tag not in ("INF",)]

    assert [one for one in found if one.identifier not in SYMPTOMS] == []


@pytest.mark.parametrize("case", one_in(3, TOLD, lambda case: str(case.name), first=1))
def test_told(case: Planted) -> None:
    """Symptoms are told at their line, and the repaired kernel does the work in less time."""
    before, after = launched(case, "before"), launched(case, "after")
    told = next(one for one in before.advice() if one.identifier == case.rule)
    old, new = (float(run["gpu__time_duration.sum"]) for run in (before, after))

    assert new < 0.8 * old * case.times
    if case.at:
        lines = case.path.read_text().splitlines()
        assert told.line is not None and case.at in lines[told.line - 1]
    else:
        assert told.text


def test_in_every_page(planted: Pairs) -> None:
    """Advice stands in the text and CSV pages in ncu's form."""
    run = planted["bank_conflicts"][0]
    result = Result(launches=(run.result(section_set="full"),), writer="1")
    text, csv = details_page(result), details_csv(result)
    first = run.advice()[0]

    assert f"OPT   Est. Speedup: {first.speedup:.4g}%" in text
    row = next(line for line in csv.splitlines() if '"UncoalescedSharedAccess"' in line)
    assert row.startswith('"0"') and '"SourceCounters","","","","UncoalescedSharedAccess"' in row
    assert row.endswith(f'"OPT","{first.text}","global","{first.speedup:.2f}"')


def test_without_time() -> None:
    """Counted rules work without the timing model and say that they counted."""
    case = CASES[2]
    device = wl.Device(case.gpu, options=wl.api.LaunchOptions(timing=False))
    run = device.compile(case.path)["before"][case.before](*case.arguments())
    first = run.advice()[0]

    assert (first.identifier, first.basis, first.speedup_type) == (case.rule, "exact", "local")


def test_every_rule_is_documented() -> None:
    """Every rule has an example that a test runs, and the page has every case's figures."""
    text = PAGE.read_text()
    titles = {(rule.identifier, rule.title) for rule in rules()}
    without = {rule.identifier for rule in rules()} - {one.rule for one in examples().values()}

    assert {case.name for case in (*CASES, *TOLD)} == set(examples())
    assert {(one.rule, one.title) for one in examples().values()} <= titles
    assert without <= {"PMSamplingData"}
    for case in CASES:
        assert f"| {case.name} | {case.gpu} |" in text
    for case in held_out.CASES:
        assert f"| {case.name} (held out) | {case.gpu} |" in text
    assert all(rule.doc.endswith(".") and rule.title for rule in rules())


def figures(name: str) -> tuple[float, float]:
    """Estimate and gain of a case as the page shows them."""
    text = PAGE.read_text()
    row = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
    cells = [cell.strip() for cell in row.split("|")]
    return float(cells[4].split()[0]), float(cells[5].split()[0])


# --- kernels that no rule was written against -------------------------------------------------


@pytest.fixture(scope="module")
def held() -> Pairs:
    """Every held-out case, before and after, run once."""
    return Pairs(held_out.CASES, held_out.launched)


@pytest.mark.parametrize("case", one_in(6, held_out.CASES, lambda case: str(case.name), first=3))
def test_held_out(case: held_out.HeldOut, held: Pairs) -> None:
    """The first advice is right, its estimate near the gain, and the twin does not hear it."""
    before, after = held[case.name]
    old, new = (float(run["gpu__time_duration.sum"]) for run in (before, after))
    gain = 100 * (1 - new / old)
    first = before.advice()[0]

    assert (first.identifier, first.tag) == (case.rule, "OPT")
    assert first.speedup is not None and gain / 1.5 <= first.speedup <= gain * 1.5
    assert figures(f"{case.name} (held out)") == pytest.approx((first.speedup, gain), abs=12)
    assert case.rule not in {one.identifier for one in after.advice() if one.tag == "OPT"}


@pytest.mark.parametrize(
    ("name", "gpu"),
    one_in(6, list(zip(held_out.GOOD, cycle(["RTX 3080", "H200"]), strict=False)), "-".join,
           several=True),
)
def test_good_held_out(name: str, gpu: str) -> None:
    """Good kernels that no rule was written against hear of no cause."""
    found = [one for one in held_out.good(name, gpu).advice() if one.tag != "INF"]

    assert [one for one in found if one.identifier not in SYMPTOMS] == []
