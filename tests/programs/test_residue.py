"""What timelines take to be in L2 when a kernel begins, against what an H200 found there."""

from __future__ import annotations

import json
import statistics
import subprocess
from pathlib import Path

import pytest

from tests.in_turn import one_in
from tests.programs.conftest import WARPLENS
from warplens.gpus.find import find_gpu
from warplens.programs.residue import Residue
from warplens.timing.ranges import Range
from warplens.timing.warmth import Moved, rounded, translated

MIB = 1 << 20
RECORDED = Path(__file__).parents[2] / "validation/data/warmth_sm90.json"
TAKEN = {
    (kernel, state, size, after): statistics.median(times[1:] or times)
    for kernel, state, size, after, *times in json.loads(RECORDED.read_text())["taken"]
}
SIZES = sorted({int(key[2]) for key in TAKEN if key[:2] == ("waits", "read")})


def _found(state: str, size: int, after: float = 0.0) -> float:
    """The share of an array that a kernel found in L2: by its time, between those of a kernel
    that finds nothing and, for each byte, of one that finds a small array."""
    cold = TAKEN["waits", "cold", size, 0.0]
    warm = (TAKEN["waits", "read", 24.0, 0.0] - 900) / 24 * size + 900
    return min(1.0, max(0.0, (cold - TAKEN["waits", state, size, after]) / (cold - warm)))


def _share(residue: Residue, at: int = 0) -> float:
    return next((one.share for one in residue.held() if one.start <= at < one.end), 0.0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("state", ["read", "written", "set"])
def test_what_was_used_last_stays(state: str, size: int) -> None:
    """Behind other work as large as L2, a kernel's or fill's array is there up to its size."""
    residue = Residue(find_gpu("H200"))
    residue.used([Range(1 << 40, (1 << 40) + 512 * MIB)])
    residue.used([Range(0, size * MIB)])

    # Between 40 and 56 MiB what stays depends on who used it: half of it lies between.
    limit = 0.4 if 32 < size < 64 else 0.15
    assert _share(residue) == pytest.approx(_found(state, size), abs=limit)


@pytest.mark.parametrize("after", [4, 8, 16, 24, 40, 48, 64, 128])
def test_later_work_takes_its_place(after: int) -> None:
    """8 MiB stay until about half of L2 was used otherwise."""
    residue = Residue(find_gpu("H200"))
    residue.used([Range(0, 8 * MIB)])
    residue.used([Range(1 << 40, (1 << 40) + after * MIB)])

    assert _share(residue) == pytest.approx(_found("read", 8, float(after)), abs=0.2)


@pytest.mark.parametrize("state", ["pinned", "sent"])
@pytest.mark.parametrize("size", [8, 32])
def test_copies_of_the_host_take_no_place(state: str, size: int) -> None:
    """Where L2 is in use, what the host copies in is not found there, nor what it copies out."""
    residue = Residue(find_gpu("H200"))
    residue.used([Range(1 << 40, (1 << 40) + 512 * MIB)])
    if state == "pinned":
        residue.copied_in(Range(0, size * MIB), is_pinned=True)

    assert _share(residue) == pytest.approx(_found(state, size), abs=0.1)


@pytest.mark.parametrize(("way", "size"), [("freshpageable", 8), ("freshpageable", 32),
                                           ("freshpinned", 8), ("freshpinned", 32)])  # fmt: skip
def test_the_first_copy_stays(way: str, size: int) -> None:
    """In a fresh L2 a pageable copy stays whole, a pinned one up to a small part."""
    residue = Residue(find_gpu("H200"))
    residue.copied_in(Range(0, size * MIB), is_pinned=way == "freshpinned")

    assert _share(residue) == pytest.approx(_found(way, size), abs=0.2)


def test_parts_of_arrays() -> None:
    """Only what was used again is the latest; ranges go to the addresses of a trace and back."""
    residue = Residue(find_gpu("H200"))
    residue.used([Range(0, 30 * MIB)], by="first")
    residue.used([Range(10 * MIB, 20 * MIB)], by="second")
    held = residue.held(by="second")

    assert [(one.start // MIB, one.end // MIB, one.near) for one in held] == [
        (10, 20, True), (0, 10, False), (20, 30, False),
    ]  # fmt: skip
    moved = (Moved(base=5 * MIB, size=10 * MIB, traced=1 << 40),)
    assert [one.nbytes // MIB for one in translated(held, moved)] == [5, 5]
    back = translated(translated(held, moved), moved, back=True)
    assert sorted((one.start // MIB, one.end // MIB) for one in back) == [(5, 10), (10, 15)]
    assert rounded([Range(0, 1, 0.01), Range(1, 2, 0.99)]) == (Range(1, 2, 1.0),)


@pytest.mark.parametrize("control", one_in(2, ["all", "none"], str))
def test_profiled_launches_begin_as_asked(many: Path, control: str) -> None:
    """With empty caches, as Nsight Compute's, or with what earlier work has left in L2."""
    command = [*WARPLENS, "profile", "--gpu", "H200", "--cache-control", control, "--json",
               "--metrics", "dram__bytes_read.sum", str(many), "graph"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    notes = " ".join(json.loads(done.stdout)["launches"][-1]["notes"])

    assert ("from earlier work" in notes) == (control == "none")


def test_other_targets_have_empty_caches(tmp_path: Path) -> None:
    """A script's launches do not know what came before: that is said, not ignored."""
    (tmp_path / "script.py").write_text("")
    done = subprocess.run([*WARPLENS, "profile", "--cache-control", "none", "script.py"],
                          cwd=tmp_path, capture_output=True, text=True, check=False)  # fmt: skip

    assert done.returncode == 2
    assert "--cache-control" in done.stderr
