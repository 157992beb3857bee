"""Advice and findings as lines that an editor's problem matcher reads: `--format vscode`.

`FILE:LINE:COLUMN: error|warning|info: TEXT [NAME]`, one a line, with absolute paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from warplens.result import Result

_SEVERITY = {"ERR": "error", "WRN": "warning", "OPT": "warning"}


def problem_line(file: str, line: int, severity: str, text: str, name: str) -> str:
    """One problem; whatever the text holds, it stays one line."""
    told = re.sub(r"\s+", " ", text).strip()
    return f"{Path(file).resolve()}:{line}:1: {severity}: {told} [{name}]"


def problems_of(result: Result) -> str:
    """Every piece of advice with a place in a source, each once, in the order of their gains."""
    rules = [rule for launch in result.launches for section in launch.sections
             for rule in section.rules if rule.file and rule.line]  # fmt: skip
    return lines_of(
        problem_line(rule.file or "", rule.line or 0, _SEVERITY.get(rule.tag, "info"),
                     f"{rule.title or rule.identifier}: {rule.text}", rule.identifier)
        for rule in sorted(rules, key=lambda rule: rule.rank)
    )  # fmt: skip


def lines_of(lines: Iterable[str]) -> str:
    """The lines as one text, each once."""
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))
