"""The C library: what it exports, and that it is never put beside another driver."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from warplens.libcuda.build import SONAME


def run(text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A Python program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_library_serves_a_process() -> None:
    """Who opens libcuda.so.1 by its name afterwards gets the simulated one, whole."""
    done = run(
        """
        import ctypes
        import warplens.cuda
        from warplens.libcuda.header import driver_api

        library = ctypes.CDLL("libcuda.so.1")
        names = driver_api().names
        print(all(hasattr(library, name) for name in names), len(names) > 600)
        count, version = ctypes.c_int(), ctypes.c_int()
        print(library.cuInit(0), library.cuDeviceGetCount(ctypes.byref(count)), count.value)
        print([library.cuMulticastCreate(None, None) for _ in range(2)])

        # A caller that has an exception pending keeps it, as C extensions call while they fail.
        held = ctypes.PyDLL("libcuda.so.1")
        try:
            raise ValueError("pending")
        except ValueError:
            print(held.cuDriverGetVersion(ctypes.byref(version)), version.value)
        """
    )

    assert done.stdout.split("\n") == ["True True", "0 0 1", "[801, 801]", "0 13000", ""]
    assert done.stderr == "warplens: cuMulticastCreate is not supported by the simulated driver\n"


def test_another_driver_is_never_replaced(tmp_path: Path) -> None:
    """With a libcuda loaded already, the simulated one is refused."""
    source, library = tmp_path / "other.c", tmp_path / SONAME
    source.write_text("int cuInit(unsigned flags) { return 100; }\n")
    compiler = shutil.which("cc")
    assert compiler is not None
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-Wl,-soname,{SONAME}", "-o", library, source], check=True
    )
    done = run(
        """
        import ctypes, sys
        ctypes.CDLL(sys.argv[1])
        import warplens
        try:
            import warplens.cuda
        except warplens.ToolchainError as error:
            print(error.message)
        """,
        str(library),
    )

    assert done.stdout == (
        "another libcuda.so.1 is loaded in this process already; a driver is never replaced\n"
    )


@pytest.mark.parametrize("statement", ["import warplens", "import warplens.driver.machine"])
def test_nothing_is_in_place_unasked(statement: str) -> None:
    """Importing warplens alone puts no driver in place."""
    done = run(f"{statement}\nimport warplens.libcuda.place as p; print(p.is_in_place())")

    assert done.stdout == "False\n"
