"""T1 files: read as Kernel Tuner reads them, predicted, and refused where they are broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warplens.cli.main import main
from warplens.errors import InputError
from warplens.tune.problem import Problem
from warplens.tune.space import Space
from warplens.tune.t1 import read_t1
from warplens.tune.t1_text import t1_text

SOURCE = """
extern "C" __global__ void scaled(float* out, const float* in, int n) {
    for (int k = 0; k < per; k++) {
        int i = (blockIdx.x * per + k) * block_size_x + threadIdx.x;
        if (i < n) out[i] = 2 * in[i];
    }
}
"""


def problem(**kernel: Any) -> dict[str, Any]:
    """A T1 document."""
    vector = {"Type": "float", "MemoryType": "Vector", "Size": "ProblemSize[0] + max(per) - 4"}
    return {
        "General": {"FormatVersion": 1},
        "ConfigurationSpace": {
            "TuningParameters": [
                {"Name": "block_size_x", "Type": "int", "Values": "[32*2**i for i in range(3)]"},
                {"Name": "per", "Type": "int", "Values": "[1] + list(range(2, 5, 2))"},
            ],
            "Conditions": [{"Parameters": ["per"], "Expression": "block_size_x * per <= 256"}],
        },
        "KernelSpecification": {
            "Language": "CUDA", "KernelName": "scaled", "KernelFile": "scaled.cu",
            "CompilerOptions": ["-std=c++17"], "GlobalSizeType": "CUDA", "ProblemSize": [5000],
            "GlobalSize": {"X": "5000 // (block_size_x * per) + 1"},
            "LocalSize": {"X": "block_size_x"},
            "GridDivX": ["block_size_x", "per"], "Device": {"Name": "H200"}, "SharedMemory": 0,
            "Arguments": [
                {"Name": "out", "AccessType": "WriteOnly", "FillType": "Constant", "FillValue": 0.0,
                 **vector},
                {"Name": "in", "AccessType": "ReadOnly", "FillType": "Random", "FillValue": 1.0,
                 **vector},
                {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "AccessType": "ReadOnly",
                 "FillValue": 5000},
            ],
            **kernel,
        },
    }  # fmt: skip


def written(folder: Path, document: dict[str, Any]) -> Path:
    """The file with its kernel beside it."""
    (folder / "scaled.cu").write_text(SOURCE)
    path = folder / "scaled.json"
    path.write_text(json.dumps(document, indent=1))
    return path


def test_what_is_read(tmp_path: Path) -> None:
    """Values, conditions, grid, arguments; Kernel Tuner takes the same file for valid."""
    path = written(tmp_path, problem())
    told = read_t1(path)
    every = [(c["block_size_x"], c["per"]) for c in told.space]

    assert every == [(32, 1), (32, 2), (32, 4), (64, 1), (64, 2), (64, 4), (128, 1), (128, 2)]
    jobs = [told.job(c) for c in told.space]
    assert [job.grid[0] for job in jobs] == [-(-5000 // (b * p)) for b, p in every]
    assert [job.block for job in jobs] == [(b, 1, 1) for b, _ in every]
    assert jobs[2].options == ("-std=c++17", "-Dblock_size_x=32", "-Dper=4")
    out, values, n = told.arguments({})
    assert out.shape == values.shape == (5000,) and not out.any() and values.std() > 0.9
    assert isinstance(n, np.int32) and n == 5000
    files = pytest.importorskip("kernel_tuner.file_utils")
    assert files.get_input_file(path)["KernelSpecification"]["KernelName"] == "scaled"


@pytest.mark.parametrize(("kind", "grid"), [("CUDA", 157), ("OpenCL", 5)])
def test_sizes_without_divisors(tmp_path: Path, kind: str, grid: int) -> None:
    """`GlobalSize` counts blocks, or threads as in OpenCL."""
    document = problem(GlobalSizeType=kind)
    del document["KernelSpecification"]["GridDivX"]
    told = read_t1(written(tmp_path, document))

    assert told.job({"block_size_x": 32, "per": 1}).grid == (grid, 1, 1)


def test_a_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`warplens tune FILE.json` ranks its configurations."""
    path = written(tmp_path, problem())

    assert main(["tune", str(path), "--processes", "1", "--confirm", "1"]) == 0
    assert "8 configurations with a value" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [('"Language": "CUDA"', '"Language": "OpenCL"', "OpenCL, not CUDA"),
     ("scaled.cu", "other.cu", "there is no other.cu"),
     ('"KernelName"', '"KernelNom"', "KernelName"), ("range(3)", "open(3)", "not allowed"),
     ('"Random"', '"BinaryRaw"', "BinaryRaw"), ("int32", "half", "half"),
     ('"General": {', '"General": {{', r"scaled\.json:2: not JSON")],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    """What is not understood is named."""
    path = written(tmp_path, problem())
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=words):
        read_t1(path)


def test_what_is_written_reads_the_same(tmp_path: Path) -> None:
    """Configurations, launches and arguments are those of the problem that was written."""
    source = tmp_path / "scaled.cu"
    source.write_text(SOURCE)
    n = 5000
    known = Problem(
        source=source, kernel="scaled", options=("-std=c++17",), constants={"N": n},
        space=Space({"block_size_x": [32, 64, 128], "per": [1, 2, 4]},
                    ("block_size_x * per <= 256",)),
        grid="(N // (block_size_x * per) + 1, 1)", block="block_size_x",
        args=[np.zeros(n, np.float32), np.arange(n, dtype=np.float32), n],
    )  # fmt: skip
    path = tmp_path / "scaled.json"
    path.write_text(t1_text(known, "H200"))
    told = read_t1(path)

    assert list(told.space) == list(known.space)
    for one in known.space:
        mine, theirs = known.job(one), told.job(one)
        assert (mine.kernel, mine.options) == (theirs.kernel, theirs.options)
        for a, b in ((mine.grid, theirs.grid), (mine.block, theirs.block)):
            assert (*a, 1, 1)[:3] == b
    for a, b in zip(known.arguments({}), told.arguments({}), strict=True):
        assert np.shape(a) == np.shape(b)
    assert (told.arguments({})[0] == 0).all() and told.arguments({})[2] == n


@pytest.mark.parametrize(
    ("change", "words"),
    [({"kernel": "scaled<{per}>"}, "template"), ({"source": SOURCE}, "no file"),
     ({"args": lambda one: [one["per"]]}, "depend"), ({"grid": lambda one: 1}, "function")],
)  # fmt: skip
def test_what_has_no_place(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    """It is said what T1 cannot hold."""
    source = tmp_path / "scaled.cu"
    source.write_text(SOURCE)
    known: dict[str, Any] = {
        "source": source, "kernel": "scaled", "space": Space({"per": [1]}), "grid": 1, "block": 32,
        "args": [],
    }  # fmt: skip
    with pytest.raises(InputError, match=words):
        t1_text(Problem(**known | change))
