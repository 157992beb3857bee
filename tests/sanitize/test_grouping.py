"""One mistake is one finding: both accesses, three lines each, and what has one cause together."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.cli.main import main
from warplens.sanitize.html import document

# A race on s[] of one store with two loads, another one on u[], a store without a barrier.
SEVERAL = """extern "C" __global__ void several(int* out) {
    __shared__ int s[64], u[64];
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < 3; ++i) {
        s[t] = i + t;

        // far away from the loads

        if (t < 32) sum += s[63 - t];
        sum *= 3;
        if (sum > 7) sum -= 2;
        if (t >= 32) sum += s[t - 32];
    }
    __syncthreads();

    u[t] = sum;

    // far away, too

    out[t] = u[63 - t];
}
"""
LOCKED = """__device__ void count(int* lock, int* n) {
    while (atomicCAS(lock, 0, 1)) {}
    __threadfence();
    *n += 1;
    __threadfence();
    atomicExch(lock, 0);
}
extern "C" __global__ void locked(int* lock, int* n, int* last) {
    if (threadIdx.x) return;
    count(lock + 1, n);

    *last = blockIdx.x;

    count(lock + 1, n);
}
"""


@pytest.fixture(scope="module")
def report() -> Any:
    """What racecheck says of the kernel with three races."""
    kernel = wl.Device("H200").compile(SEVERAL)["several"]
    return kernel.sanitize[1, 64](np.zeros(64, np.int32), tools=("racecheck",))


def test_one_race_is_one_finding(report: Any) -> None:
    """Whichever access comes first, in whichever of a loop's rounds: both are named, once."""
    lines = sorted(sorted(finding.lines) for finding in report.errors)

    assert lines == [[5, 9], [5, 12], [16, 20]]
    for finding in report.errors:
        kinds = {(access.line, access.what) for access in finding.accesses}
        store, load = sorted(finding.lines)
        assert kinds == {(store, "write"), (load, "read")}
        assert all(access.thread is not None for access in finding.accesses)
        assert finding.count > 1


def test_what_has_one_cause_stands_together(report: Any) -> None:
    """Two findings on one array have a heading; the one on the other array has none."""
    heading = "2 findings that may have one cause: shared-read-write-race, s"

    for text in (str(report), unescape(document((report,)))):
        assert text.count("that may have one cause") == 1
        assert heading in text
        names = re.findall(r"byte \d+ of (\w)\[\]", text)
        assert sorted(names) == ["s", "s", "u"]
        assert names[1] == "s"


def test_three_lines_for_each_access(report: Any) -> None:
    """Accesses far from each other have three lines each, the middle one marked."""
    rows = SEVERAL.splitlines()
    found = next(finding for finding in report.errors if 16 in finding.lines)
    wanted = [f"{'>' if n in (16, 20) else ' '}{n:5} | {rows[n - 1]}".rstrip()
              for n in (15, 16, 17, 19, 20, 21)]  # fmt: skip

    assert [row.rstrip() for row in found.source] == wanted
    for text in (str(report), unescape(document((report,)))):
        assert all(row in text for row in wanted)


def test_summaries_count_what_is_shown(report: Any) -> None:
    """Text and HTML end with the same line."""
    line = "RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)"

    assert str(report).rstrip().endswith(line)
    assert line in document((report,))


def test_locks_are_named() -> None:
    """Of accesses that only a lock's order separates both places and their locks are told."""
    kernel = wl.Device("H200").compile(LOCKED)["locked"]
    report = kernel.sanitize[3, 32](np.zeros(4, np.int32), np.zeros(1, np.int32),
                                    np.zeros(1, np.int32))  # fmt: skip

    assert [finding.check for finding in report.errors] == ["ordered-by-lock-only"]
    found = report.errors[0]
    assert (found.severity, found.lines) == ("warning", (12, 12))
    assert {access.block for access in found.accesses} == {(0, 0, 0), (1, 0, 0)}
    assert found.text.count("no lock is held") == 2

    other = LOCKED.replace("*last = blockIdx.x;", "count(lock + 2 + blockIdx.x % 2, last);")
    kernel = wl.Device("H200").compile(other)["locked"]
    report = kernel.sanitize[3, 32](np.zeros(4, np.int32), np.zeros(1, np.int32),
                                    np.zeros(1, np.int32))  # fmt: skip

    assert [finding.check for finding in report.errors] == ["ordered-by-lock-only"]
    assert "write first: the lock at byte 8 of parameter 0" in str(report)
    assert "read then: the lock at byte 12 of parameter 0" in str(report)


def test_too_many_words_for_lock_sets() -> None:
    """A kernel that changes very many words by atomics has no lock sets, and the report says so."""
    many = LOCKED.replace("    if (threadIdx.x) return;", (
        "    for (int i = threadIdx.x; i < 8192; i += 32) atomicAdd(n + 1 + i, 1);\n"
        "    if (threadIdx.x) return;"
    ))  # fmt: skip
    kernel = wl.Device("H200").compile(many)["locked"]
    report = kernel.sanitize[3, 32](np.zeros(4, np.int32), np.zeros(8193, np.int32),
                                    np.zeros(1, np.int32))  # fmt: skip

    assert not report.errors
    assert any("more words than are looked at for locks" in note for note in report.notes)


def test_exit_status_and_suppressions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--error-exitcode 0` never fails a run; a file of known findings makes it clean."""
    source, known = tmp_path / "several.cu", tmp_path / "known.toml"
    source.write_text(SEVERAL)
    launch = ["sanitize", str(source), "--grid", "1", "--block", "64", "--arg", "i32[64]=0",
              "--tool", "racecheck"]  # fmt: skip

    assert main(launch) == 1
    assert main([*launch, "--error-exitcode", "0"]) == 0
    assert main([*launch, "--error-exitcode", "9"]) == 9
    known.write_text('[[suppress]]\ncheck = "shared-*"\ntarget = "s"\nreason = "known"\n')
    assert main([*launch, "--suppressions", str(known)]) == 1
    known.write_text(known.read_text().replace('"s"', '"?"'))
    capsys.readouterr()
    assert main([*launch, "--suppressions", str(known), "--error-exitcode", "9"]) == 0
    assert "3 findings suppressed" in capsys.readouterr().out
