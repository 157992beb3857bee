"""`warplens explain`: every name that a report can hold has a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import warplens as wl
from warplens.analysis.advice import rules
from warplens.cli.main import main
from warplens.lift.coverage import coverage
from warplens.metrics.registry import all_metrics, all_sections
from warplens.reference import examples, find, pages
from warplens.sanitize.checks import CHECKS
from warplens.sanitize.finding import TOOLS, Finding

CASES = Path(__file__).parents[1] / "sanitize" / "cases"


def explained(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Status, output and messages of a call."""
    status = main(["explain", *words])
    return status, *capsys.readouterr()


def test_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """A rule's page has when it fires, and a kernel with its repair."""
    status, out, err = explained(capsys, "UncoalescedGlobalAccess")

    assert (status, err) == (0, "")
    assert out.startswith("# UncoalescedGlobalAccess\n")
    assert "lanes touch many more 32-byte sectors" in out
    assert examples()["uncoalesced"].text.strip() in out
    assert explained(capsys, "uncoalesced global accesses")[1] == out


def test_metric(capsys: pytest.CaptureFixture[str]) -> None:
    """A metric's page has unit, meaning and basis, also under a full name."""
    _, base, _ = explained(capsys, "smsp__inst_executed")
    _, full, _ = explained(capsys, "smsp__inst_executed.sum.per_second")

    assert "unit: inst." in base and "Basis `exact`" in base and "`InstructionStats`" in base
    assert "has the unit inst/s" in full and base.partition("\n\n")[2] in full


def test_section_and_rule_of_one_name(capsys: pytest.CaptureFixture[str]) -> None:
    """A section lists its rows; its title is a name too."""
    _, out, _ = explained(capsys, "Occupancy")

    assert "| Block Limit Registers | `launch__occupancy_limit_registers` |" in out
    assert explained(capsys, "gpu speed of light throughput")[1].startswith("# SpeedOfLight\n")


def test_check(capsys: pytest.CaptureFixture[str]) -> None:
    """A check's page names its tool and the repair."""
    _, out, _ = explained(capsys, "shared-read-write-race")

    assert "A racecheck check." in out and "`__syncthreads()`" in out


def test_opcode(capsys: pytest.CaptureFixture[str]) -> None:
    """An opcode's page says what it computes, or that and why it is refused."""
    assert "d = a + b." in explained(capsys, "fadd")[1]
    assert "Not supported: multimem accesses" in explained(capsys, "LDGMC")[1]
    assert "Not supported" not in explained(capsys, "FADD.FTZ")[1]
    assert "Not supported with `.NONSENSE`" in explained(capsys, "FADD.NONSENSE")[1]
    assert "Not supported in this form: formatted" in explained(capsys, "SULD.P.2D")[1]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("shared-write-rac", "shared-write-race"),
        ("UncoalescedAccess", "UncoalescedGlobalAccess"),
        ("smsp__inst_executd", "smsp__inst_executed"),
        ("long_scoreboard", "smsp__warps_issue_stalled_long_scoreboard"),
        ("FFMAA", "FFMA"),
    ],
)
def test_close_names_are_suggested(
    asked: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt name is refused with those that may be meant."""
    status, out, err = explained(capsys, asked)

    assert (status, out) == (2, "")
    assert re.search(rf"Did you mean [^?]*\b{meant}\b", err)


def test_wrong_suffix_of_a_metric(capsys: pytest.CaptureFixture[str]) -> None:
    """A suffix that a metric does not have is refused with those it has."""
    status, _, err = explained(capsys, "smsp__inst_executed.median")

    assert status == 2 and "It has .sum" in err


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    """--list prints every name with its kind; without it, a name is needed."""
    status, out, _ = explained(capsys, "--list")
    names = {tuple(line.split(maxsplit=1)) for line in out.splitlines()}

    assert status == 0
    assert names == {
        *(("rule", one.identifier) for one in rules()),
        *(("section", one.identifier) for one in all_sections()),
        *(("metric", one.name) for one in all_metrics()),
        *(("check", name) for name in CHECKS),
        *(("opcode", one.opcode) for one in coverage()),
    }
    assert explained(capsys)[0] == 2
    assert explained(capsys, "FADD", "--list")[0] == 2


def test_every_page_can_be_made() -> None:
    """Every page has a text, and is found under its name whatever the capitals."""
    for page in pages():
        assert len(page.markdown.splitlines()) > 2, page.name
        assert page in find(page.name.swapcase())


def test_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--examples writes kernels that compile, and overwrites nothing unasked."""
    status, out, _ = explained(capsys, "LaunchConfiguration", "--examples", str(tmp_path))
    again, _, err = explained(capsys, "LaunchConfiguration", "--examples", str(tmp_path))
    kernels = wl.Device("H200").compile(tmp_path / "tail.cu").kernels

    assert status == 0 and [Path(line).name for line in out.splitlines()] == [
        "block_size.cu", "small_grid.cu", "tail.cu",
    ]  # fmt: skip
    assert again == 2 and "already exists" in err
    assert sorted(name.partition("(")[0] for name in kernels) == ["after", "before"]
    assert explained(capsys, "FADD", "--examples", str(tmp_path))[0] == 2


def test_checks_are_those_that_are_found() -> None:
    """Every check of the planted cases is declared, of a tool there is; others cannot be found."""
    text = "".join(path.read_text() for path in sorted(CASES.glob("*.md")))
    marked = set(re.findall(r"// (?:error|info): \[([a-z-]+)\]", text))

    assert len(marked) > 15 and marked <= set(CHECKS)
    assert {one.tool for one in CHECKS.values()} == set(TOOLS)
    with pytest.raises(ValueError, match="not declared"):
        Finding(tool="memcheck", check="no-such-check", severity="error", title="t")
