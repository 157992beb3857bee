"""The roofline's labels stand apart, in a browser, however close points and roofs lie."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.report.results import launch
from tests.studio.page import browser
from warplens.report.html import html_page
from warplens.result import Charts, Result, Roof, Value

_BOXES = """() => [...document.querySelectorAll('[aria-label^="Roofline."]')].map((picture) =>
  [...picture.querySelectorAll(".tick, .onroof, .pointlabel")].map((item) => {
    const { x, y, width, height } = item.getBBox();
    return [item.textContent, x, y + 0.2 * height, x + width, y + 0.85 * height];
  }))"""
_LEVELS = {"l1": 33e12, "l2": 6.5e12, "dram": 4.8e12}
_BYTES = {"l1tex__lsu_writeback_active_mem_lg.sum": 128, "lts__lts2xbar_cycles_active.sum": 32,
          "dram__bytes.sum": 1}  # fmt: skip


def charts(compute: dict[str, float], done: dict[str, int], moved: tuple[int, int, int],
           nanoseconds: float) -> Charts:  # fmt: skip
    """A launch that did operations on so many bytes at each level."""
    values = {"gpu__time_duration.sum": Value(nanoseconds, "ns", "model")}
    for (name, size), n in zip(_BYTES.items(), moved, strict=True):
        values[name] = Value(n // size, "", "model")
    roofs = [Roof(name=name, rate=rate, kind="compute") for name, rate in compute.items()]
    roofs += [Roof(name=name, rate=rate, kind="memory") for name, rate in _LEVELS.items()]
    return Charts(roofs=tuple(roofs), operations=done, values=values)


def cases() -> list[Charts]:
    """Kernels of several precisions: the same rates, equal work, and work of all sizes."""
    rates = {"fp64": 33.5e12, "fp32": 66.9e12, "fp16": 133.8e12, "int32": 33.5e12}
    equal = dict.fromkeys(rates, 1 << 20)
    found = [charts(rates, equal, (1 << 22, 1 << 22, 1 << 22), 5000.0),
             charts(rates, equal, (1 << 24, 1 << 22, 1 << 20), 50_000.0)]  # fmt: skip
    dice = random.Random(1)
    for _ in range(20):
        done = {name: 1 << dice.randint(14, 34) for name in rates}
        moved = (1 << dice.randint(15, 30), 1 << dice.randint(15, 30), 1 << dice.randint(15, 30))
        found.append(charts(rates, done, moved, 10.0 ** dice.uniform(3.3, 7)))
    return found


def _apart(a: list[Any], b: list[Any]) -> bool:
    return bool(a[3] <= b[1] or b[3] <= a[1] or a[4] <= b[2] or b[4] <= a[2])


def test_labels_stand_apart(tmp_path: Path) -> None:
    """No two texts overlap, none is missing that has room, and all lie inside of the picture."""
    launches = tuple(replace(launch(), id=i, charts=one) for i, one in enumerate(cases()))
    path = tmp_path / "page.html"
    path.write_text(html_page(Result(launches=launches, writer="test")), encoding="utf-8")
    with browser() as chromium:
        page = chromium.new_page(viewport={"width": 1400, "height": 900})
        page.goto(path.as_uri())
        page.add_style_tag(content=".launch[hidden]{display:block!important}")
        pictures = page.evaluate(_BOXES)

    assert len(pictures) == len(launches)
    for boxes in pictures:
        pairs = itertools.combinations(boxes, 2)
        assert [(a[0], b[0]) for a, b in pairs if not _apart(a, b)] == []
        names = [box[0] for box in boxes if box[0].partition(":")[0].partition(" ")[0] in
                 ("fp64", "fp32", "fp16", "int32", "L1", "L2", "DRAM")]  # fmt: skip
        assert len(names) >= 10  # four points, four roofs, three levels; one may have no room
        assert all(box[1] >= 0 and box[3] <= 600 and box[2] >= 0 for box in boxes)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_one_precision(tmp_path: Path, scheme: str) -> None:
    """The common picture has every label."""
    one = charts({"fp32": 66.9e12}, {"fp32": 1 << 20}, (1 << 23, 1 << 23, 1 << 23), 6000.0)
    path = tmp_path / "page.html"
    made = replace(launch(), charts=one)
    path.write_text(html_page(Result(launches=(made,), writer="test")), encoding="utf-8")
    with browser() as chromium:
        page = chromium.new_page(color_scheme=scheme)
        page.goto(path.as_uri())
        texts = [box[0] for box in page.evaluate(_BOXES)[0]]

    assert {"fp32: L1, L2, DRAM", "fp32 66.9 Top/s", "L1 33 TB/s", "L2 6.5 TB/s",
            "DRAM 4.8 TB/s"} <= set(texts)  # fmt: skip
