"""Takes the pictures of the studio's page: `python docs/screenshots.py`.

Needs `warplens[studio]`, Playwright, Pillow and Chromium.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.studio.page import WAIT, Page, browser, opened  # noqa: E402
from tests.studio.server import served  # noqa: E402

_COLOURS = 64


def take(page: Page, name: str, selector: str = "", *, inside: bool = False) -> None:
    """A picture of what is in view, or of an element, also one of the report, in few colours."""
    page.page.wait_for_timeout(1500)
    chosen = page.page.locator(selector) if selector else page.page
    if inside:
        chosen = page.page.frame_locator("#report").locator(selector)
        chosen.scroll_into_view_if_needed()
    picture = Image.open(io.BytesIO(chosen.screenshot()))
    target = HERE / "images" / f"studio_{name}.png"
    picture.convert("RGB").quantize(_COLOURS).save(target, optimize=True)
    print(target, f"{target.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Goes through the views."""
    with served() as studio, browser() as chromium:
        page = opened(chromium, studio, width=1280)
        page.exercise("transpose")
        page.run()
        take(page, "edit")
        page.page.locator("#report").scroll_into_view_if_needed()
        take(page, "report", "#report")
        page.page.set_viewport_size({"width": 1280, "height": 2600})
        take(page, "source", "#sourceview", inside=True)
        take(page, "timeline", ".timeline", inside=True)
        take(page, "schedule", "#scheduleview", inside=True)
        for _ in range(18):
            page.page.frame_locator("#report").locator("#forward").click()
        take(page, "warp", "#warpview", inside=True)
        page.page.set_viewport_size({"width": 1280, "height": 1000})
        page.page.fill("#kernel", "padded")
        page.page.dispatch_event("#kernel", "change")
        page.run()
        page.page.click("#t-history")
        take(page, "history", ".results")
        page.page.click("#compare")
        page.page.wait_for_timeout(3000)
        take(page, "compare", "#report")
        page.exercise("race")
        page.check()
        page.page.evaluate("() => scrollTo(0, 0)")
        take(page, "findings")
        page.exercise("latency")
        page.run()
        page.page.click("#sizes")
        page.page.wait_for_selector("#predictions .done", timeout=WAIT)
        take(page, "whatif", "section[aria-labelledby=whatiftitle]")
        small = opened(chromium, studio, width=420, scheme="dark")
        small.exercise("banks")
        take(small, "narrow")


if __name__ == "__main__":
    main()
