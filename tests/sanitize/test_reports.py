"""Report formats, the command, scripts, schedules and what is done with memory."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.cli.main import main
from warplens.sanitize.html import document
from warplens.sanitize.json import report_json
from warplens.sanitize.sarif import report_sarif
from warplens.sanitize.text import report_text

RACY = """extern "C" __global__ void racy(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = 1000 + t;
    out[t] = s[63 - t];
}
"""
CLEAN = RACY.replace("1000 + t;", "1000 + t; __syncthreads();").replace("racy", "clean")


@pytest.fixture(scope="module")
def report() -> Any:
    """The racy kernel under racecheck."""
    kernel = wl.Device("H200").compile(RACY)["racy"]
    return kernel.sanitize[1, 64](np.zeros(64, np.int32), tools=("racecheck",))


def test_summary_lines(report: Any) -> None:
    """The two summary lines are those that scripts look for."""
    assert str(report).splitlines()[-1] == (
        "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"
    )

    clean = wl.Device("H200").compile(CLEAN)["clean"]
    text = str(clean.sanitize[1, 64](np.zeros(64, np.int32)))

    assert text.splitlines()[-1] == "========= ERROR SUMMARY: 0 errors"


def test_print_limit(report: Any) -> None:
    """Only so many findings are printed."""
    rows = report_text((report, report), print_limit=1).splitlines()

    assert sum("Race reported" in row for row in rows) == 1
    assert any("1 more finding not shown" in row for row in rows)


def test_json_and_sarif(report: Any) -> None:
    """JSON and SARIF hold every finding with its source line."""
    data = json.loads(report_json((report,)))
    log = json.loads(report_sarif((report,)))
    results = log["runs"][0]["results"]
    places = [place for r in results for place in (*r["locations"], *r["relatedLocations"])]
    lines = {place["physicalLocation"]["region"]["startLine"] for place in places}

    assert data["errors"] == 1
    assert {f["check"] for f in data["launches"][0]["findings"]} >= {"shared-read-write-race"}
    assert log["version"] == "2.1.0"
    assert {4, 5} <= lines
    rules = [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    assert all(rules[r["ruleIndex"]] == r["ruleId"] for r in results)
    helped = [rule["help"]["text"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    assert all(text.endswith(f"warplens explain {name}") for name, text in zip(
        rules, helped, strict=True))


def test_html_needs_nothing_else(report: Any) -> None:
    """The HTML file has no links to anything outside."""
    text = document((report,))

    assert "shared-read-write-race" in text
    assert "http" not in text.replace("https://", "http://").split("<style>")[0]


def test_source_lines_of_both_accesses(report: Any) -> None:
    """Text and HTML show the lines of both accesses, each with its neighbours."""
    rows = [
        ">    4 |     s[t] = 1000 + t;", ">    5 |     out[t] = s[63 - t];",
        "     3 |     int t = threadIdx.x;",
    ]  # fmt: skip

    assert all(row in str(report) for row in rows)
    assert all(escape(row) in document((report,)) for row in rows)


@pytest.mark.parametrize(("update", "atomic"), [
    ("*d += 1", "atomicAdd()"), ("*d |= 1 << threadIdx.x / 32", "atomicOr()"),
    ("if (*d < 9) *d = 9 + blockIdx.x", ""),
])  # fmt: skip
def test_a_lost_update_asks_for_an_atomic(update: str, atomic: str) -> None:
    """A barrier does not repair it, so the advice does not ask for one."""
    source = f'extern "C" __global__ void add(int* d) {{ if (threadIdx.x % 32 == 0) {update}; }}'
    kernel = wl.Device("H200").compile(source)["add"]
    report = kernel.sanitize[2, 64](np.zeros(1, np.int32), tools=("racecheck",))

    assert report.errors
    for finding in report.errors:
        assert ("update is lost" in finding.advice) == bool(atomic), str(report)
        assert atomic in finding.advice


ADVICE = """
extern "C" __global__ void bits(int* d) {
    struct Pair { unsigned low : 12, high : 12; };
    __shared__ Pair s;
    if (threadIdx.x == 0) *(int*)&s = 0;
    __syncthreads();
    if (threadIdx.x == 1) s.low = d[0];
    if (threadIdx.x == 33) s.high = d[1];
    __syncthreads();
    d[2] = s.low;
}
extern "C" __global__ void widths(int* d) {
    if (threadIdx.x == 0) atomicAdd((unsigned long long*)d, 1ull << 32);
    if (threadIdx.x == 32) atomicAdd(d + 1, 1);
}
extern "C" __global__ void stencil(int* d) {
    int i = blockIdx.x * 64 + threadIdx.x, v = d[(i + 1) % 128];
    d[i] += v;
}
extern "C" __global__ void phases(int* d) {
    __shared__ unsigned long long bar;
    __shared__ int s[64];
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(at) : "memory");
    __syncthreads();
    s[threadIdx.x] = d[threadIdx.x];
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory");
    d[threadIdx.x] = s[63 - threadIdx.x];
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;"
                 "@p bra D; bra W; D:}" :: "r"(at) : "memory");
}
"""


@pytest.mark.parametrize(("name", "advice"), [
    ("bits", "Use atomicAnd(), atomicOr()"), ("widths", "Atomics of different widths"),
    ("stencil", "Blocks are not ordered"), ("phases", "or the wait for an mbarrier"),
])  # fmt: skip
def test_advice_goes_by_the_accesses(name: str, advice: str) -> None:
    """Bit-fields of one word are updates; where warps and blocks race, a barrier is not enough."""
    kernel = wl.Device("H200").compile(ADVICE)[name]
    report = kernel.sanitize[2 if name == "stencil" else 1, 64](
        np.ones(128, np.int32), tools=("racecheck",)
    )

    assert report.errors
    assert all(advice in finding.advice for finding in report.errors), str(report)


def test_schedules_show_a_changed_result() -> None:
    """Another order of warps gives another result, and the seed is named."""
    kernel = wl.Device("H200").compile(RACY)["racy"]
    out = np.zeros(64, np.int32)
    report = kernel.sanitize[1, 64](out, tools=("racecheck",), schedules=8)
    found = [f for f in report.findings if f.check == "schedule-dependent-result"]

    assert len(found) == 1
    assert "schedule seed" in found[0].text


def test_results_are_those_of_one_launch() -> None:
    """All passes together leave the arguments as one launch does."""
    kernel = wl.Device("H200").compile(
        'extern "C" __global__ void add(int* o) { atomicAdd(o + blockIdx.x, threadIdx.x); }'
    )["add"]
    out = np.zeros(4, np.int32)
    kernel.sanitize[4, 100](out, schedules=3)

    assert out.tolist() == [4950] * 4


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit codes, --error-exitcode and --save."""
    source = tmp_path / "racy.cu"
    source.write_text(RACY)
    launch = ["sanitize", str(source), "--grid", "1", "--block", "64", "--arg", "i32[64]=0"]

    assert main([*launch, "--save", str(tmp_path / "f.sarif")]) == 1
    assert main([*launch, "--error-exitcode", "86", "--tool", "racecheck"]) == 86
    assert main([*launch, "--tool", "nothing"]) == 2
    assert "Race reported" in capsys.readouterr().out
    assert json.loads((tmp_path / "f.sarif").read_text())["version"] == "2.1.0"

    source.write_text(CLEAN)

    assert main(launch) == 0


def test_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every launch of a script is checked, and the script sees its ordinary results."""
    script = tmp_path / "script.py"
    script.write_text(
        f"import numpy as np, warplens as wl\nk = wl.Device().compile({CLEAN!r})['clean']\n"
        "o = np.zeros(64, np.int32)\nk[1, 64](o)\nprint(int(o.sum()))\n"
    )

    assert main(["sanitize", "--tool", "racecheck", str(script)]) == 0
    assert str(sum(1000 + t for t in range(64))) in capsys.readouterr().out


def test_loaded_cubin_says_what_is_not_checked() -> None:
    """Without source there are no checks inside warps, and the report says so."""
    from warplens.toolchain.nvrtc import compile_source

    cubin = compile_source(CLEAN, sm=90).cubin
    kernel = wl.Device("H200").load(cubin)["clean"]
    report = kernel.sanitize[1, 64](np.zeros(64, np.int32))

    assert not report.errors
    assert any("needs the source" in note for note in report.notes)
