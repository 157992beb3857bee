"""The small table of names and values that notebooks show for plain data."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = "style='text-align:left'"


def facts_html(title: str, rows: Sequence[tuple[str, object]]) -> str:
    """A small table of names and values."""
    cells = "".join(
        f"<tr><th {_STYLE}>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in rows
    )
    return f"<div class='warplens'><p><b>{escape(title)}</b></p><table>{cells}</table></div>"
