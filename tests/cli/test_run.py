"""`warplens run`: a program's own output and exit status, on a simulated GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from warplens.cli.main import main

PROGRAM = """
import ctypes
import sys

library = ctypes.CDLL("libcuda.so.1")
name = ctypes.create_string_buffer(64)
assert library.cuInit(0) == 0
assert library.cuDeviceGetName(name, 64, 0) == 0
print(name.value.decode(), sys.argv[1:])
sys.exit(3)
"""


def test_program_finds_the_gpu(tmp_path: Path) -> None:
    """The program finds the chosen GPU; its arguments, output and status are its own."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "warplens.cli.main", "run", "--gpu", "RTX 4060", script, "-k", "x"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stdout == "NVIDIA RTX 4060 (warplens) ['-k', 'x']\n"
    assert (done.returncode, done.stderr) == (3, "")


def test_a_program_that_names_no_gpu_has_the_command_s(tmp_path: Path) -> None:
    """`warplens.cuda()` in the program is the GPU and the clock that the command names."""
    script = tmp_path / "program.py"
    script.write_text("import warplens\nwith warplens.cuda() as gpu:\n    print(gpu.name)\n"
                      "print(warplens.cuda.choose().gpus[0].clock_mhz)\n")  # fmt: skip
    words = ["run", "--gpu", "RTX 4060", "--clock", "1234", str(script)]
    done = subprocess.run(
        [sys.executable, "-m", "warplens.cli.main", *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stdout.splitlines() == ["NVIDIA RTX 4060 (warplens)", "1234.0"], done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.py"], "missing.py: no such file"),
        ([__file__ + "x"], "no such file"),
    ],
)
def test_refusals(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad calls are refused before anything runs."""
    assert main(["run", *words]) == 2
    assert message in capsys.readouterr().err
