"""The report as users with other windows, hands and eyes meet it: widths, themes, keys, mouse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")

import warplens as wl
from tests.html.test_page import LADDER
from tests.in_turn import one_in
from tests.studio.page import Page, browser
from warplens.analysis.compare import compare
from warplens.report.comparison_html import comparison_html
from warplens.report.html import html_page
from warplens.result import STATE_LETTERS, Result

NAMES = ("interleaved_divergent<256>", "interleaved_strided<256>")
PARTS = ("Summary", "Charts", "Source", "Schedule", "Warp", "Sections")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser for all tests of this file."""
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def result() -> Result:
    """Two steps of the ladder, with everything that a report can show."""
    data, out = np.ones(1 << 14, np.int32), np.zeros(1, np.int32)
    module = wl.Device("RTX 4060").compile(LADDER, name_expressions=NAMES)
    launches = tuple(
        module[name][64, 256](data, out, len(data)).result(
            section_set="full", sections=["PmSampling_WarpStates"], identifier=number, warp=(0, 1)
        )
        for number, name in enumerate(NAMES)
    )
    return Result(launches=launches, writer="test")


@pytest.fixture(scope="module")
def report(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their report."""
    path = tmp_path_factory.mktemp("layout") / "ladder.html"
    path.write_text(html_page(result), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def comparison(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page that compares them."""
    before, after = (
        Result(launches=(replace(one, id=0),), writer="test") for one in result.launches
    )
    path = tmp_path_factory.mktemp("layout") / "comparison.html"
    path.write_text(comparison_html(compare(before, after)), encoding="utf-8")
    return path


def shown(chromium: Any, report: Path, *, width: int = 1440, scheme: str = "light") -> Page:
    """The report in a window of its own."""
    context = chromium.new_context(
        viewport={"width": width, "height": 1000}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = Page(context.new_page())
    page.page.goto(report.as_uri())
    page.page.wait_for_selector("#sass tr[data-row]")
    return page


@pytest.mark.parametrize(
    "width",
    [420, *(pytest.param(n, marks=pytest.mark.long) for n in (768, 1024, 1440, 1920)), 2560],
)
def test_widths(chromium: Any, report: Path, width: int) -> None:
    """Nothing sticks out, and code has room, from a telephone's width to a wall's."""
    page = shown(chromium, report, width=width)
    characters = page.page.evaluate(
        """() => { const host = document.getElementById("code");
          const text = host.querySelector("tr.linked .t").getBoundingClientRect();
          return (host.getBoundingClientRect().right - text.left) / 7.6; }"""
    )

    assert page.overflow() <= 0
    assert characters > (60 if width >= 1440 else 40 if width > 420 else 30)
    assert page.complaints == []


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1440])
def test_axe(chromium: Any, report: Path, width: int, scheme: str) -> None:
    """The accessibility checker has nothing to say, small or large, light or dark."""
    page = shown(chromium, report, width=width, scheme=scheme)

    assert page.page.evaluate("() => document.documentElement.dataset.theme") == scheme
    assert page.axe() == []


def test_every_part_is_reached(chromium: Any, report: Path) -> None:
    """Each link of the navigation, by mouse or by Enter, brings its heading into view."""
    page = shown(chromium, report)
    links = page.page.locator("nav a")

    assert tuple(links.all_inner_texts()) == PARTS
    for number, name in enumerate(PARTS):
        if number % 2:
            links.nth(number).focus()
            page.page.keyboard.press("Enter")
        else:
            links.nth(number).click()
        heading = page.page.locator("h2:visible", has_text=name if number else "interleaved").first
        place = heading.bounding_box()
        assert place is not None and -5 <= place["y"] <= 700, name


def test_launches_stand_before_the_first(chromium: Any, report: Path) -> None:
    """A table of all launches, with bars of their durations, leads to each of them."""
    page = shown(chromium, report)
    table, article = (page.page.locator(s) for s in (".glance", "article:not([hidden])"))
    bars = table.locator(".fill").evaluate_all("(all) => all.map((e) => e.offsetWidth)")

    assert table.bounding_box()["y"] < article.bounding_box()["y"]
    assert len(bars) == 2 and min(bars) > 0
    table.get_by_role("button", name="1").click()
    assert "interleaved_strided" in article.locator("h2").first.inner_text()


def test_search_by_keys(chromium: Any, report: Path) -> None:
    """`/` goes to the box, Enter to the first match and out of the box, n and N on and back."""
    page = shown(chromium, report)
    page.page.keyboard.press("/")
    assert page.page.evaluate("() => document.activeElement.id") == "search"
    page.page.keyboard.type("BAR")
    page.page.keyboard.press("Enter")
    told = []
    for key in ("n", "n", "N"):
        page.page.keyboard.press(key)
        told.append(page.text("#matches").split()[0])

    assert told == ["2", "3", "2"]
    assert page.page.input_value("#search") == "BAR"


def test_the_splitter_by_mouse(chromium: Any, report: Path) -> None:
    """Dragged to the right the splitter gives the source the room; another launch keeps it."""
    page = shown(chromium, report)
    page.page.locator("#splitter").scroll_into_view_if_needed()
    before = page.page.locator("#code").bounding_box()["width"]
    bar = page.page.locator("#splitter").bounding_box()
    page.page.mouse.move(bar["x"] + 4, bar["y"] + 60)
    page.page.mouse.down()
    page.page.mouse.move(bar["x"] + 204, bar["y"] + 60, steps=4)
    page.page.mouse.up()
    page.page.keyboard.press("]")

    assert page.page.locator("#code").bounding_box()["width"] == pytest.approx(before + 200, abs=15)


def test_source_and_sass_lead_to_each_other(chromium: Any, report: Path) -> None:
    """A click on either side marks what belongs to it on the other, and shows it."""
    page = shown(chromium, report)
    page.page.locator("#sass tr", has_text="BAR.SYNC").first.click()
    line = page.page.locator("#code tr.linked")
    assert "__syncthreads" in line.inner_text() and line.is_visible()
    page.page.locator("#code tr", has_text="atomicAdd").first.click()
    rows = page.page.locator("#sass tr.linked").all_inner_texts()

    assert any("RED" in row or "ATOM" in row for row in rows)


@pytest.mark.parametrize("width", [420, 1440])
def test_the_slider_stands_under_its_chart(chromium: Any, report: Path, width: int) -> None:
    """The slider's ends are those of the strips above it, and it scrolls with them."""
    page = shown(chromium, report, width=width)
    places = page.page.evaluate(
        """() => { const area = document.querySelector(".timeline .scroll");
          const strip = area.querySelector(".strip").getBoundingClientRect();
          const slider = area.querySelector(".timeslider").getBoundingClientRect();
          const all = area.querySelector("svg").getBoundingClientRect();
          return [all.left + 0.21 * all.width, all.left + 0.9 * all.width,
                  slider.left + 8, slider.right - 8, strip.right]; }"""
    )

    assert places[2:4] == pytest.approx(places[:2], abs=3)
    assert places[4] == pytest.approx(places[1], abs=3)


def test_states_have_colours_of_their_own(chromium: Any, report: Path) -> None:
    """No two warp states share a colour, in either theme."""
    names = [name.replace("_", " ") for name in STATE_LETTERS]
    for scheme in ("light", "dark"):
        page = shown(chromium, report, scheme=scheme)
        colours = page.page.evaluate(
            """(n) => Array.from({ length: n }, (_, i) => { const one = document.createElement("i");
              one.className = `s${i}`; document.querySelector("svg").append(one);
              return getComputedStyle(one).fill; })""",
            len(names),
        )
        assert len(set(colours)) == len(names), scheme


WINDOWS = [(420, "light"), (420, "dark"), (2560, "light"), (2560, "dark")]


@pytest.mark.parametrize("window", one_in(3, WINDOWS, str))
def test_a_comparison(chromium: Any, comparison: Path, window: tuple[int, str]) -> None:
    """Better and worse have a colour each, nothing sticks out, and axe has nothing to say."""
    width, scheme = window
    context = chromium.new_context(
        viewport={"width": width, "height": 1000}, color_scheme=scheme, bypass_csp=True
    )
    page = Page(context.new_page())
    page.page.goto(comparison.as_uri())
    colours = [
        page.page.locator(f".change .{name}").first.evaluate(
            "(bar) => getComputedStyle(bar).backgroundColor"
        )
        for name in ("better", "worse")
    ]
    text = page.text("main")

    assert len(set(colours)) == 2
    assert "-0.0 %" not in text and "gpu__time_duration.sum" in text
    assert page.overflow() <= 0 and page.axe() == []
