"""The HTML that a notebook shows: plain tables, everything escaped."""

from __future__ import annotations

from html import escape

from warplens.report.options import PrintOptions
from warplens.report.rows import BASIS_MARKS, LEGEND, section_rows, value_cells
from warplens.report.terminal import launch_heading
from warplens.result import LaunchResult, Section

_OPTIONS = PrintOptions()
_STYLE = "style='text-align:left'"


def launch_html(launch: LaunchResult) -> str:
    """One collapsible table per section."""
    parts = [
        "<div class='warplens'>",
        f"<p><b>{escape(launch_heading(launch))}</b><br>{escape(launch.gpu)}</p>",
    ]
    parts.extend(_section(section) for section in launch.sections)
    parts.extend(f"<p>{escape(note)}</p>" for note in (*_legend(launch), *launch.notes))
    return "".join((*parts, "</div>"))


def _legend(launch: LaunchResult) -> list[str]:
    shown = {row.value.basis for s in launch.sections for row in s.rows if row.value.available}
    return [text for basis, text in LEGEND.items() if basis in shown]


def _section(section: Section) -> str:
    rows = []
    for row in section_rows(section, _OPTIONS):
        unit, number = value_cells(row.value, _OPTIONS)
        mark = BASIS_MARKS.get(row.value.basis, "") if row.value.available else ""
        rows.append(
            f"<tr title='{escape(row.name)}'><td {_STYLE}>{escape(row.label or row.name)}</td>"
            f"<td>{escape(unit)}</td><td>{escape(number)} {escape(mark)}</td></tr>"
        )
    rules = "".join(
        f"<p><b>{escape(rule.tag)}</b> {escape(rule.text)}</p>" for rule in section.rules
    )
    return (
        f"<details open><summary>{escape(section.title)}</summary><table>"
        f"<tr><th {_STYLE}>Metric Name</th><th>Metric Unit</th><th>Metric Value</th></tr>"
        f"{''.join(rows)}</table>{rules}</details>"
    )
