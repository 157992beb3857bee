"""The report as a widget: the page of `warplens show --format html` in a frame of its own."""

from __future__ import annotations

from html import escape
from importlib import resources
from importlib.util import find_spec
from typing import Any

from warplens.report.html import html_page
from warplens.result import LaunchResult, Result
from warplens.version import __version__

HEIGHT = 640


def script() -> str:
    """The widget's module, as anywidget loads it."""
    return resources.files("warplens.notebook").joinpath("widget.js").read_text("utf-8")


def report_widget(*launches: LaunchResult, height: int = HEIGHT) -> Any:
    """The report of launches to show in a notebook; its `line` is the one last clicked.

    Without anywidget it is plain HTML, which follows the system's theme instead of the notebook's.
    """
    page = html_page(Result(launches=launches, writer=__version__))
    if find_spec("anywidget") is None:
        return PlainReport(page, height)
    import anywidget
    import traitlets

    class ReportWidget(anywidget.AnyWidget):
        """A report in a frame; `line` is the source line whose advice was last clicked."""

        _esm = script()
        page = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(HEIGHT).tag(sync=True)
        line = traitlets.Int(0).tag(sync=True)

    return ReportWidget(page=page, height=height)


class PlainReport:
    """The same page where anywidget is missing."""

    def __init__(self, page: str, height: int) -> None:
        self.page = page
        self._height = height

    def _repr_html_(self) -> str:
        frame = f"width:100%;height:{self._height}px;border:0"
        return (f'<iframe title="warplens report" sandbox="allow-scripts" style="{frame}" '
                f'srcdoc="{escape(self.page, quote=True)}"></iframe>')  # fmt: skip
