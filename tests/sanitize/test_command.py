"""The options of `warplens sanitize` that compute-sanitizer's users know, and tools run alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.sanitize.test_reports import CLEAN, RACY
from warplens.cli.main import main

SHARED = """extern "C" __global__ void shuffled(int* out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    if (t < n) out[t] = __shfl_sync(0xffffffffu, s[63 - t], 0);
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The racy kernel in a file."""
    path = tmp_path / "racy.cu"
    path.write_text(RACY)
    return path


def launch(path: Path, *options: str) -> int:
    """The command's exit status."""
    shape = ("--grid", "1", "--block", "64", "--arg", "i32[64]=0")
    return main(["sanitize", str(path), *shape, *options])


def test_page_in_a_file(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--log-file takes the page, --print-limit shortens it, an existing file needs -f."""
    log = tmp_path / "page.txt"

    assert launch(source, "--tool", "all", "--print-limit", "1", "--log-file", str(log)) == 1
    assert "SUMMARY" not in capsys.readouterr().out
    text = log.read_text()
    assert len([row for row in text.splitlines() if row.startswith("=========     [")]) == 1
    assert "more finding" in text
    assert text.splitlines()[-1].startswith("========= ERROR SUMMARY: ")
    assert launch(source, "--log-file", str(log)) == 2
    assert launch(source, "--log-file", str(log), "-f") == 1


def test_every_format(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints what --save writes; --save goes by the suffix."""
    files = [tmp_path / name for name in ("f.json", "f.html", "f.sarif", "f.txt")]
    options = [word for path in files for word in ("--save", str(path))]

    assert launch(source, "--tool", "racecheck", "--json", *options) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(files[0].read_text())
    assert printed["errors"] == 1
    assert files[1].read_text().lower().startswith("<!doctype html")
    assert json.loads(files[2].read_text())["version"] == "2.1.0"
    assert "RACECHECK SUMMARY" in files[3].read_text()


def test_only_the_kernels_asked_for(tmp_path: Path) -> None:
    """--kernel-name looks at the named launches of a script only."""
    script = tmp_path / "both.py"
    script.write_text(
        f"import numpy as np, warplens as wl\nd = wl.Device()\n"
        f"d.compile({RACY!r})['racy'][1, 64](np.zeros(64, np.int32))\n"
        f"d.compile({CLEAN!r})['clean'][1, 64](np.zeros(64, np.int32))\n"
    )

    assert main(["sanitize", "--tool", "racecheck", "--kernel-name", "clean", str(script)]) == 0
    assert main(["sanitize", "--tool", "racecheck", "--kernel-name", "racy", str(script)]) == 1


@pytest.mark.parametrize("tool", ["memcheck", "synccheck", "initcheck", "racecheck"])
def test_one_tool_alone(tool: str) -> None:
    """A tool that runs alone leaves results as a launch does, and finds what is its own."""
    kernel = wl.Device("H200").compile(SHARED)["shuffled"]
    out = np.full(64, -1, np.int32)
    report: Any = kernel.sanitize[1, 64](out, 64, tools=(tool,))

    assert not report.errors, str(report)
    assert out.tolist() == [63] * 32 + [31] * 32

    report = kernel.sanitize[1, 64](out, 40, tools=(tool,))
    checks = {finding.check for finding in report.errors}
    assert checks == ({"mask-names-absent-lane"} if tool == "synccheck" else set()), str(report)


def test_a_wait_with_a_timer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where registers never repeat, the default limit of time ends the launch with a finding."""
    from warplens.sanitize import passes

    monkeypatch.setattr(passes, "MOST_SECONDS", 1.0)
    text = """extern "C" __global__ void wait(int* flag, unsigned* looks) {
        unsigned n = 0;
        while (atomicAdd(flag, 0) == 0) n++;
        *looks = n;
    }"""
    report: Any = wl.Device("H200").compile(text)["wait"].sanitize[1, 32](
        np.zeros(1, np.int32), np.zeros(1, np.uint32), tools=("racecheck",)
    )

    assert {finding.check for finding in report.errors} == {"endless-wait"}


def test_below_the_shared_array() -> None:
    """memcheck alone sees accesses to the system's part of shared memory."""
    text = RACY.replace("s[t] =", "s[t - 1] =")
    report = wl.Device("H200").compile(text)["racy"].sanitize[1, 64](
        np.zeros(64, np.int32), tools=("memcheck",)
    )

    assert [finding.check for finding in report.errors] == ["out-of-bounds"]
    assert report.errors[0].line == 4
    assert "before s[]" in report.errors[0].text


def test_blocks_in_which_lanes_share_words_are_looked_at() -> None:
    """Of a large grid the lane pass sees those blocks that need it, wherever they are."""
    text = """extern "C" __global__ void one(int* out) {
        __shared__ int s[32];
        int t = threadIdx.x;
        s[t] = t;
        if (blockIdx.x == 777) out[t] = s[31 - t];
    }"""
    kernel = wl.Device("H200").compile(text)["one"]
    report = kernel.sanitize[2000, 32](np.zeros(32, np.int32), tools=("racecheck",))

    assert {finding.check for finding in report.errors} == {"shared-read-write-race"}
    assert report.errors[0].accesses[0].block == (777, 0, 0)
