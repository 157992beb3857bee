"""Programs with main(), compiled by nvcc, print what they print on a GPU and end as they end there.

What is expected is arithmetic, or what CUDA's documentation says.
"""

from __future__ import annotations

import csv
import ctypes
import json
import os
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.in_turn import one_in
from tests.programs.conftest import HERE, WARPLENS, Results
from warplens.toolchain import packages
from warplens.toolchain.elf import ElfFile

RECORDED = HERE.parents[1] / "validation/data/own_programs_sm90.json"
# Words, what is printed, the exit status.
PROGRAMS = {
    "managed": ("500500\n", 0),  # 1000 ones and 0 + 1 + ... + 999
    "symbols": ("49 4 100 16 42 4321\n", 0),
    "pools": (f"0 3\n{4095 * 2048}\n", 0),
    "graph": (f"{15 * 1023 * 512}\n", 0),  # fifteen times 0 + 1 + ... + 1023
    "grid_sync": ("16 49995000\ncudaErrorCooperativeLaunchTooLarge\n", 0),
    "exceptions": ("freed\ncaught: no memory\n", 0),
    "threads": ("".join(f"{4096 * t + 8 * 4095 * 2048}\n" for t in range(4)), 0),
    "registered": (f"{5100 + 4999 * 2500}\n", 0),
    "rows": (f"{4999 * 2500 - sum(200 * y + 1 for y in range(50))}\n1\n", 0),
    "attributes": ("1024 0 1 1024 65536\n", 0),
    "streams 3": ("right\n", 0),
    "events": ("1\n", 0),
    "exit 7": ("", 7),
    "leak": ("", 0),
    "unchecked": ("", 0),
    "errors": (
        "cudaErrorMemoryAllocation\ncudaErrorMemoryAllocation\nno error\ncudaErrorInvalidDevice\n"
        "cudaErrorInvalidValue\ninvalid argument\ncudaErrorInvalidValue\n"
        "cudaErrorInvalidValue\ncudaErrorInvalidValue\ncudaErrorInvalidMemcpyDirection\n"
        "cudaSuccess\n",
        0,
    ),
    "fault": (
        "launch: no error\nwait: an illegal memory access was encountered\n"
        "then: cudaErrorIllegalAddress\n"
        "cudaErrorIllegalAddress: an illegal memory access was encountered\n",
        1,
    ),
    "asserts": ("device-side assert triggered\n", 3),
    "host_functions": ("kernel 7, block 0\nab\n", 0),
    "forks": (
        "4950\nchild ended with 4\n5050\n500500\nchild ended with 0\n5150\n"
        "cudaErrorInitializationError\n5250\n",
        0,
    ),
}


@pytest.mark.parametrize("words", PROGRAMS)
def test_what_is_expected_was_recorded(words: str) -> None:
    """An H200 printed the same and ended alike."""
    assert tuple(json.loads(RECORDED.read_text())["programs"][words]) == PROGRAMS[words]


@pytest.mark.parametrize("words", PROGRAMS)
def test_prints_and_ends_as_on_a_gpu(results: Results, words: str) -> None:
    """Standard output and exit status are those of a GPU."""
    output, errors, status = results[words]

    assert (output, status) == PROGRAMS[words], errors


@pytest.mark.parametrize("words", ["fault", "unchecked"])
def test_names_the_line_of_a_fault(results: Results, words: str) -> None:
    """Standard error says where a kernel's fault was, though nobody looked at it."""
    errors = results[words][1]

    assert "invalid __global__ write of size 4 bytes" in errors
    assert "many.cu:35" in errors


def test_assertions_are_told(results: Results) -> None:
    """A failed assert() names file, line, block, thread and condition on standard error."""
    errors = results["asserts"][1]

    assert "many.cu:36" in errors
    assert "thread (24,0,0) in block (0,0,0) Assertion `x[threadIdx.x] < 3` failed" in errors


def test_prints_of_kernels_come_when_the_program_waits(results: Results) -> None:
    """A kernel's printf comes out after what the host printed before it waited."""
    lines = results["talks"][0].splitlines()

    assert lines[0] == "launched"
    assert sorted(lines[1:3]) == ["kernel 1, block 0", "kernel 1, block 1"]
    assert lines[3:] == ["kernel 2, block 0", "kernel 3, block 0", "done"]


def test_copies_between_gpus(results: Results) -> None:
    """A kernel on a second GPU sees what was copied from the first."""
    output, errors, _ = results["peer"]

    assert output == f"device 1, type 2\n{4096 + 2 * 4095 * 2048}\n", errors


@pytest.mark.parametrize(
    ("words", "number"),
    [("abort", signal.SIGABRT), ("raise 15", signal.SIGTERM), ("raise 9", signal.SIGKILL),
     ("host_reads_device", signal.SIGSEGV)],
)  # fmt: skip
def test_signals_that_end_a_program_are_known(results: Results, words: str, number: int) -> None:
    """A program that a signal ends has that signal's status."""
    assert results[words][2] == -number


# --- the command line ----------------------------------------------------------------------------


def test_the_command_ends_as_the_program_does(many: Path) -> None:
    """A signal that ends the program ends `warplens run`; the GPUs are those asked for."""
    options = ("--gpu", "A100", "--gpu", "RTX 4060")
    ended = subprocess.run([*WARPLENS, "run", str(many), "abort"], check=False)
    shown = subprocess.run([*WARPLENS, "run", *options, str(many), "devices"], check=False,
                           capture_output=True, text=True)  # fmt: skip

    assert ended.returncode == -signal.SIGABRT
    assert shown.stdout.splitlines() == [
        "NVIDIA A100 80GB SXM (warplens): 8.0, 108 SMs, 49152 bytes of shared memory, warp 32, 1",
        "NVIDIA RTX 4060 (warplens): 8.9, 24 SMs, 49152 bytes of shared memory, warp 32, 1",
        "1 1",
    ]


@pytest.mark.parametrize(("options", "expected"), one_in(
    3, [((), ["scale", "count_up"]), (("--profile-from-start", "off"), ["count_up"]),
     (("--disable-profiler-start-stop",), ["scale", "count_up", "talk"])],
    lambda case: " ".join(case[0]) or "default", first=1, several=True,
))  # fmt: skip
def test_a_program_chooses_what_is_profiled(
    many: Path, options: tuple[str, ...], expected: list[str]
) -> None:
    """cudaProfilerStart and -Stop bound what is profiled, as Nsight Compute documents it."""
    command = [*WARPLENS, "profile", "--timing", "off", *options, str(many), "profiled"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)

    names = ("scale", "count_up", "talk")
    assert [name for name in names if f"  {name}(" in done.stdout] == expected


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind(many: Path, number: int) -> None:
    """A program that hangs ends with `warplens run`, however that is ended."""
    engine = subprocess.Popen(
        [*WARPLENS, "run", str(many), "hangs"], stdout=subprocess.PIPE, text=True
    )
    assert engine.stdout is not None
    assert engine.stdout.readline() == "ready\n"
    children = Path(f"/proc/{engine.pid}/task/{engine.pid}/children").read_text().split()
    assert len(children) == 1

    engine.send_signal(number)

    assert engine.wait(60) == -number
    deadline = time.monotonic() + 60
    while _lives(int(children[0])) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _lives(int(children[0]))
    assert f"warplens-{engine.pid}-" not in Path("/proc/net/unix").read_text()


def _lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_profile_of_a_program(many: Path, tmp_path: Path) -> None:
    """Launches, filtered as ncu does, and the tables of calls, kernels and copies."""
    name = tmp_path / "run"
    command = [*WARPLENS, "profile", "-k", "regex:scale", "-c", "2", "--metrics",
               "smsp__inst_executed.sum", "-o", str(name), "--perfetto", str(tmp_path / "t.json"),
               str(many), "streams", "1"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    show = [*WARPLENS, "show", f"{name}.wlens"]
    launches = subprocess.run([*show, "--csv"], check=True, capture_output=True, text=True).stdout
    tables = json.loads(
        subprocess.run([*show, "--stats", "--json"], check=True, capture_output=True).stdout
    )

    assert launches.count("scale(float *, int, float)") + launches.count(
        "scale(float*, int, float)") == 2  # fmt: skip
    kernels = tables["cuda_gpu_kern_sum"]
    assert [(row["Instances"], row["Name"].split("(")[0]) for row in kernels] == [(4, "scale")]
    copies = {row["Operation"]: (row["Count"], row["Total (MB)"])
              for row in tables["cuda_gpu_mem_size_sum"]}  # fmt: skip
    assert copies == {
        "[CUDA memcpy Host-to-Device]": (4, 1.049), "[CUDA memcpy Device-to-Host]": (4, 1.049),
    }  # fmt: skip
    calls = {row["Name"]: row["Num Calls"] for row in tables["cuda_api_sum"]}
    assert calls["cudaMemcpyAsync"] == 8
    assert calls["cudaLaunchKernel"] == calls["cudaStreamCreate"] == 4
    trace = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    work = [one for one in trace if one.get("cat") in ("kernel", "memcpy")]
    assert len(work) == 12
    # Copies of one direction never overlap. What else does depends on the host's own time.
    for way in ("Host-to-Device", "Device-to-Host"):
        spans = sorted((one["ts"], one["ts"] + one["dur"]) for one in work if way in one["name"])
        assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(spans))


def test_records_of_a_program(many: Path, tmp_path: Path) -> None:
    """Launches counted off as ncu does; one file for `show`, in CSV too, and `compare`."""
    name = tmp_path / "run"
    command = [*WARPLENS, "profile", "--launch-skip", "3", "--launch-count", "2", "--stats",
               "--csv", "--metrics", "smsp__inst_executed.sum", "-o", str(name), str(many), "graph"]
    stats = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    file = f"{name}.wlens"
    show = [*WARPLENS, "show", file, "--csv"]
    launches = subprocess.run(show, check=True, capture_output=True, text=True).stdout
    table = subprocess.run([*show, "--report", "cuda_gpu_kern_sum"], check=True,
                           capture_output=True, text=True).stdout  # fmt: skip
    compared = subprocess.run([*WARPLENS, "compare", file, file], check=True, capture_output=True,
                              text=True).stdout  # fmt: skip

    assert launches.count('"count_up(int') == 2
    kernels = list(csv.DictReader(table.splitlines()))
    assert [(row["Instances"], row["Name"].split("(")[0]) for row in kernels] == [
        ("15", "count_up"),
    ]  # fmt: skip
    assert table.strip() in stats
    assert compared.count("no difference") == 2


def test_sanitize_of_a_program(many: Path) -> None:
    """Memory errors of a program's kernels are findings."""
    done = subprocess.run([*WARPLENS, "sanitize", str(many), "unchecked"], check=False,
                          capture_output=True, text=True)  # fmt: skip

    assert done.returncode == 1
    assert "many.cu:35" in done.stdout


def test_mistakes_of_kernels_and_of_the_host(many: Path) -> None:
    """Lanes are looked at by way of the PTX that the program carries; frees and leaks as well."""
    lines = (HERE / "many.cu").read_text().splitlines()
    done = subprocess.run([*WARPLENS, "sanitize", "--leak-check", "full", "--json", str(many),
                           "mistakes"], capture_output=True, text=True, check=False)  # fmt: skip
    launches = json.loads(done.stdout)["launches"]
    found = [finding for launch in launches for finding in launch["findings"]]

    assert done.returncode == 1
    assert [finding["check"] for finding in found if finding["severity"] == "error"] == [
        "shared-read-write-race", "mask-names-absent-lane", "use-after-free", "double-free",
        "invalid-free", "device-memory-leak",
    ]  # fmt: skip
    race = sorted(lines[access["line"] - 1].strip() for access in found[0]["accesses"])
    assert [line[:6] for line in race] == ["if (is", "values"]
    assert "512 bytes" in found[-1]["text"]


@pytest.mark.parametrize("words", one_in(2, ["rows", "streams 3"], str))
def test_what_is_copied_counts_as_written(many: Path, words: str) -> None:
    """Copies of the host to cudaMalloc's memory, whole or by rows, leave nothing unwritten."""
    done = subprocess.run([*WARPLENS, "sanitize", "--tool", "initcheck", str(many), "--",
                           *words.split()], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout


# --- the libraries -------------------------------------------------------------------------------


def test_libraries_export_what_nvidias_do() -> None:
    """A program linked with NVIDIA's shared runtime finds every function in ours."""
    from warplens.programs.library import libraries

    theirs = packages.find_binary("nvidia-cuda-runtime", "libcudart.so.13")
    ours = libraries() / "libcudart.so.13"

    names = [set(ElfFile(path.read_bytes()).exported()) for path in (theirs, ours)]

    assert {name for name in names[0] - names[1] if "cuda" in name[:6]} == set()


def test_a_program_started_by_itself_has_no_device(many: Path) -> None:
    """Without `warplens run` the library says what is missing, and every call fails."""
    from warplens.programs.library import libraries

    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries())}
    environment.pop("WARPLENS_ENGINE", None)

    done = subprocess.run([str(many), "managed"], env=environment, capture_output=True, text=True,
                          check=False)  # fmt: skip

    assert (done.stdout, done.returncode) == ("cudaErrorNoDevice: no CUDA-capable device is "
                                              "detected\n", 1)  # fmt: skip
    assert "warplens run" in done.stderr


def test_properties_have_the_layout_of_the_header(tmp_path: Path) -> None:
    """Offsets of cudaDeviceProp's fields are those that the host's compiler gives them."""
    from warplens.programs.runtime.devices import _layout

    fields, size = _layout(False)
    lines = [f'printf("%zu\\n", offsetof(struct cudaDeviceProp, {name}));' for name in fields]
    source = ("#include <stddef.h>\n#include <stdio.h>\n#include <driver_types.h>\n"
              f"int main() {{ {' '.join(lines)} "
              'printf("%zu\\n", sizeof(struct cudaDeviceProp)); }')  # fmt: skip
    (tmp_path / "p.c").write_text(source)
    include = packages.include_dirs()[0]
    subprocess.run(["cc", "p.c", f"-I{include}", "-o", "p"], cwd=tmp_path, check=True)

    told = subprocess.run(["./p"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert told.split() == [str(place) for place, _, _ in fields.values()] + [str(size)]


def test_error_texts_are_nvidias(results: Results) -> None:
    """What errors are called is what NVIDIA's runtime calls them."""
    library = ctypes.CDLL(str(packages.find_binary("nvidia-cuda-runtime", "libcudart.so.13")))
    library.cudaGetErrorString.restype = ctypes.c_char_p

    assert f"wait: {library.cudaGetErrorString(700).decode()}" in results["fault"][0]
