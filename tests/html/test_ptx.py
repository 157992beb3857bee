"""PTX beside SASS and source in a report: what is shown, and that each leads to the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.studio.page import browser
from warplens.report.html import html_page
from warplens.result import Result, load, save
from warplens.toolchain.ptx_lines import kernel_lines

SOURCE = """\
extern "C" __global__ void scale(const float* a, float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        b[i] = sqrtf(a[i]) * 3.0f;
}
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A launch of a file whose name is not ASCII, through a result file."""
    folder = tmp_path_factory.mktemp("ptx")
    path = folder / "größe.cu"
    path.write_text(SOURCE, encoding="utf-8")
    kernel = wl.Device("H200").compile(path)["scale"]
    run = kernel[2, 64](np.ones(128, np.float32), np.zeros(128, np.float32), 128)
    kept = save(Result(launches=(run.result(),), writer="test"), folder / "one")
    return load(kept)


def test_lines_of_the_result(result: Result) -> None:
    """The kernel's PTX is kept; loads, root and stores belong to line 4 of the file."""
    table = result.launches[0].source
    assert table is not None
    at_4 = [text for text, file, line in zip(table.ptx, table.ptx_files, table.ptx_lines,
                                             strict=True)
            if line == 4 and file and file.endswith("größe.cu")]  # fmt: skip
    text = "\n".join(at_4)

    assert table.ptx[0].startswith(".visible .entry scale(") and table.ptx[-1] == "}"
    assert "sqrt" in text and "ld.global" in text and "st.global" in text
    assert not any(".loc" in line for line in table.ptx)
    assert kernel_lines("\n".join(table.ptx), "other") == ()


def test_a_cubin_has_none(tmp_path: Path) -> None:
    """Where there is no PTX the page offers none."""
    module = wl.Device("H200").compile(SOURCE)
    (tmp_path / "k.cubin").write_bytes(module.images[-1].cubin.data)
    kernel = wl.Device("H200").load(tmp_path / "k.cubin")["scale"]
    run = kernel[1, 32](np.ones(32, np.float32), np.zeros(32, np.float32), np.int32(32))
    made = run.result()
    path = tmp_path / "page.html"
    path.write_text(html_page(Result(launches=(made,), writer="test")), encoding="utf-8")
    with browser() as chromium:
        page = chromium.new_page()
        page.goto(path.as_uri())
        assert not page.is_visible("#showptx") and not page.is_visible("#ptx")


def linked(page: Any, pane: str) -> list[str]:
    """Texts of a pane's marked rows."""
    found: list[str] = page.locator(f"#{pane} tr.linked td.t").all_inner_texts()
    return found


@pytest.mark.parametrize("width", [420, 1280, 1920])
def test_in_a_browser(result: Result, tmp_path: Path, width: int) -> None:
    """The pane is offered, stands beside SASS, and rows of one source line are marked in all."""
    path = tmp_path / "page.html"
    path.write_text(html_page(result), encoding="utf-8")
    with browser() as chromium:
        page = chromium.new_page(viewport={"width": width, "height": 900})
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        assert page.is_checked("#showptx") == (width > 1700)
        page.set_checked("#showptx", True)
        page.locator("#sass td.t", has_text="MUFU").first.click()
        from_sass = linked(page, "ptx")
        page.locator("#ptx td.t", has_text="st.global").first.click()
        to_sass, to_code = linked(page, "sass"), linked(page, "code")
        page.locator("#code td.t", has_text="sqrtf").click()
        from_code = linked(page, "ptx")
        wider = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
        page.set_checked("#showptx", False)
        hidden = not page.is_visible("#ptx")

    assert any("sqrt" in text for text in from_sass)
    assert any("STG" in text for text in to_sass) and ["sqrtf" in t for t in to_code] == [True]
    assert from_code == from_sass and wider <= 0 and hidden and complaints == []
