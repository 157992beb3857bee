"""The text report, in the shape that scripts around compute-sanitizer expect."""

from __future__ import annotations

from collections.abc import Sequence

from warplens.sanitize.finding import Finding, LaunchFindings, by_cause
from warplens.wording import count

PREFIX = "========= "


def finding_lines(finding: Finding) -> list[str]:
    """One finding, without prefixes."""
    title = finding.title
    if finding.tool == "racecheck":
        words = {"error": "Error", "warning": "Warning", "info": "Info"}
        title = f"{words[finding.severity]}: {title}"
    rows = [title, *(f"    {row}" for row in (*finding.details, *finding.source))]
    if finding.advice:
        rows.append(f"    {finding.advice}")
    rows.append(f"    [{finding.check}]")
    return rows


def summary_line(reports: Sequence[LaunchFindings], displayed: int) -> str:
    """The last line: racecheck alone ends with its own."""
    tools = {tool for report in reports for tool in report.tools}
    counted = [finding for report in reports for finding in report.errors]
    if tools == {"racecheck"}:
        errors = sum(finding.severity == "error" for finding in counted)
        warnings = len(counted) - errors
        return (
            f"RACECHECK SUMMARY: {count(displayed, 'hazard')} displayed ({count(errors, 'error')}, "
            f"{count(warnings, 'warning')})"
        )
    return f"ERROR SUMMARY: {count(len(counted), 'error')}"


def report_text(
    reports: Sequence[LaunchFindings], *, print_limit: int = 100, show_info: bool = False
) -> str:
    """All findings of all launches, then the summary; `print_limit` 0 shows all."""
    rows = ["WARPLENS SANITIZER"]
    shown = 0
    hidden = 0
    quiet = 0
    told: set[str] = set()  # what is to be said of many launches is said once
    for report in reports:
        visible = [one for one in report.findings if one.is_counted or show_info]
        quiet += len(report.findings) - len(visible)
        for cause, findings in by_cause(visible):
            if len(findings) > 1 and (not print_limit or shown < print_limit):
                rows += [cause, ""]
            for finding in findings:
                if print_limit and shown >= print_limit:
                    hidden += 1
                    continue
                shown += finding.is_counted
                rows += [*finding_lines(finding), ""]
        rows += [f"Note: {note}" for note in report.notes if note not in told]
        told.update(report.notes)
    if hidden:
        rows.append(f"{count(hidden, 'more finding')} not shown (--print-limit {print_limit})")
    if quiet:
        rows.append(f"{count(quiet, 'harmless race')} not shown (--print-level info)")
    rows.append(summary_line(reports, shown))
    return "\n".join((PREFIX + row).rstrip() for row in rows) + "\n"
