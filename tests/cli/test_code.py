"""`warplens sass` and `warplens ptx`, arguments of structures and variables, endless kernels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.in_turn import one_in
from warplens.cli.main import main

SOURCE = """
struct Pair { float x; int n; };
__constant__ float scale[4];
__device__ int offset;
__global__ void f(float* a, const float* b, Pair p) {
    int i = threadIdx.x;
    a[i] = b[i] * p.x * scale[1] + p.n + offset;
}
__global__ void endless(int* o, int n) {
    for (int k = 0; k != n; k += 2) {
        o[threadIdx.x] = o[threadIdx.x] * 3 + k;
    }
}
__global__ void bytes(unsigned char* o) { o[threadIdx.x] = 1; }
"""
LOOP_LINES = (10, 11)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test runs in a folder with the source."""
    (tmp_path / "k.cu").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sass(capsys: pytest.CaptureFixture[str]) -> None:
    """Every instruction has its control code; no more registers are alive than the kernel has."""
    assert main(["sass", "k.cu", "-k", "f", "--json"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)
    rows = kernel["instructions"]

    assert any(row["sass"].startswith("EXIT") for row in rows)
    assert [row["address"] for row in rows] == list(range(0, 16 * len(rows), 16))
    assert 0 < max(row["live"] for row in rows) <= kernel["registers"]
    for number, row in enumerate(rows):  # a scoreboard that is waited for was set before
        earlier = rows[:number]
        assert set(row["wait"]) <= {
            r[kind] for r in earlier for kind in ("write_barrier", "read_barrier")
        }
    assert main(["sass", "k.cu", "--gpu", "A100"]) == 0
    text = capsys.readouterr().out
    assert text.count("(sm_80,") == 3 and "// k.cu:7" in text


def test_ptx(capsys: pytest.CaptureFixture[str]) -> None:
    """One kernel's entry, or the whole module."""
    assert main(["ptx", "k.cu", "-k", "f"]) == 0
    one = capsys.readouterr().out
    assert main(["ptx", "k.cu"]) == 0
    whole = capsys.readouterr().out

    assert one.count(".entry") == 1 and one.rstrip().endswith("}")
    assert whole.count(".entry") == 3 and ".version" in whole
    assert main(["ptx", "k.cubin"]) == 2


def test_structures_variables_and_shared_arrays(folder: Path) -> None:
    """A structure, a constant, a device variable and a pointer into another argument's array."""
    np.save("b.npy", np.arange(64, dtype=np.float32))
    call = ("profile k.cu -k f --grid 1 --block 32 --arg f32[64]=b.npy --arg @0+32 --timing off "
            "--constant scale=f32[4]=3 --constant offset=i32=5 "
            "--save-arg 0=o.npy").split()  # fmt: skip

    assert main([*call, "--arg", "struct{f32 x; i32 n}={0.5, 7}"]) == 0
    expected = np.arange(64, dtype=np.float32)
    expected[:32] = expected[32:] * 1.5 + 12
    assert np.array_equal(np.load(folder / "o.npy"), expected)


@pytest.mark.parametrize(("words", "told"), one_in(
    2, [
        (["--arg", "f32[64]=0"], "--arg 'struct{u32 word0; u32 word1}={0, 0}'"),
        (["--arg", "f32[64]=0", "--arg", "@5", "--arg", "i32=1"], "argument 5 is no array"),
        (["--arg", "f32[64]=0", "--arg", "@0+65", "--arg", "i32=1"], "64 elements"),
        (["--arg", "f32[64]=0", "--arg", "@0", "--arg", "struct{f32 x}={1, 2}"], "1 value for"),
        (["--arg", "f32[64]=0", "--arg", "@0", "--arg", "struct{q x}={1}"], "is not a member"),
    ], lambda case: "-".join(map(str, case)), several=True,
))
def test_wrong_arguments(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Missing and malformed arguments say what fits."""
    assert main(["profile", "k.cu", "-k", "f", "--grid", "1", "--block", "32", *words]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("text", ["scale=f32=1", "nothing=i32=1"])
def test_wrong_variables(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A variable that is not there, or of another size, is refused by name."""
    call = "profile k.cu -k f --grid 1 --block 32 --arg f32[64]=0 --arg @0".split()
    words = [*call, "--arg", "struct{f32 x; i32 n}={1, 2}", "--constant", text]

    assert main(words) == 2
    assert text.partition("=")[0] in capsys.readouterr().err


@pytest.mark.parametrize("limit", ["--max-seconds", "--max-idle-seconds", "--max-steps"])
def test_endless_loops_end(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whichever limit ends an endless loop, its line is named."""
    amount = "100000" if limit == "--max-steps" else "0.5"
    call = ("profile k.cu -k endless --grid 1 --block 32 --arg i32[32]=0 --arg i32=-77 "
            "--timing off").split()  # fmt: skip

    assert main([*call, limit, amount]) == 2
    told = capsys.readouterr().err
    assert any(f"k.cu:{line})" in told for line in LOOP_LINES), told


def test_floats_are_no_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """An array of floats does not fit a pointer to unsigned char; bytes and integers do."""
    call = "profile k.cu -k bytes --grid 1 --block 32 --timing off --arg".split()

    assert main([*call, "f32[32]=0"]) == 2
    assert "points to unsigned char" in capsys.readouterr().err
    assert main([*call, "u8[32]=0"]) == 0 and main([*call, "i32[32]=0"]) == 0


def test_options_behind_the_script(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What stands behind a script is the script's; an option of ours there is pointed out."""
    (folder / "s.py").write_text("import sys; print(sys.argv[1:])")
    main(["profile", "s.py", "-o", "name"])
    out, err = capsys.readouterr()

    assert "['-o', 'name']" in out and "-o stands after s.py" in err


def test_names_beyond_ascii(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files and folders with accents and ideographs keep their names, texts and URIs."""
    place = folder / "größe" / "核é.cu"
    place.parent.mkdir()
    place.write_text(SOURCE, encoding="utf-8")
    call = [str(place), "-k", "bytes", "--grid", "1", "--block", "32", "--arg"]

    assert main(["profile", *call, "u8[32]=0", "--timing", "off"]) == 0
    assert "核é.cu:14 __global__ void bytes" in capsys.readouterr().out
    assert main(["profile", *call, "u8[16]=0", "--timing", "off"]) == 2
    assert f"({place}:14)" in capsys.readouterr().err
    assert main(["sanitize", *call, "u8[16]=0", "--save", "f.sarif"]) == 1
    (run,) = json.loads((folder / "f.sarif").read_text())["runs"]
    (finding,) = run["results"]
    location = finding["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert location.endswith("gr%C3%B6%C3%9Fe/%E6%A0%B8%C3%A9.cu")
