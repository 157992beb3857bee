"""Long listings: what a scrolled frame costs, and that the rows in sight are the right ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api")

from benchmarks.studio import five_thousand, scrolls

from tests.studio.page import browser
from warplens.report.html import html_page
from warplens.result import Result

_FRAME_MS = 1000 / 60
_ROWS = "() => [...document.querySelectorAll('#%s tr[data-row]')].map((r) => Number(r.dataset.row))"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser for all tests of this file."""
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a kernel of 5,000 lines and as many instructions."""
    path = tmp_path_factory.mktemp("scrolling") / "large.html"
    page = html_page(Result(launches=(five_thousand(),), writer="test"))
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize("pane", ["code", pytest.param("sass", marks=pytest.mark.long)])
def test_a_frame_is_made_in_time(chromium: Any, report: Path, pane: str) -> None:
    """Twenty new lines cost the page's thread less than the sixtieth of a second they have.

    Processor time of that thread, so that it says something on a busy machine, too.
    """
    busy = min(scrolls(chromium, report, pane)[1] for _ in range(2))

    assert busy < _FRAME_MS


@pytest.mark.parametrize("pane", ["code", "sass"])
def test_rows_in_sight(chromium: Any, report: Path, pane: str) -> None:
    """Wherever one scrolls, forth, back or far, the lines there are shown, in order, complete."""
    page = chromium.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(report.as_uri())
    page.wait_for_selector(f"#{pane} tr[data-row]")
    heads = page.locator(f"#{pane} thead th").count()
    for top in (0, 140, 2000, 1900, 60_000, 59_990, 99_999_999, 50_000, 0):
        page.evaluate("([id, to]) => { document.getElementById(id).scrollTop = to; }", [pane, top])
        page.wait_for_timeout(300)
        rows = page.evaluate(_ROWS % pane)
        first = min(top // 20, 5000 - 35)

        assert rows == list(range(rows[0], rows[0] + len(rows))) and len(rows) < 100
        assert rows[0] <= first and rows[-1] >= min(4999, first + 34)
        shown = page.locator(f'#{pane} tr[data-row="{first}"]')
        assert shown.locator("th, td").count() == heads
        assert _place(page, pane, first) == pytest.approx(20 * first, abs=1)
        told = shown.locator(".h").inner_text()
        assert told == (str(first + 1) if pane == "code" else f"0x{16 * first:04x}")
    page.close()


def _place(page: Any, pane: str, row: int) -> float:
    """Where a row stands in its pane, from the first row's place on."""
    found = page.evaluate(
        """([id, row]) => { const host = document.getElementById(id);
          const top = (name) => host.querySelector(name).getBoundingClientRect().top;
          return top(`[data-row="${row}"]`) - top("tbody"); }""",
        [pane, row],
    )
    return float(found)


def test_columns_stand_under_their_heads(chromium: Any, report: Path) -> None:
    """Every value ends where its heading ends, and the largest is coloured."""
    page = chromium.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(report.as_uri())
    page.wait_for_selector("#sass tr[data-row]")
    ends = page.evaluate(
        """() => ["thead tr", "tr.current"].map((name) =>
          [...document.querySelector(`#sass ${name}`).children].map((cell) =>
            cell.getBoundingClientRect().right))"""
    )
    hot = page.locator("#sass tr.current .v")  # the page opens at the largest value
    colour = hot.evaluate("(cell) => getComputedStyle(cell).backgroundColor")

    assert ends[0] == pytest.approx(ends[1], abs=1.5)
    assert colour not in ("rgba(0, 0, 0, 0)", "rgb(255, 255, 255)")
    page.close()


def test_wrapped_rows_are_whole(chromium: Any, report: Path) -> None:
    """With Wrap no text of a line is cut off or runs into the next column."""
    page = chromium.new_page(viewport={"width": 900, "height": 1000})
    page.goto(report.as_uri())
    page.wait_for_selector("#code tr[data-row]")
    page.check("#wrap")
    cut = page.evaluate(
        """() => [...document.querySelectorAll("#code tr[data-row] .t")].slice(0, 50)
          .filter((cell) => cell.scrollWidth > cell.clientWidth + 1).length"""
    )

    assert cut == 0
    assert page.locator("#code tr[data-row]").count() == 5000
    page.close()
