"""`%%cuda` cells: run, change the notebook's arrays, show the report, and say what is wrong."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from tests.html.browser import CHROMIUM
from warplens.notebook import widget

pytest.importorskip("IPython")
pytest.importorskip("anywidget")

SCALE = """__global__ void scale(float* a, float f) {
    a[blockIdx.x * blockDim.x + threadIdx.x] *= f;
}"""


@pytest.fixture
def shell() -> Any:
    """A notebook's Python with the extension."""
    from IPython.core.interactiveshell import InteractiveShell

    one = InteractiveShell()
    one.run_line_magic("load_ext", "warplens.notebook")
    return one


def test_a_cell_runs(shell: Any) -> None:
    """The kernel changes the variable's array in place; launch and module are variables."""
    data = np.ones(256, np.float32)
    shell.user_ns["data"] = data
    line = "--grid 4 --block 64 --arg data --arg f32=3"
    shown = shell.run_cell_magic("cuda", line, SCALE)

    assert (data == 3).all()
    assert shell.user_ns["launch"].metric("smsp__inst_executed.sum") > 0
    assert "scale" in shell.user_ns["launch_module"].kernels[0]
    assert "scale(float*, float)" in shown.page and shown.line == 0


def test_mistakes_are_told(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors are a message below the cell, and the notebook goes on."""
    for line, cell, reason in (
        ("--grid 4", SCALE, "--grid and --block"), ("--grid 4 --block 64", SCALE, "2 arguments"),
        ("--nothing", SCALE, "unrecognized"), ("", "__global__ void k() { x; }", "undefined"),
        ("--grid 1 --block 1 --arg missing --arg f32=1", SCALE, "no variable"),
    ):  # fmt: skip
        assert shell.run_cell_magic("cuda", line, cell) is None
        assert reason in capsys.readouterr().err, line


def test_a_cell_without_a_launch_compiles(shell: Any) -> None:
    """Without grid and block the cell gives its module; --sanitize gives findings."""
    assert "scale(float*, float)" in shell.run_cell_magic("cuda", "", SCALE).kernels
    line = "--grid 5 --block 64 --arg f32[256]=1 --arg f32=3 --sanitize"
    assert [one.check for one in shell.run_cell_magic("cuda", line, SCALE).findings] == [
        "out-of-bounds"
    ]


def test_plain_html_without_anywidget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where anywidget is missing the report is a frame of plain HTML."""
    monkeypatch.setattr(widget, "find_spec", lambda name: None)
    shown = widget.report_widget()

    assert shown._repr_html_().startswith('<iframe title="warplens report" sandbox="allow-scripts"')


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_widget_follows_the_notebook(theme: str) -> None:
    """In a notebook's page the frame shows the report in the notebook's theme."""
    sync_api = pytest.importorskip("playwright.sync_api")
    from warplens.report.html import html_page
    from warplens.result import Result

    module = base64.b64encode(widget.script().encode()).decode()
    body = f'<body data-jp-theme-light="{"false" if theme == "dark" else "true"}"></body>'
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_content(body)
        page.evaluate(
            """async ([module, report]) => {
              const { default: widget } = await import(`data:text/javascript;base64,${module}`);
              const values = { page: report, height: 300 };
              const model = { get: (k) => values[k], on() {} };
              widget.render({ model, el: document.body });
            }""",
            [module, html_page(Result(launches=(), writer="test"))],
        )
        frame = page.frame_locator("iframe")
        frame.locator("html[data-theme]").wait_for(state="attached", timeout=60_000)
        shown = frame.locator("html").get_attribute("data-theme")
        height = page.evaluate("() => document.querySelector('iframe').style.height")
        browser.close()

    assert (shown, height) == (theme, "300px")
