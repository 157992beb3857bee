"""How long the studio lets a user wait: `python benchmarks/studio.py [--json FILE]`.

Needs `warplens[studio]`, Playwright and Chromium. Times are those of the page, from the key or the
click to what is then drawn; every one is the best of several, since other work on the machine can
only add to it, with the median beside it. The limits are what the project wants of an idle machine.
Reports are measured, too: one of a kernel of 5,000 lines and instructions, one of 40 launches.
Frames need a machine that can draw them: a page with nothing but a gradient is scrolled in turns
with the report and printed beside it, as is the processor time of the page's thread for a frame.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.html.test_page import large  # noqa: E402
from tests.studio.page import Page, browser  # noqa: E402
from tests.studio.server import served  # noqa: E402

from warplens.report.html import html_page  # noqa: E402
from warplens.result import LaunchResult, Result  # noqa: E402

# What is measured, in seconds, frames a second or bytes: (limit, whether more is better).
LIMITS = {
    "first paint": (1.0, False), "edit to SASS, 100 lines": (0.5, False),
    "slider to redraw": (0.1, False), "Run, quick start": (2.0, False),
    "report of 5,000 lines opens": (1.0, False), "frames a second, source": (60.0, True),
    "frames a second, SASS": (60.0, True), "bytes of 40 launches": (5e6, False),
}  # fmt: skip
Found = dict[str, tuple[float, float]]  # best and median
_EMPTY = """<!DOCTYPE html><div id="code" style="height:700px;overflow:auto">
<div style="height:100000px;background:linear-gradient(red,blue)"></div></div>"""
_SCROLL = """(id) => new Promise((done) => {
  const host = document.getElementById(id), times = [];
  const frame = (now) => {
    times.push(now);
    host.scrollTop += 400;
    if (times.length <= 120) requestAnimationFrame(frame);
    else done(1000 * (times.length - 1) / (times[times.length - 1] - times[0]));
  };
  requestAnimationFrame(frame);
})"""
_CHANGED = """(selector) => new Promise((done) => {
  const began = performance.now();
  const seen = new MutationObserver(() => {
    seen.disconnect();
    requestAnimationFrame(() => done((performance.now() - began) / 1000));
  });
  seen.observe(document.querySelector(selector),
    { childList: true, subtree: true, characterData: true, attributes: true });
  window.act();
})"""


def hundred_lines() -> str:
    """A kernel of 100 lines that do something."""
    body = [f"    x = x * {i % 7 + 2}.5f + s[(t + {i}) & 255];" for i in range(93)]
    return "\n".join([
        "__global__ void hundred(float* a) {", "    __shared__ float s[256];",
        "    int t = threadIdx.x;", "    s[t] = a[t];", "    __syncthreads();",
        "    float x = a[t];", *body, "    a[t] = x;", "}", "",
    ])  # fmt: skip


def first_paint(chromium: Any, address: str) -> float:
    """Seconds until the browser has painted the page with its content, by its own clock."""
    page = chromium.new_context().new_page()
    page.goto(address)
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    painted = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
    found = float(page.evaluate(painted))
    page.context.close()
    return found


def edit_to_sass(page: Page, number: int) -> float:
    """From the last key to the rows of the SASS."""
    page.page.click("#editor .cm-content, #editor textarea")
    page.page.keyboard.press("Control+Home")
    began = time.perf_counter()
    with page.page.expect_response("**/api/compile", timeout=60_000):
        page.page.keyboard.insert_text(f"// {number}\n")
    page.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done(0)))")
    return time.perf_counter() - began


def slider_to_redraw(page: Page, value: int) -> float:
    """From the slider's movement to the bars."""
    page.page.evaluate(
        """(value) => { window.act = () => {
          const s = document.getElementById("s-block");
          s.value = String(value); s.dispatchEvent(new Event("input", { bubbles: true })); }; }""",
        value,
    )
    return float(page.page.evaluate(_CHANGED, "#whatif"))


def run(page: Page) -> float:
    """From the click to the shown report's begin."""
    began = time.perf_counter()
    page.run()
    return time.perf_counter() - began


def several(measure: Callable[[int], float], times: int, best: Any = min) -> tuple[float, float]:
    """The best and the median of several measurements."""
    values = [measure(number) for number in range(times)]
    return best(values), statistics.median(values)


def five_thousand() -> LaunchResult:
    """A launch of 5,000 instructions, each with a source line of its own."""
    one = large(5000)
    assert one.source is not None
    text = "".join(f"float x{i} = a * b + {i}; // line\n" for i in range(5000))
    table = replace(one.source, lines=tuple(range(1, 5001)), sources={"k.cu": text})
    return replace(one, source=table)


def opens(chromium: Any, path: Path) -> float:
    """Seconds from the navigation to the listings' first rows, by the browser's clock."""
    page = chromium.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(path.as_uri())
    page.wait_for_selector("#code tr[data-row]")
    found = float(page.evaluate("() => performance.timing.loadEventEnd"
                                " - performance.timing.navigationStart")) / 1000  # fmt: skip
    page.close()
    return found


def scrolls(chromium: Any, path: Path, pane: str = "code") -> tuple[float, float]:
    """Frames a second, and the page's milliseconds for each, at 20 lines a frame."""
    page = chromium.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(path.as_uri())
    page.wait_for_selector(f"#{pane} [data-row], #{pane} div")
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = _busy(devtools)
    frames = float(page.evaluate(_SCROLL, pane))
    busy = 1000 * (_busy(devtools) - before) / 120
    page.close()
    return frames, busy


def _busy(devtools: Any) -> float:
    found = devtools.send("Performance.getMetrics")["metrics"]
    return next(float(one["value"]) for one in found if one["name"] == "TaskDuration")


def frames(chromium: Any, path: Path) -> Found:
    """How smoothly both listings of a report scroll, and how smoothly nothing does."""
    empty = path.with_name("empty.html")
    empty.write_text(_EMPTY, encoding="utf-8")
    rounds = [
        (scrolls(chromium, empty), scrolls(chromium, path), scrolls(chromium, path, "sass"))
        for _ in range(5)
    ]
    found = {}
    for place, name in enumerate(("an empty page", "source", "SASS")):
        each = [one[place][0] for one in rounds]
        busy = [one[place][1] for one in rounds]
        found[f"frames a second, {name}"] = (max(each), statistics.median(each))
        found[f"ms for a frame, {name}"] = (min(busy), statistics.median(busy))
    return found


def reports(chromium: Any) -> Found:
    """The time to open, the frames and the size of reports."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.html"
        one = five_thousand()
        path.write_text(html_page(Result(launches=(one,), writer="benchmark")), encoding="utf-8")
        forty = tuple(replace(large(2000), id=i) for i in range(40))
        size = float(len(html_page(Result(launches=forty, writer="benchmark")).encode()))
        return {
            "report of 5,000 lines opens": several(lambda _: opens(chromium, path), 5),
            "bytes of 40 launches": (size, size),
            **frames(chromium, path),
        }


def measured() -> Found:
    """Everything of `LIMITS`."""
    with served() as studio, browser() as chromium:
        found = {"first paint": several(lambda _: first_paint(chromium, studio.address), 5)}
        context = chromium.new_context(viewport={"width": 1440, "height": 1000})
        page = Page(context.new_page())
        page.page.goto(studio.address)
        page.page.wait_for_selector("body[data-compiled]", timeout=90_000)
        page.exercise("transpose")
        page.run()
        found["Run, quick start"] = several(lambda _: run(page), 5)
        found["slider to redraw"] = several(lambda n: slider_to_redraw(page, 64 + 32 * n), 15)
        page.write(hundred_lines())
        page.page.wait_for_timeout(3000)
        found["edit to SASS, 100 lines"] = several(lambda n: edit_to_sass(page, n), 7)
        context.close()
        found |= reports(chromium)
    return found


def main() -> int:
    """Prints each time beside its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the times to a file")
    arguments = parser.parse_args()
    found = measured()
    for name, (best, median) in found.items():
        told = f"{name:31} best {best:10.4g}  median {median:10.4g}"
        if name in LIMITS:
            limit, is_more = LIMITS[name]
            # A screen of 60 frames shows 59.9 of them.
            holds = best >= 0.99 * limit if is_more else best <= limit
            told += f"  limit {limit:8.4g}   {'holds' if holds else 'MISSED'}"
        print(told)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
