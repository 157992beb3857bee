"""Findings as HTML: a fragment for notebooks, or one self-contained file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from warplens.sanitize.finding import Finding, LaunchFindings, by_cause
from warplens.sanitize.text import summary_line
from warplens.wording import count

_STYLE = """
.wl-sanitize { font: 14px/1.45 system-ui, sans-serif; color: #1a1a1a; max-width: 70em; }
.wl-sanitize section { border-left: 4px solid #b5480f; padding: .3em 1em; margin: 1em 0;
  background: #faf8f5; }
.wl-sanitize section.info { border-color: #4477aa; }
.wl-sanitize h3 { font-size: 1em; margin: .2em 0; }
.wl-sanitize code, .wl-sanitize pre { font: 12.5px/1.4 ui-monospace, monospace; }
.wl-sanitize pre { margin: .3em 0; white-space: pre-wrap; }
.wl-sanitize .check { float: right; color: #555; }
"""


def _finding(finding: Finding) -> str:
    kind = "info" if not finding.is_counted else "error"
    rows = "\n".join(escape(row) for row in (*finding.details, *finding.source))
    advice = f"<p>{escape(finding.advice)}</p>" if finding.advice else ""
    return (
        f'<section class="{kind}"><span class="check"><code>{escape(finding.check)}</code></span>'
        f"<h3>{escape(finding.tool)}: {escape(finding.title)}</h3><pre>{rows}</pre>{advice}"
        "</section>"
    )


def fragment(reports: Sequence[LaunchFindings]) -> str:
    """All launches, errors first."""
    parts = [f'<div class="wl-sanitize"><style>{_STYLE}</style>']
    for report in reports:
        shape = f"{report.grid} blocks of {report.block} threads"
        parts.append(f"<h2><code>{escape(report.kernel)}</code></h2><p>{escape(shape)}; "
                     f"{escape(', '.join(report.tools))}; "
                     f"{count(len(report.errors), 'error')}</p>")  # fmt: skip
        ordered = sorted(report.findings, key=lambda finding: not finding.is_counted)
        for cause, findings in by_cause(ordered):
            if len(findings) > 1:
                parts.append(f"<p>{escape(cause)}</p>")
            parts.extend(_finding(finding) for finding in findings)
        parts.extend(f"<p>Note: {escape(note)}</p>" for note in report.notes)
    shown = sum(len(report.errors) for report in reports)
    parts.append(f"<p><strong>{summary_line(reports, shown)}</strong></p></div>")
    return "\n".join(parts)


def document(reports: Sequence[LaunchFindings]) -> str:
    """One file that needs nothing else."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<title>warplens sanitize</title></head><body>\n" + fragment(reports) + "\n</body></html>\n"
    )
