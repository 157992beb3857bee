"""What a user tries first in the terminal: hottest lines, advice by gain, limits, units, plots."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

import warplens as wl
from tests.report.results import launch, row
from warplens.cli.main import build_parser, main
from warplens.errors import WarplensError
from warplens.report.columns import columns_page
from warplens.report.html import html_page
from warplens.report.options import PrintOptions
from warplens.result import Result, Rule, Section

SOFTMAX = """
__global__ void softmax(const float* in, float* out, int n) {
    extern __shared__ float part[];
    int t = threadIdx.x, row = blockIdx.x * n;
    float best = -1e30f, sum = 0;
    for (int i = t; i < n; i += blockDim.x) best = fmaxf(best, in[row + i]);
    part[t] = best;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (t % (2 * s) == 0) part[t] = fmaxf(part[t], part[t + s]);
        __syncthreads();
    }
    best = part[0];
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) sum += __expf(in[row + i] - best);
    part[t] = sum;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (t % (2 * s) == 0) part[t] += part[t + s];
        __syncthreads();
    }
    for (int i = t; i < n; i += blockDim.x) out[row + i] = __expf(in[row + i] - best) / part[0];
}
"""
MODULO = {n for n, text in enumerate(SOFTMAX.splitlines(), 1) if "%" in text}
CALL = ("profile s.cu -k softmax --grid 1024 --block 256 --shared 1024 --arg f32[1048576]=rand "
        "--arg f32[1048576]=0 --arg i32=1024").split()  # fmt: skip


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile of the softmax."""
    folder = tmp_path_factory.mktemp("softmax")
    (folder / "s.cu").write_text(SOFTMAX)
    words = [str(folder / "s.cu") if word == "s.cu" else word for word in CALL]

    assert main([*words, "--set", "full", "-o", str(folder / "s")]) == 0
    return folder / "s.wlens"


def test_the_modulo_is_advised_against(result: Path) -> None:
    """Lines that spend half of the instructions on `%` get the first advice that has a gain."""
    rules = [rule for section in wl.load(str(result)).launches[0].sections
             for rule in section.rules]  # fmt: skip
    first = max((one for one in rules if one.speedup), key=lambda one: one.speedup or 0)

    assert first.identifier == "IntegerDivision" and first.line in MODULO


def test_advice_by_gain() -> None:
    """The page lists optimisations by what they gain, the largest first, before the hot lines."""
    gains = (5.0, 40.0, 0.5, 20.0)
    sections = tuple(
        Section(identifier=f"S{n}", title=f"S{n}", order=n, rows=(), rules=(
            Rule(identifier=f"R{n}", tag="OPT", text="t", speedup_type="global", speedup=gain),))
        for n, gain in enumerate(gains)
    )  # fmt: skip
    page = html_page(Result(launches=(launch(0, sections=sections),), writer="test"))
    summary = page[page.index('data-name="summary"') : page.index('data-name="charts"')]
    found = [float(part.split("%")[0]) for part in summary.split("est. speed-up ")[1:]]

    assert found == sorted(gains, reverse=True)
    assert summary.index("<h3>Hottest lines</h3>") > summary.index("<h3>Advice</h3>")


@pytest.mark.parametrize("n", [2, 5])
def test_hottest_lines(n: int, result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--lines N` prints so many lines, the slowest first, with shares that are at most a whole."""
    assert main(["show", str(result), "--lines", str(n)]) == 0
    text = capsys.readouterr().out.partition("Hottest Source Lines")[2]
    rows = [one for one in text.splitlines() if "s.cu:" in one]
    times = [float(one.split("%")[0]) for one in rows]

    assert len(rows) == n and times == sorted(times, reverse=True) and sum(times) <= 100.1


def test_an_endless_loop_has_a_limit() -> None:
    """Without any option a kernel in which no block ends is stopped after some minutes."""
    words = "profile k.cu --grid 1 --block 32".split()
    parsed = build_parser().parse_args(words)

    assert 0 < parsed.max_idle_seconds <= 300


def test_one_unit_for_a_row() -> None:
    """GPUs of which one takes microseconds and one milliseconds stand in the same unit."""

    def on(gpu: str, nanoseconds: float) -> Any:
        cells = (row("gpu__time_duration.sum", "Duration", nanoseconds, "ns", "model"),)
        one = Section(identifier="SpeedOfLight", title="Speed", order=1, rows=cells)
        return launch(0, gpu=gpu, sections=(one,))

    page = columns_page(Result(launches=(on("H200", 2_500_000), on("L4", 800_000))), PrintOptions())
    (line,) = (one for one in page.splitlines() if "Duration" in one)

    assert line.split() == ["Duration", "ms", "2.50", "~", "0.80", "~"]


def test_a_plot_without_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing package is told before anything is printed, with the command that installs it."""
    known = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return known(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    words = ["occupancy", "--gpu", "A100", "--block", "128", "--sweep", "registers", "--plot"]
    try:
        status = main([*words, str(tmp_path / "x.svg")])
    except WarplensError as error:
        status = error.exit_code
    out, _ = capsys.readouterr()

    assert status == 2 and out == ""
