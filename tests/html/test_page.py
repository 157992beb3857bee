"""The HTML report: complete, self-contained, escaped, small, labelled, and quiet in a browser."""

from __future__ import annotations

import html
import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.html import checks
from tests.html.axe import findings
from tests.html.browser import CHROMIUM, opened
from tests.report.results import SOURCE, launch
from warplens.report.hot_lines import hot_lines
from warplens.report.html import html_page
from warplens.report.source_data import packed, script_json
from warplens.result import LaunchResult, Result, SourceColumn, SourceTable

LADDER = Path(__file__).parent.parent / "kernels" / "ladder.cu"
STEPS = {
    "interleaved_divergent": 1, "interleaved_strided": 1, "sequential": 1, "add_during_load": 2,
    "unrolled_last_warp": 2, "warp_shuffle": 2, "vector_shared": 4, "vector_registers": 4,
    "vector_shuffle": 4,
}  # fmt: skip
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'"


@pytest.fixture(scope="module")
def ladder() -> Result:
    """The nine steps on a small array."""
    data, out = np.ones(1 << 16, np.int32), np.zeros(1, np.int32)
    module = wl.Device("RTX 4060").compile(
        LADDER, name_expressions=[f"{name}<256>" for name in STEPS]
    )
    launches = []
    for number, (name, per_thread) in enumerate(STEPS.items()):
        run = module[f"{name}<256>"][(1 << 16) // 256 // per_thread, 256](data, out, len(data))
        warp = (0, 1) if number == 0 else None
        launches.append(run.result(section_set="full", sections=["PmSampling_WarpStates"],
                                   identifier=number, warp=warp))  # fmt: skip
    return Result(launches=tuple(launches), writer=wl.__version__)


@pytest.fixture(scope="module")
def page(ladder: Result) -> str:
    """Its report."""
    return html_page(ladder)


def embedded(page: str) -> Any:
    """The data of the source view."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_well_formed(page: str) -> None:
    """Every element is closed in order, identifiers are unique, headings skip no level."""
    tree = checks.Tree(page)

    assert tree.problems == []
    assert checks.duplicate_ids(tree) == []
    assert checks.heading_jumps(tree) == []


def test_everything_has_a_name(page: str) -> None:
    """Controls, pictures and scrollable regions have names; the language is given."""
    tree = checks.Tree(page)

    assert checks.unlabelled(tree) == []
    assert ("html", {"lang": "en"}, ()) in tree.elements


def test_nothing_comes_from_outside(page: str) -> None:
    """The page loads nothing, and forbids itself to."""
    assert checks.outside(page) == []
    assert "default-src 'none'" in page
    assert "@import" not in page and "url(http" not in page


def test_small(page: str) -> None:
    """The whole ladder stays under 3 MB."""
    assert len(page.encode()) < 3_000_000


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast(page: str, theme: int) -> None:
    """Text has at least 4.5 : 1 on every background it stands on."""
    palette = checks.palettes(page)[theme]
    for ink in ("ink", "soft", "accent", "mark", "opt", "wrn", "inf"):
        for ground in ("back", "card"):
            ratio = checks.contrast(palette[ink], palette[ground])

            assert ratio >= 4.5, (ink, ground, ratio)
    assert checks.contrast(palette["ink"], palette["pick"]) >= 4.5
    assert checks.contrast(palette["ink"], palette["hit"]) >= 4.5


def test_every_launch_is_there(ladder: Result, page: str) -> None:
    """All launches, with their charts as tables."""
    tree = checks.Tree(page)
    launches = [a for t, a, _ in tree.elements if t == "article"]
    options = [a for t, a, _ in tree.elements if t == "option" and a["value"].isdigit()]

    assert len(launches) == len(options) == len(ladder.launches)
    assert page.count("Memory chart as a table") == len(ladder.launches)
    assert page.count("Roofline as a table") == len(ladder.launches)


def test_values_agree_with_the_result(ladder: Result, page: str) -> None:
    """The numbers of the source view are those of the result."""
    data = embedded(page)
    for profiled, shown in zip(ladder.launches, data["launches"], strict=True):
        assert profiled.source is not None
        wanted = next(c for c in profiled.source.columns if c.metric == "inst_executed")
        column = next(c for c in shown["columns"] if c["heading"] == wanted.heading)

        assert unpacked(column["values"]) == list(wanted.values)
        assert data["kernels"][shown["kernel"]]["sass"] == list(profiled.source.sass)


def unpacked(values: Any) -> list[Any]:
    """What `packed` stored."""
    if isinstance(values, list):
        return values
    full: list[Any] = [0] * values["n"]
    for place, value in zip(values["at"], values["is"], strict=True):
        full[place] = value
    return full


def test_packing_keeps_values() -> None:
    """Sparse columns come back as they were."""
    for values in ([0, 0, 0, 0, 7], [1, 2, 3], [0.0, 0.5, 0, 0, 0], [0] * 9):
        assert unpacked(packed(values)) == values


def hostile() -> Result:
    """A result in which every text is an attack."""
    one = launch()
    assert one.source is not None
    source = replace(
        one.source, sass=(EVIL, EVIL), files=("k.cu", "k.cu"), lines=(1, 1),
        sources={"k.cu": EVIL + "\n"},
    )  # fmt: skip
    sections = tuple(
        replace(
            s, title=EVIL, rules=tuple(replace(r, text=EVIL, file=EVIL, line=1) for r in s.rules)
        )
        for s in one.sections
    )
    return Result(
        launches=(
            replace(one, kernel_name=EVIL, function_name=EVIL, gpu=EVIL, output=EVIL,
                    notes=(EVIL,), source=source, sections=sections),
        ),
        writer=EVIL,
    )  # fmt: skip


def test_escaped() -> None:
    """No text of a result becomes markup."""
    page = html_page(hostile())
    tree = checks.Tree(page)

    assert [a for t, a, _ in tree.elements if t == "img"] == []
    assert sum(t == "script" for t, _, _ in tree.elements) == 2
    assert all(not name.startswith("on") for _, a, _ in tree.elements for name in a)
    assert embedded(page)["kernels"][0]["sass"] == [EVIL, EVIL]


def test_script_json_survives_surrogates() -> None:
    """Broken UTF-8 in a source does not break the page."""
    text = script_json({"a": "\udcff\u2028<!--"})

    assert "<" not in text and "\u2028" not in text
    assert json.loads(text)["a"].endswith("\u2028<!--")


def large(n: int) -> LaunchResult:
    """A launch of a kernel with many instructions."""
    one = launch()
    columns = tuple(
        SourceColumn(heading=f"Column {k}", metric=f"m{k}", unit="inst", basis="exact",
                     values=tuple((i * 7919 + k) % 1000 if k < 6 else (i % 50 == 0) * i
                                  for i in range(n)))
        for k in range(18)
    )  # fmt: skip
    source = SourceTable(
        addresses=tuple(16 * i for i in range(n)),
        sass=tuple(f"FFMA R{i % 255}, R{i % 17}, R{i % 13}, R{i % 7}" for i in range(n)),
        files=("k.cu",) * n, lines=tuple(1 + i // 4 for i in range(n)), columns=columns,
        sources={"k.cu": "".join(f"float x{i} = a * b + {i}; // line\n" for i in range(n // 4))},
    )  # fmt: skip
    return replace(one, source=source)


def test_large_kernel_and_many_launches() -> None:
    """5,000 instructions, and 50 launches of it, make a page quickly; text is stored once."""
    begin = time.perf_counter()
    one = html_page(Result(launches=(large(5000),), writer="1"))
    seconds = time.perf_counter() - begin
    many = html_page(
        Result(launches=tuple(replace(large(500), id=i) for i in range(50)), writer="1")
    )

    assert seconds < 5 and len(one.encode()) < 3_000_000
    assert many.count("FFMA R0, R0, R0, R0") == 1
    assert len(many.encode()) < 6_000_000


def test_missing_parts() -> None:
    """A result without time, source, charts or launches still makes a page."""
    plain = replace(launch(), source=None, by_line=None, sections=(), metrics={})
    page = html_page(Result(launches=(plain,), writer=""))

    assert "has no source page" in page
    assert "contains no launches" in html_page(Result(launches=(), writer=""))
    assert SOURCE.sass[0] not in page


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_in_a_browser(page: str, tmp_path: Path) -> None:
    """The page is quiet in Chromium; its scripts show source lines, SASS and heat."""
    path = tmp_path / "ladder.html"
    path.write_text(page, encoding="utf-8")
    seen = opened(path, tmp_path / "profile")
    rows = re.findall(r'<tr role="row" data-row="\d+"', seen.tree)

    assert seen.console == ()
    assert len(rows) > 20 and "rgba(var(--heat)" in seen.tree
    assert seen.tree.count("<article") == len(STEPS)
    assert seen.tree.count('class="launch"') == len(STEPS)


_ACTIONS = """
window.addEventListener("load", () => {
  const by = (id) => document.getElementById(id), told = [];
  const press = (host, key) =>
    host.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const change = (host, value, kind) => {
    host.value = value;
    host.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  const grid = by("schedulegrid"), seen = () => told.push(by("scheduletext").textContent);
  seen();
  for (const key of ["ArrowRight", "ArrowDown", "End"]) { press(grid, key); seen(); }
  change(by("part"), "1", "change"); seen();
  press(grid, "Enter");
  told.push(by("sass").querySelector("tr.current .t").textContent);
  const slider = document.querySelector(".timeslider");
  change(slider, "0", "input"); told.push(slider.getAttribute("aria-valuetext"));
  change(slider, slider.max, "input"); told.push(slider.getAttribute("aria-valuetext"));
  by("forward").click(); told.push(by("steptext").textContent);
  by("back").click(); told.push(by("steptext").textContent);
  change(by("search"), "bar.sync", "input"); told.push(by("matches").textContent);
  press(by("code"), "ArrowDown");
  told.push(by("heat").value);
  by("search").focus(); press(by("search"), "Enter");
  told.push(String(by("search") === document.activeElement));
  change(by("search"), "MOV", "input"); press(by("search"), "Enter");
  told.push(String(by("search") === document.activeElement));
  press(document.activeElement, "n"); told.push(by("matches").textContent);
  press(document.activeElement, "N"); told.push(by("matches").textContent);
  press(by("splitter"), "ArrowRight"); told.push(by("splitter").getAttribute("aria-valuenow"));
  by("wrap").click(); told.push(getComputedStyle(by("code").querySelector("td.t")).whiteSpace);
  told.push(String(by("sass").querySelectorAll("span.kw").length > 3));
  told.push(by("stepline").textContent);
  document.querySelector(".hottest .goto").click();
  told.push(by("code").querySelector("tr.current th").textContent);
  document.querySelectorAll(".chosen")[2].click(); told.push(by("picker").value);
  change(by("picker"), "3", "change"); told.push(String(by("warpview").hidden));
  const box = document.createElement("pre");
  box.id = "told"; box.textContent = JSON.stringify(told); document.body.append(box);
});
"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_by_keyboard(ladder: Result, page: str, tmp_path: Path) -> None:
    """Schedule, timeline, warp and search answer to keys, and say in text what they show."""
    path = tmp_path / "keys.html"
    script = f"<script>{_ACTIONS}</script></body>"
    path.write_text(page.replace("</body>", script), encoding="utf-8")
    seen = opened(path, tmp_path / "profile")
    found = re.search(r'<pre id="told">(.*?)</pre>', seen.tree, re.S)
    assert found is not None, seen.console
    told = json.loads(html.unescape(found[1]))
    window = ladder.launches[0].schedule
    assert window is not None
    first, last = window.first, window.first + window.cycles - 1

    assert seen.console == ()
    assert told[0].startswith(f"Cycle {first}, warp 0, block 0: ")
    assert told[1].startswith(f"Cycle {first + 1}, warp 0")
    assert told[2].startswith(f"Cycle {first + 1}, warp 4")
    assert told[3].startswith(f"Cycle {last}, warp 4")
    assert told[4].startswith(f"Cycle {first}, warp 1, block 0: ")
    assert told[5] and told[4].endswith(told[5])  # Enter shows the instruction
    assert told[6].startswith("0 ns to ") and told[7].endswith("us")
    assert told[8].startswith("2 of ") and told[9].startswith("1 of ")
    assert re.fullmatch(r"\d+ found", told[10])
    assert told[11] == _first_advised_column(ladder, page)
    assert told[12] == told[13] == "false"  # the keys go to the list
    assert told[14].startswith("2 of ") and told[15].startswith("1 of ")
    assert told[16] == "55" and told[17] == "pre-wrap" and told[18] == "true"
    assert re.fullmatch(r"ladder\.cu:\d+ {2}\S.*", told[19])
    assert told[20] == str(hot_lines(ladder.launches[0], 1)[0].line) and told[21] == "2"
    assert told[22] == "true"  # that launch has no stepped warp


def _first_advised_column(ladder: Result, page: str) -> str:
    """The column of the first advice that has one with values."""
    wanted = re.findall(r'<div class="rule [^"]*" data-heat="([^"]*)"', page.split("<article")[1])
    source = ladder.launches[0].source
    assert source is not None
    filled = {c.heading for c in source.columns if any(isinstance(v, int | float) and v > 0
                                                       for v in c.values)}  # fmt: skip
    return next(name for name in [*wanted, "Warp Stall Cycles"] if name in filled)


def test_schedule_is_the_models(ladder: Result, page: str) -> None:
    """Every cycle of the page's rows shows a state of the result, and none where there is none."""
    for profiled, shown in zip(ladder.launches, embedded(page)["launches"], strict=True):
        window = profiled.schedule
        assert window is not None
        known: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for warp, begin, end, state, instruction in window.spans:
            for cycle in range(begin, end):
                known.setdefault((warp, cycle), set()).add((state, instruction))
        seen = {}
        for warp, spans in shown["schedule"]["rows"]:
            at = window.first
            for state, length, instruction in spans:
                if state >= 0:
                    seen |= {(warp, c): (state, instruction) for c in range(at, at + length)}
                at += length
        assert seen.keys() == known.keys()
        assert all(seen[place] in known[place] for place in seen)


def test_timeline_is_the_sections(ladder: Result, page: str) -> None:
    """The strips' values are the instances of the sampled metrics, to four digits."""
    name = "pmsampling:sm__inst_executed_realtime.sum"
    for profiled, shown in zip(ladder.launches, embedded(page)["launches"], strict=True):
        samples = profiled.metrics[name].instances
        row = next(r for r in shown["timeline"]["rows"] if r[0] == "Executed Instructions")

        assert row[2] == pytest.approx([value for _, value in samples], rel=1e-3)
        assert len(shown["timeline"]["times"]) == len(samples)
    assert page.count("Counters over time as a table") == len(ladder.launches)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_axe(ladder: Result, tmp_path: Path) -> None:
    """The accessibility checker finds nothing, light or dark."""
    assert findings(html_page(replace(ladder, launches=ladder.launches[:1])), tmp_path) == []


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_axe_on_every_launch(page: str, tmp_path: Path) -> None:
    """The same for all launches of the ladder."""
    assert findings(page, tmp_path, launches=tuple(range(len(STEPS))), all_rows=True) == []


@pytest.fixture(scope="module")
def stepped(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A result file with one warp step by step, read back."""
    data, out = np.ones(1 << 12, np.int32), np.zeros(1, np.int32)
    module = wl.Device("RTX 4060").compile(LADDER, name_expressions=["interleaved_strided<64>"])
    run = module["interleaved_strided<64>"][64, 64](data, out, len(data))
    path = tmp_path_factory.mktemp("stepped") / "run"
    return wl.load(run.save(str(path), warp=(3, 1)))


def test_warp_in_the_result(stepped: Result) -> None:
    """The file holds the steps; the page's data says the same."""
    trace = stepped.launches[0].warp
    assert trace is not None
    shown = embedded(html_page(stepped))["launches"][0]["warp"]
    accesses = [access for step in trace.steps for access in step.accesses]

    assert (shown["block"], shown["warp"]) == (3, 1)
    assert shown["total"] == trace.total == len(trace.steps)
    assert [row[1] for row in shown["steps"]] == [step.mask for step in trace.steps]
    assert {a.space for a in accesses} == {"global", "shared"}
    assert all(len(values) == 32 for step in trace.steps for _, values in step.changed)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_warp_in_a_browser(stepped: Result, tmp_path: Path) -> None:
    """The warp view shows lanes and registers, with no complaint."""
    path = tmp_path / "warp.html"
    path.write_text(html_page(stepped), encoding="utf-8")
    seen = opened(path, tmp_path / "profile")

    assert seen.console == ()
    assert "block 3 warp 1" in seen.tree
    assert seen.tree.count('<span class="on">') == 32


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_attacks_in_a_browser(tmp_path: Path) -> None:
    """Hostile names and sources run nothing and are shown as they are."""
    path = tmp_path / "evil.html"
    path.write_text(html_page(hostile()), encoding="utf-8")
    seen = opened(path, tmp_path / "profile", suffix="?theme=dark")

    assert seen.console == ()
    assert "<img" not in seen.tree
    assert 'data-theme="dark"' in seen.tree


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_large_kernel_in_a_browser(tmp_path: Path) -> None:
    """Of 5,000 instructions only those in sight exist as rows."""
    path = tmp_path / "large.html"
    path.write_text(html_page(Result(launches=(large(5000),), writer="1")), encoding="utf-8")
    seen = opened(path, tmp_path / "profile")
    rows = re.findall(r'<tr role="row" data-row="\d+"', seen.tree)

    assert seen.console == ()
    assert 40 < len(rows) < 600
