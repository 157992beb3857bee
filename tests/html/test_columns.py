"""The source view's columns are hidden one by one, in a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.report.results import launch
from tests.studio.page import browser
from warplens.report.html import html_page
from warplens.result import Result, SourceColumn, SourceTable


def table() -> SourceTable:
    """Two instructions with two columns."""
    def column(heading: str, values: tuple[int, ...]) -> SourceColumn:
        return SourceColumn(heading=heading, unit="inst", metric="", basis="exact", values=values)

    return SourceTable(
        addresses=(0, 16), sass=("NOP", "EXIT"), files=("a.cu", "a.cu"), lines=(1, 2),
        sources={"a.cu": "one\ntwo\n"},
        columns=(column("Instructions Executed", (4, 4)), column("Divergent Branches", (1, 2))),
    )  # fmt: skip


def test_a_column_is_hidden(tmp_path: Path) -> None:
    """Unchecking a column takes it out of both panes; the coloured one stays; it comes back."""
    one = replace(launch(), source=table())
    path = tmp_path / "page.html"
    path.write_text(html_page(Result(launches=(one,), writer="test")), encoding="utf-8")
    with browser() as chromium:
        page = chromium.new_page()
        page.goto(path.as_uri())
        heads = page.locator("#sass thead th")
        before = heads.all_inner_texts()
        page.click(".chooser summary")
        page.get_by_role("checkbox", name="Divergent Branches").uncheck()
        without = heads.all_inner_texts()
        page.get_by_role("checkbox", name="Instructions Executed").uncheck()  # it is coloured
        coloured = heads.all_inner_texts()
        page.get_by_role("checkbox", name="Divergent Branches").check()
        after = heads.all_inner_texts()

    assert "Divergent" in before and "Divergent" not in without
    assert "Inst" in coloured and "Divergent" in after


@pytest.mark.parametrize("width", [420, 1600])
def test_the_list_fits(tmp_path: Path, width: int) -> None:
    """Open, the list of columns does not widen the page."""
    path = tmp_path / "page.html"
    one = replace(launch(), source=table())
    path.write_text(html_page(Result(launches=(one,), writer="test")), encoding="utf-8")
    with browser() as chromium:
        page = chromium.new_page(viewport={"width": width, "height": 900})
        page.goto(path.as_uri())
        page.click(".chooser summary")
        wider = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")

    assert wider <= 0
