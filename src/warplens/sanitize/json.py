"""Findings as JSON: one object per launch, one per finding, stable names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from warplens.sanitize.finding import Access, Finding, LaunchFindings
from warplens.version import __version__


def access_data(access: Access) -> dict[str, Any]:
    """One access as plain data."""
    return {
        "what": access.what,
        "kernel": access.kernel,
        "offset": access.offset,
        "sass": access.sass,
        "file": access.file,
        "line": access.line,
        "thread": access.thread,
        "block": access.block,
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """One finding as plain data."""
    return {
        "tool": finding.tool,
        "check": finding.check,
        "severity": finding.severity,
        "where": finding.where,
        "text": finding.text,
        "space": finding.space or None,
        "address": finding.address,
        "size": finding.size or None,
        "target": finding.target or None,
        "count": finding.count,
        "advice": finding.advice or None,
        "accesses": [access_data(access) for access in finding.accesses],
    }


def report_json(reports: Sequence[LaunchFindings]) -> str:
    """All launches as one JSON document."""
    launches = [
        {
            "kernel": report.kernel,
            "grid": report.grid,
            "block": report.block,
            "tools": report.tools,
            "notes": report.notes,
            "findings": [finding_data(finding) for finding in report.findings],
        }
        for report in reports
    ]
    errors = sum(len(report.errors) for report in reports)
    data = {"writer": f"warplens {__version__}", "errors": errors, "launches": launches}
    return json.dumps(data, indent=2) + "\n"
