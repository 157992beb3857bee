"""The page in a real browser: layout, keyboard, mouse, colours, five tasks from a fresh start."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from tests.studio.page import WAIT, browser, opened
from tests.studio.server import Served, served
from warplens.studio.gallery import exercises

FIXED_TRANSPOSE = """__global__ void naive(const float* in, float* out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) out[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser for all tests of this file."""
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def studio() -> Iterator[Served]:
    """A studio with the gallery alone."""
    with served() as one:
        yield one


@pytest.mark.long
def test_find_the_slow_line_of_a_transpose(chromium: Any, studio: Served) -> None:
    """Run shows the line; going through a padded tile there reaches the goal."""
    page = opened(chromium, studio)
    page.exercise("transpose")
    page.page.select_option("#values", "sectors")
    page.run()
    report = page.page.frame_locator("#report")
    report.locator(".hottest, .rule").first.wait_for(timeout=WAIT)

    assert "Not yet" in page.text("#goals")
    assert report.locator(".goto").first.inner_text() == "transpose.cu:6"
    report.locator(".goto").first.click()
    page.page.wait_for_selector("#sass .picked")
    assert "line 6" in page.page.get_attribute("#sass .picked", "title")
    page.write(FIXED_TRANSPOSE)
    page.run()

    assert "Solved." in page.text("#goals")
    assert page.complaints == []


def test_find_a_race(chromium: Any, studio: Served) -> None:
    """Check names the line in the gutter; with a barrier nothing is found."""
    page = opened(chromium, studio)
    page.exercise("race")

    assert page.check() == "1 finding"
    assert "line 9" in page.text("#problems") and "racecheck" in page.text("#findings")
    source = exercises()["race"].source
    page.write(source.replace(
        "        if (t < s) part[t] += part[t + s];",
        "    {\n        if (t < s) part[t] += part[t + s];\n        __syncthreads();\n    }",
    ))  # fmt: skip
    assert page.check() == "No findings."
    page.run()
    assert "Solved." in page.text("#goals")


@pytest.mark.long
def test_choose_a_block_size(chromium: Any, studio: Served) -> None:
    """The table of sizes names the fastest; with it the goal is reached."""
    page = opened(chromium, studio)
    page.exercise("latency")
    page.run()
    assert "Not yet" in page.text("#goals")
    page.page.click("#sizes")
    page.page.wait_for_selector("#predictions .done", timeout=WAIT)
    best = page.page.inner_text("#predictions tr:has(.done) th").split()[0]
    page.page.fill("#s-block", best)
    page.page.click("#apply")
    assert page.page.input_value("#block") == best
    page.page.fill("#grid", "1056")  # enough blocks for every SM
    page.run()

    assert "Solved." in page.text("#goals"), page.text("#goals")


@pytest.mark.long
def test_compare_two_versions(chromium: Any, studio: Served) -> None:
    """Two runs of the history stand side by side, better and worse told apart."""
    page = opened(chromium, studio)
    page.exercise("coalescing")
    page.run()
    source = exercises()["coalescing"].source
    fixed = source.replace("threadIdx.x * part + i", "i * 32 + threadIdx.x")
    page.write(fixed)
    page.run()
    page.page.click("#t-history")
    page.page.click("#compare")
    page.page.wait_for_selector("#report:visible", timeout=WAIT)
    report = page.page.frame_locator("#report")
    row = report.locator("tr", has_text="l1tex__t_sectors").first
    row.wait_for(timeout=WAIT)

    assert "better" in (row.inner_html())
    page.page.click("#t-history")
    page.page.locator("#history button", has_text="Source").last.click()
    page.page.wait_for_timeout(500)
    assert page.source() == fixed


@pytest.mark.long
def test_which_of_three_gpus(chromium: Any, studio: Served) -> None:
    """Three GPUs are predicted side by side and the fastest is named."""
    page = opened(chromium, studio)
    page.exercise("matmul")
    page.page.click("#compare3")
    page.page.wait_for_selector("#predictions .done", timeout=WAIT)
    rows = page.page.locator("#predictions tr").all_inner_texts()

    assert len(rows) == 3 and all("us" in row or "ms" in row for row in rows)
    assert sum("fastest" in row for row in rows) == 1


@pytest.mark.long
def test_keyboard(chromium: Any, studio: Served) -> None:
    """Everything is reached without a mouse: run, leave the editor, tabs, sliders."""
    page = opened(chromium, studio)
    page.exercise("banks")
    page.page.focus("#editor .cm-content, #editor textarea")
    page.page.keyboard.press("Control+Enter")
    page.wait("runs", 1)
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Tab")
    focused = "() => document.activeElement.closest('#editor') === null"
    assert page.page.evaluate(focused)
    page.page.focus("#t-report")
    page.page.keyboard.press("ArrowLeft")
    assert page.page.get_attribute("#t-history", "aria-selected") == "true"
    page.page.focus("#s-block")
    before = page.text("#o-block")
    page.page.keyboard.press("ArrowRight")
    assert page.text("#o-block") != before


def test_errors_while_typing(chromium: Any, studio: Served) -> None:
    """A mistake has its line at once, and goes when it is mended; both ways colours lead."""
    page = opened(chromium, studio)
    page.exercise("banks")
    source = exercises()["banks"].source
    page.write(source.replace("threadIdx.x];", "threadIdxx];"))
    page.page.wait_for_selector("#problems .error")
    assert "threadIdxx" in page.text("#problems")
    page.write(source)
    page.page.wait_for_selector("#problems:empty", state="attached")
    page.page.wait_for_selector('#ptx .row[data-line="8"]', state="attached")
    page.page.locator("#sass .row", has_text="BAR.SYNC").first.click()
    picked = page.page.get_attribute("#ptx .picked", "data-line")
    assert picked == "8"


@pytest.mark.parametrize(
    "width", [420, *(pytest.param(n, marks=pytest.mark.long) for n in (768, 1024, 1920, 2560))]
)
def test_widths(chromium: Any, studio: Served, width: int) -> None:
    """Nothing sticks out, from a telephone's width to a wall's."""
    page = opened(chromium, studio, width=width)

    assert page.overflow() <= 0


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe(chromium: Any, studio: Served, scheme: str) -> None:
    """The accessibility checker finds nothing, in either theme, before and after a run."""
    page = opened(chromium, studio, scheme=scheme)
    page.exercise("banks")
    assert page.page.evaluate("() => document.documentElement.dataset.theme") == scheme
    assert page.axe() == []
    page.run()
    assert page.axe() == []
    page.page.click("#t-history")
    assert page.axe() == []


@pytest.mark.long
def test_a_killed_worker_leaves_the_page(chromium: Any, studio: Served) -> None:
    """After kill -9 of all workers the page says so, and the next run works."""
    page = opened(chromium, studio)
    page.exercise("banks")
    page.run()
    for pid in studio.workers():
        os.kill(pid, signal.SIGKILL)
    page.page.click("#run")
    page.page.wait_for_selector("#run:enabled", timeout=WAIT)
    if page.count("runs") < 2:
        assert "SIGKILL" in page.text("#status")
        page.run()

    assert page.complaints == []


@pytest.mark.long
def test_ten_tabs_at_once(chromium: Any, studio: Served) -> None:
    """Ten tabs, all running at the same time, each end with a report of their own kernel."""
    tabs = [opened(chromium, studio) for _ in range(10)]
    names = ["banks", "coalescing", "race", "warps", "transpose"] * 2
    for page, name in zip(tabs, names, strict=True):
        page.exercise(name)
    for page in tabs:
        page.page.click("#run")
    for page, name in zip(tabs, names, strict=True):
        page.wait("runs", 1)
        report = page.page.frame_locator("#report")
        report.locator("#code tr[data-row]").first.wait_for(timeout=WAIT)
        assert f"{name}.cu" in report.locator("#code thead").inner_text()
        assert page.complaints == []


@pytest.mark.long
def test_every_slider_redraws(chromium: Any, studio: Served) -> None:
    """Block size, registers, shared memory and GPU: time and occupancy follow each of them."""
    page = opened(chromium, studio)
    page.exercise("latency")
    page.run()
    moves = [("block", "1024"), ("registers", "16"), ("shared", "131072"), ("shared", "0"),
             ("gpu", "0")]  # fmt: skip
    told = {(page.text("#time"), page.text("#occupancy"))}
    for name, value in moves:
        drawn = page.page.get_attribute("#whatif", "data-drawn")
        page.page.fill(f"#s-{name}", value)
        page.page.wait_for_selector(f'#whatif:not([data-drawn="{drawn}"])', timeout=WAIT)
        told.add((page.text("#time"), page.text("#occupancy")))
        assert "n/a" not in page.text("#time")

    assert len(told) >= 4  # a kernel of few registers does not feel their cap


@pytest.mark.long
def test_names_are_text(chromium: Any, tmp_path: Path) -> None:
    """A file and a kernel with markup in their names are shown as what they are."""
    name = "<img src=x onerror=alert(1)>.cu"
    (tmp_path / name).write_text(
        "__global__ void k(float* a) { a[0] = 1; } // </script><script>alert(1)</script>\n"
    )
    with served(tmp_path) as one:
        page = opened(chromium, one)
        page.page.wait_for_selector("#arguments .argument", timeout=WAIT)
        page.run()
        assert page.page.locator("img").count() == 0
        assert name in page.text("#opened")
        assert page.page.frame_locator("#report").locator("img").count() == 0
        assert page.complaints == []


_LISTED = """async () => {
  const { Listings } = await import("/static/code.js");
  const lines = Array.from({ length: 20000 }, (_, i) => 1 + i % 5000);
  const kernel = { sass: lines.map((line, i) => [16 * i, `FFMA R${i % 99}, R1, R2, R3`, line]),
                   ptx: lines.map((line, i) => [`  fma.rn.f32 %f${i}, %f1, %f2, %f3;`, line]) };
  const listings = new Listings(() => {}), began = performance.now();
  listings.show(kernel);
  listings.pick(4321, "");
  document.body.offsetHeight;
  const took = performance.now() - began, host = document.getElementById("sass");
  await new Promise((done) => setTimeout(done, 500));
  const top = host.getBoundingClientRect().top;
  const picked = [...host.querySelectorAll(".picked")].map((row) =>
    [row.textContent.slice(0, 5), row.getBoundingClientRect().top - top]);
  return { took, height: host.scrollHeight, seen: host.clientHeight,
           rows: host.querySelectorAll(".row").length, picked };
}"""


def test_twenty_thousand_instructions(chromium: Any, studio: Served) -> None:
    """A kernel of 20,000 instructions is listed at once; the row of a line comes into view."""
    page = opened(chromium, studio)
    told = page.page.evaluate(_LISTED)
    (name, place), *_ = told["picked"]

    assert told["took"] < 500 and told["rows"] < 4000
    assert told["height"] == pytest.approx(20 * 20_000, abs=40)
    assert name == f"{16 * 4320:x}" and 0 < place < told["seen"]
