"""`--format vscode`: lines that the matcher of the example reads, at the lines that are meant."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from warplens.cli.main import main

ROOT = Path(__file__).parents[2]
TRANSPOSE = ROOT / "src" / "warplens" / "studio" / "kernels" / "transpose.cu"
RACE = ROOT / "docs" / "exercises" / "race.cu"
TASKS = json.loads(re.sub(r"^\s*//.*$", "", (ROOT / "examples" / "vscode" / "tasks.json")
                          .read_text(), flags=re.MULTILINE))  # fmt: skip


def matched(task: int, output: str) -> list[dict[str, str]]:
    """What the example's first matcher of a task finds; every line must match."""
    matcher = TASKS["tasks"][task]["problemMatcher"]
    pattern = (matcher[0] if isinstance(matcher, list) else matcher)["pattern"]
    found = []
    for line in output.splitlines():
        match = re.fullmatch(pattern["regexp"].strip("^$"), line)
        assert match is not None, line
        found.append({key: match[pattern[key]] for key in ("file", "line", "severity", "code")})
    return found


def words(task: int, file: Path, kernel: str) -> list[str]:
    """The task's command as the editor runs it."""
    names = {"${file}": str(file), "${input:kernel}": kernel}
    return [names.get(word, word) for word in TASKS["tasks"][task]["args"]]


def test_advice_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The slow line of the transpose stands there as a warning of the file."""
    assert main(words(0, TRANSPOSE, "naive")) == 0
    found = matched(0, capsys.readouterr().out)

    assert {"file": str(TRANSPOSE), "line": "6", "severity": "warning",
            "code": "UncoalescedGlobalAccess"} in found  # fmt: skip


def test_findings_have_their_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A race is an error at its line; without findings nothing is printed."""
    status = main(["sanitize", str(RACE), "-k", "block_sums", "--grid", "4", "--block", "256",
                   "--arg", "i32[1024]=1", "--arg", "i32[4]=0", "--format", "vscode"])  # fmt: skip
    found = matched(1, capsys.readouterr().out)
    line = next(n for n, text in enumerate(RACE.read_text().splitlines(), 1) if "t < s" in text)

    assert status == 1
    assert {(one["file"], one["line"], one["severity"]) for one in found} == {
        (str(RACE), str(line), "error")
    }


def test_compile_errors_match(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the compiler says is read by the second matcher."""
    file = tmp_path / "wrong.cu"
    file.write_text("__global__ void k(float* a) {\n    a[0] = b;\n}\n")
    assert main(words(0, file, "k")) == 2
    pattern = TASKS["tasks"][0]["problemMatcher"][1]["pattern"]["regexp"]
    found = [m for text in capsys.readouterr().err.splitlines() if (m := re.match(pattern, text))]

    assert [(Path(m[1]).name, m[2], m[3]) for m in found] == [("wrong.cu", "2", "error")]
