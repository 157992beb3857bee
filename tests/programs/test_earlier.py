"""Programs that were linked with CUDA 12's runtime."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.programs.conftest import HERE, WARPLENS
from warplens.programs.library import libraries


def test_calls_as_cuda_12_declares_them(tmp_path: Path) -> None:
    """Functions whose parameters CUDA 13 has changed take CUDA 12's in libcudart.so.12."""
    program = tmp_path / "earlier"
    subprocess.run(["cc", str(HERE / "earlier.c"), "-o", str(program), f"-L{libraries()}",
                    "-l:libcudart.so.12", "-l:libcuda.so.1"], check=True)  # fmt: skip

    done = subprocess.run([*WARPLENS, "run", str(program)], check=False, capture_output=True,
                          text=True)  # fmt: skip

    assert done.stdout == (
        "2 edges, then 1; 0 before the first\nstatus 1, graph 1, 0 nodes\n"
        "version 12090, sum of codes 0\n"
    ), done.stderr


def test_functions_that_are_not_there(tmp_path: Path) -> None:
    """A program starts though a library lacks a function; that says so and gives the code."""
    program, there = tmp_path / "lacking", tmp_path / "libcusparse.so"
    (tmp_path / "there.c").write_text("int cusparseCreate() { return 1; }\n"
                                      "int cusparseDcsrilu02() { return 1; }\n")  # fmt: skip
    subprocess.run(["cc", "-shared", str(tmp_path / "there.c"), "-Wl,-soname,libcusparse.so.12",
                    "-o", str(there)], check=True)  # fmt: skip
    subprocess.run(["cc", str(HERE / "lacking.c"), "-o", str(program), str(there), "-Wl,-z,now"],
                   check=True)  # fmt: skip

    done = subprocess.run([*WARPLENS, "run", str(program)], check=False, capture_output=True,
                          text=True)  # fmt: skip

    assert (done.stdout, done.returncode) == ("0 10\n", 0), done.stderr  # NOT_SUPPORTED
    assert done.stderr.count("cusparseDcsrilu02 is not supported") == 1
