"""Runs axe, the accessibility checker, on a page in Chromium, in light and dark."""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from tests.html.browser import opened

# All rules in light; in dark those on colours again.
_RUN = """
window.addEventListener("load", async () => {
  const found = [], picker = document.getElementById("picker");
  for (const launch of %s) {
    if (picker) { picker.value = launch; picker.dispatchEvent(new Event("change")); }
    for (const theme of ["light", "dark"]) {
      document.documentElement.dataset.theme = theme;
      const options = { resultTypes: ["violations"] };
      if (theme === "dark") options.runOnly = { type: "rule", values: ["color-contrast"] };
      const result = await axe.run(%s, options);
      for (const one of result.violations) {
        found.push([launch, theme, one.impact, one.id, one.nodes[0].html.slice(0, 200)]);
      }
    }
  }
  const box = document.createElement("pre");
  box.id = "axe";
  box.textContent = JSON.stringify(found);
  document.body.append(box);
});
"""


# Of the two listings, whose rows are all alike, only the first.
_FEW_ROWS = """{ include: [["html"]], exclude: ["code", "sass", "registers"].map(
  (name) => [`#${name} tbody tr:nth-child(n+10)`]) }"""


def findings(page: str, folder: Path, *, launches: tuple[int, ...] = (0,),
             all_rows: bool = False) -> list[list[Any]]:  # fmt: skip
    """(launch, theme, impact, rule, first element) of everything axe objects to."""
    source = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    run = _RUN % (json.dumps(launches), "document" if all_rows else _FEW_ROWS)
    scripts = f"<script>{source}</script><script>{run}</script>"
    path = folder / "axe.html"
    page = page.replace("</body>", scripts + "</body>")
    if "script-src" not in page:  # a page without scripts forbids them
        page = page.replace("style-src", "script-src 'unsafe-inline'; style-src")
    path.write_text(page, encoding="utf-8")
    seen = opened(path, folder / "profile", budget=60_000, seconds=120 * len(launches))
    found = re.search(r'<pre id="axe">(.*?)</pre>', seen.tree, re.S)
    assert found is not None, seen.console
    result: list[list[Any]] = json.loads(html.unescape(found[1]))
    return result
