"""Findings as SARIF 2.1.0, which code review tools show at the source lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from warplens.sanitize.checks import CHECKS
from warplens.sanitize.finding import Access, Finding, LaunchFindings
from warplens.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def report_sarif(reports: Sequence[LaunchFindings]) -> str:
    """All launches as one run of a SARIF log."""
    findings = [finding for report in reports for finding in report.findings]
    checks = sorted({(finding.check, finding.tool) for finding in findings})
    numbers = {check: i for i, (check, _) in enumerate(checks)}
    rules = [
        {
            "id": check,
            "name": "".join(word.capitalize() for word in check.split("-")),
            "shortDescription": {"text": check.replace("-", " ")},
            "fullDescription": {"text": CHECKS[check].meaning},
            "help": {"text": f"{CHECKS[check].repair} More: warplens explain {check}"},
            "properties": {"tags": [tool]},
        }
        for check, tool in checks
    ]
    driver = {
        "name": "warplens",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": rules,
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "results": [_result(finding, numbers[finding.check]) for finding in findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.text},
        "occurrenceCount": max(1, finding.count),
    }
    places = [_location(access) for access in finding.accesses if access.file and access.line]
    if places:
        result["locations"] = places[:1]
    if len(places) > 1:
        result["relatedLocations"] = [
            {**place, "id": i} for i, place in enumerate(places[1:], 1)
        ]
    return result


def _location(access: Access) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(access.file or "")},
            "region": {"startLine": access.line},
        },
        "logicalLocations": [{"fullyQualifiedName": access.kernel, "kind": "function"}],
        "message": {"text": f"{access.what} {access.by}: {access.sass}"},
    }


def _uri(file: str) -> str:
    """Relative to the working directory where possible: reviews know files by that name."""
    path = Path(file)
    try:
        return quote(path.resolve().relative_to(Path.cwd()).as_posix())
    except (ValueError, OSError):
        return path.as_uri() if path.is_absolute() else quote(PurePath(file).as_posix())
