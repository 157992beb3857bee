"""Findings as lines that an editor's problem matcher reads: `FILE:LINE:COLUMN: ...`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from warplens.sanitize.finding import LaunchFindings


def report_problems(reports: Sequence[LaunchFindings], *, show_info: bool = False) -> str:
    """Every finding with a place in a source, each once."""
    lines = []
    for report in reports:
        for one in report.findings:
            if one.file and one.line and (show_info or one.severity != "info"):
                text = re.sub(r"\s+", " ", one.title).strip()
                place = f"{Path(one.file).resolve()}:{one.line}:1"
                lines.append(f"{place}: {one.severity}: {text} [{one.check}]")
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))
