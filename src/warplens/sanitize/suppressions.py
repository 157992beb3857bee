"""A file of findings that are known and accepted: they are left out and counted in a note.

    [[suppress]]
    check = "global-read-write-race"    # a check's name; * and ? stand for letters
    kernel = "flatten*"                 # the kernel's signature
    file = "components.cu"              # of an access
    line = 41
    reason = "paths are shortened while others follow them"

Of a rule at least one of check, kernel, file, line and target must be given; all that are given
must hold.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import TypeVar

from warplens.errors import InputError
from warplens.sanitize.checks import CHECKS
from warplens.sanitize.finding import Finding, LaunchFindings
from warplens.wording import count

_TEXTS = ("check", "kernel", "file", "target")
Report = TypeVar("Report", bound=LaunchFindings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """One rule; empty parts hold for everything."""

    check: str = ""
    kernel: str = ""
    file: str = ""
    line: int = 0
    target: str = ""
    reason: str = ""

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is meant."""
        names = {"check": finding.check, "kernel": finding.kernel, "target": finding.target}
        for part, text in names.items():
            pattern = getattr(self, part)
            if pattern and not fnmatchcase(text, pattern):
                return False
        files = {PurePath(access.file).name for access in finding.accesses if access.file}
        if self.file and not any(fnmatchcase(name, self.file) for name in files):
            return False
        return not self.line or self.line in finding.lines


def read_suppressions(path: Path) -> tuple[Suppression, ...]:
    """The rules of a file.

    Raises:
        InputError: the file is missing, is no TOML, or has a rule that means nothing.
    """
    try:
        data = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    rows = data.get("suppress", [])
    if set(data) - {"suppress"} or not isinstance(rows, list):
        raise InputError(f"{path}: only [[suppress]] tables are understood")
    return tuple(_rule(path, number, row) for number, row in enumerate(rows, 1))


def _rule(path: Path, number: int, row: object) -> Suppression:
    where = f"{path}: rule {number}"
    if not isinstance(row, dict):
        raise InputError(f"{where} is no table")
    unknown = set(row) - {*_TEXTS, "line", "reason"}
    if unknown:
        raise InputError(f"{where}: unknown key {sorted(unknown)[0]!r}")
    if not set(row) - {"reason"}:
        raise InputError(f"{where} would leave out everything", hint="Name a check or a place.")
    for key, value in row.items():
        expected = int if key == "line" else str
        if not isinstance(value, expected) or isinstance(value, bool):
            raise InputError(f"{where}: {key} is no {'number' if expected is int else 'text'}")
    check = row.get("check", "")
    if check and not any(fnmatchcase(name, check) for name in CHECKS):
        raise InputError(f"{where}: no check is called {check!r}",
                         hint="`warplens list checks` names them.")  # fmt: skip
    return Suppression(**row)


def without_suppressed(report: Report, rules: tuple[Suppression, ...]) -> Report:
    """The report without the findings that a rule covers; a note says how many those are."""
    kept = tuple(
        finding for finding in report.findings if not any(rule.covers(finding) for rule in rules)
    )
    hidden = len(report.findings) - len(kept)
    if not hidden:
        return report
    note = f"{count(hidden, 'finding')} suppressed (--suppressions)"
    return replace(report, findings=kept, notes=(*report.notes, note))
