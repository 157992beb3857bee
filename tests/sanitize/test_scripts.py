"""What the host adds: unwritten arrays, frees and leaks, suppressions, turns of warps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.cli.main import main
from warplens.errors import InputError
from warplens.sanitize.suppressions import read_suppressions, without_suppressed
from warplens.session.host_memory import HostMemory
from warplens.session.options import LaunchOptions

SOURCE = """
extern "C" __global__ void add(const int* a, int* out) { atomicAdd(out, a[threadIdx.x]); }
extern "C" __global__ void set(int* a) { a[threadIdx.x] = 1; }
extern "C" __global__ void swapped(int* a) {  // right only if warps read before one of them writes
  __shared__ int s;
  if (threadIdx.x == 0) s = 7;
  __syncthreads();
  int v = s;
  a[threadIdx.x] = v;
  if (threadIdx.x == 32) { for (int i = 0; i < 20; ++i) a[64] += a[65 + i] + 1; s = a[64]; }
  __syncthreads();
  a[96] = s;
}
"""


@pytest.fixture(scope="module")
def module() -> Any:
    """The kernels above."""
    return wl.Device("H200").compile(SOURCE)


def checks(report: Any) -> list[str]:
    """The checks that count."""
    return [finding.check for finding in report.errors]


def test_array_is_written_in_part(module: Any) -> None:
    """Of an unwritten array only what the script has assigned may be read."""
    array, out = wl.uninitialized(32, np.int32), np.zeros(1, np.int32)
    array[:20] = 1

    assert checks(module["add"].sanitize[1, 20](array, out)) == []
    assert checks(module["add"].sanitize[1, 32](array, out)) == ["uninitialised-global-read"]


def test_kernels_write_arrays(module: Any) -> None:
    """What a kernel has written, followed or not, may be read by the next."""
    out = np.zeros(1, np.int32)
    for launch in (module["set"].sanitize[1, 32], module["set"][1, 32]):
        array = wl.uninitialized(32, np.int32)
        launch(array)

        assert checks(module["add"].sanitize[1, 32](array, out)) == []


def test_views_and_operations_count_as_writing() -> None:
    """Slices, other types, `out=` and NumPy's copying functions write; a copy is an own array."""
    array = wl.uninitialized((4, 4), np.float32)
    array[1, :2] = 1
    array.view(np.uint8)[2, :4] = 0
    np.add(1, 2, out=array[3, 2:])
    np.copyto(array[0], 5)
    written = np.asarray(array.flat_flags()).reshape(4, 4, 4).all(axis=2)

    assert written.astype(int).tolist() == [[1] * 4, [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1]]
    assert array.copy().flat_flags() is None


def test_turns_show_what_a_race_does(module: Any) -> None:
    """Warp after warp, a word is overwritten before others read it; in turns it is not."""
    options = LaunchOptions(interleave=True, timing=False)
    turned = wl.Device("H200", options=options).compile(SOURCE)["swapped"]
    results = []
    for kernel in (module["swapped"], turned):
        array = np.zeros(128, np.int32)
        launch = kernel[1, 64](array)
        results.append(array[:64].tolist())

    assert results[0][:32] != [7] * 32
    assert results[1] == [7] * 64
    assert any("has not looked for races" in note for note in launch.notes())
    assert checks(module["swapped"].sanitize[1, 64](np.zeros(128, np.int32)))


def test_frees_and_leaks_of_the_host() -> None:
    """A second free is told from a free of nothing; what is not freed is a leak."""
    host = HostMemory()
    host.allocated(4096, 64)
    host.allocated(8192, 32)
    host.freed(4096)
    host.bad_free(4096)
    host.bad_free(12345)

    assert [finding.check for finding in host.findings] == ["double-free", "invalid-free"]
    assert [(one.check, one.size) for one in host.leaks()] == [("device-memory-leak", 32)]


def test_suppressions(module: Any, tmp_path: Path) -> None:
    """A rule leaves out what it names and says so; a rule for everything is refused."""
    report = module["add"].sanitize[1, 32](wl.uninitialized(32, np.int32), np.zeros(1, np.int32))
    file = tmp_path / "known.toml"
    file.write_text('[[suppress]]\ncheck = "uninitialised-*"\nkernel = "add*"\nline = 2\n')

    kept = without_suppressed(report, read_suppressions(file))
    assert not kept.errors
    assert kept.notes[-1] == "1 finding suppressed (--suppressions)"

    file.write_text('[[suppress]]\ncheck = "uninitialised-*"\nline = 3\n')
    assert without_suppressed(report, read_suppressions(file)).errors

    file.write_text('[[suppress]]\nreason = "none"\n')
    with pytest.raises(InputError, match="everything"):
        read_suppressions(file)


def test_a_failing_script_keeps_its_status(tmp_path: Path) -> None:
    """--error-exitcode is for programs that succeeded."""
    script = tmp_path / "script.py"
    text = (
        "import numpy as np, warplens as wl, sys\n"
        f"m = wl.Device('H200').compile('''{SOURCE}''')\n"
        "m['add'][1, 32](wl.uninitialized(32, np.int32), np.zeros(1, np.int32))\n"
    )
    for end, status in (("", 77), ("sys.exit(3)", 2)):
        script.write_text(text + end)

        assert main(["sanitize", "--error-exitcode", "77", str(script)]) == status
