"""How long the studio lets a user wait: `python benchmarks/studio.py [--json FILE]`.

Needs `warplens[studio]`, Playwright and Chromium. Times are those of the page, from the key or the
click to what is then drawn; every one is the median of several. The limits are what the project
wants of an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.studio.page import Page, browser  # noqa: E402
from tests.studio.server import served  # noqa: E402

LIMITS = {"first paint": 1.0, "edit to SASS, 100 lines": 0.5, "slider to redraw": 0.1,
          "Run, quick start": 2.0}  # fmt: skip
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


def median(measure: Callable[[int], float], times: int) -> float:
    """The median of several measurements."""
    return statistics.median(measure(number) for number in range(times))


def measured() -> dict[str, float]:
    """Every waiting time in seconds."""
    with served() as studio, browser() as chromium:
        found = {"first paint": median(lambda _: first_paint(chromium, studio.address), 5)}
        context = chromium.new_context(viewport={"width": 1440, "height": 1000})
        page = Page(context.new_page())
        page.page.goto(studio.address)
        page.page.wait_for_selector("body[data-compiled]", timeout=90_000)
        page.exercise("transpose")
        page.run()
        found["Run, quick start"] = median(lambda _: run(page), 5)
        found["slider to redraw"] = median(lambda n: slider_to_redraw(page, 64 + 32 * n), 15)
        page.write(hundred_lines())
        page.page.wait_for_timeout(3000)
        found["edit to SASS, 100 lines"] = median(lambda n: edit_to_sass(page, n), 7)
    return found


def main() -> int:
    """Prints each time beside its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the times to a file")
    arguments = parser.parse_args()
    found = measured()
    for name, limit in LIMITS.items():
        held = "holds" if found[name] <= limit else "MISSED"
        print(f"{name:26} {1000 * found[name]:8.0f} ms   limit {1000 * limit:5.0f} ms   {held}")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
