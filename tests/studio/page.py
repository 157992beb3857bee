"""The studio's page in Chromium, driven by Playwright: what a user sees and does there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import pytest

from tests.html.browser import CHROMIUM
from tests.studio.server import Served

WAIT = 90_000  # ms, on a machine that does other things as well
_AXE = """async () => {
  const found = await axe.run(document, { iframes: false, resultTypes: ["violations"] });
  return found.violations.map((one) => [one.impact, one.id, one.nodes[0].html.slice(0, 160)]);
}"""


class Page:
    """The page, with words for what is done in it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._heard)

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def text(self, selector: str) -> str:
        """What an element says."""
        return str(self.page.inner_text(selector))

    def count(self, name: str) -> int:
        """How often the page has done something: `compiled`, `runs`."""
        value = self.page.get_attribute("body", f"data-{name}")
        return int(value or 0)

    def wait(self, name: str, count: int) -> None:
        """Until the page has done it so often."""
        self.page.wait_for_selector(f'body[data-{name}="{count}"]', timeout=WAIT)

    def exercise(self, identifier: str) -> None:
        """Opens a kernel of the gallery and waits for its code."""
        self.page.select_option("#opened", f"g:{identifier}")
        self.page.wait_for_selector("#arguments .argument", timeout=WAIT)
        self.page.wait_for_selector("#sass .row", timeout=WAIT)

    def run(self) -> None:
        """Runs, and waits for the result."""
        before = self.count("runs")
        self.page.click("#run")
        self.wait("runs", before + 1)

    def check(self) -> str:
        """Runs the sanitizers; what the page says of it."""
        self.page.click("#check")
        self.page.wait_for_selector("#status:text-matches('finding')", timeout=WAIT)
        return self.text("#status")

    def write(self, source: str) -> None:
        """Replaces the source by the keyboard, and waits until it is compiled."""
        self.page.click("#editor .cm-content, #editor textarea")
        self.page.keyboard.press("ControlOrMeta+a")
        with self.page.expect_response("**/api/compile", timeout=WAIT):
            self.page.keyboard.insert_text(source)
        self.page.wait_for_timeout(100)

    def source(self) -> str:
        """What stands in the editor, as it is sent."""
        with self.page.expect_request("**/api/compile", timeout=WAIT) as sent:
            self.page.dispatch_event("#gpu", "change")
        return str(sent.value.post_data_json["source"])

    def overflow(self) -> float:
        """How far the page is wider than the window."""
        measured = "() => document.documentElement.scrollWidth - window.innerWidth"
        return float(self.page.evaluate(measured))

    def axe(self) -> list[Any]:
        """What the accessibility checker objects to."""
        self.page.evaluate(files("axe_core_python").joinpath("axe.min.js").read_text("utf-8"))
        found: list[Any] = self.page.evaluate(_AXE)
        return found


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium; skips where it or Playwright is missing."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield chromium
        finally:
            chromium.close()


def opened(chromium: Any, studio: Served, *, width: int = 1440, scheme: str = "light") -> Page:
    """A fresh tab with the page, ready and compiled."""
    context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    page = Page(context.new_page())
    page.page.goto(studio.address)
    page.page.wait_for_selector("body[data-ready]", timeout=WAIT)
    page.page.wait_for_selector("body[data-compiled]", timeout=WAIT)
    return page
