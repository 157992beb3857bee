"""Programs that take long to compile, and other ways to build them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.programs.conftest import HERE, WARPLENS

pytestmark = pytest.mark.long
_LANE = "lane 5 of the other file\n"


def _built(program: Path, *words: str) -> Path:
    subprocess.run([*WARPLENS, "build", *words, "-o", str(program)], check=True, cwd=HERE)
    return program


def _ran(program: Path, *options: str) -> str:
    done = subprocess.run([*WARPLENS, "run", *options, str(program)], capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_thrust_and_cub(tmp_path: Path) -> None:
    """Thrust's sort and reduce and CUB's scan give what the host computes."""
    assert _ran(_built(tmp_path / "headers", "headers.cu", "-std=c++17")) == "1 1\n"


def test_separate_compilation(tmp_path: Path) -> None:
    """Two files with -rdc and a definition; a function prints and uses the heap."""
    program = _built(tmp_path / "parts", "parts_main.cu", "parts_other.cu", "-rdc=true",
                     "-DFIRST=7")  # fmt: skip

    assert _ran(program) == f"{_LANE}no error\n7 968\n"


def test_runtime_inside_and_ptx(many: Path, tmp_path: Path) -> None:
    """A program with NVIDIA's runtime inside, and PTX for an older GPU only."""
    program = _built(tmp_path / "inside", "parts_main.cu", "parts_other.cu", "-rdc=true",
                     "-DFIRST=1", "-cudart", "static")  # fmt: skip
    (tmp_path / "old.cu").write_text((HERE / "parts_main.cu").read_text().replace(
        "int from_another_file(int x);", "int from_another_file(int x) { return x; }"
    ).replace("extern __constant__", "__constant__").replace(
        "void set_step(int value);",
        "void set_step(int value) { cudaMemcpyToSymbol(step, &value, 4); }",
    ))  # fmt: skip
    old = _built(tmp_path / "old", str(tmp_path / "old.cu"), "-DFIRST=2", "-gencode",
                 "arch=compute_80,code=compute_80")  # fmt: skip

    assert _ran(program) == f"{_LANE}no error\n1 962\n"
    assert _ran(old, "--gpu", "H200") == "no error\n2 33\n"
