"""Programs with main(), compiled by nvcc, print what they print on a GPU and end as they end there.

What is expected is arithmetic, or what CUDA's documentation says.
"""

from __future__ import annotations

import signal

import pytest

from tests.programs.conftest import Run

# Words, what is printed, the exit status.
PROGRAMS = {
    "managed": ("500500\n", 0),  # 1000 ones and 0 + 1 + ... + 999
    "symbols": ("49 4 100 16 42 4321\n", 0),
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
        "cudaErrorInvalidConfiguration\ninvalid configuration argument\ncudaErrorInvalidValue\n"
        "cudaErrorInvalidValue\ncudaErrorInvalidValue\ncudaErrorInvalidMemcpyDirection\n"
        "cudaErrorInvalidResourceHandle\ncudaSuccess\n",
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
def test_prints_and_ends_as_on_a_gpu(run: Run, words: str) -> None:
    """Standard output and exit status are those of a GPU."""
    expected, status = PROGRAMS[words]

    done = run(*words.split())

    assert (done.stdout, done.returncode) == (expected, status), done.stderr


def test_names_the_line_of_a_fault(run: Run) -> None:
    """Standard error says where a kernel's fault was, though nobody looked at it."""
    for words in ("fault", "unchecked"):
        done = run(words)

        assert "invalid __global__ write of size 4 bytes" in done.stderr
        assert "many.cu:34" in done.stderr


def test_assertions_are_told(run: Run) -> None:
    """A failed assert() names file, line, block, thread and condition on standard error."""
    done = run("asserts")

    assert "many.cu:35" in done.stderr
    assert "thread (24,0,0) in block (0,0,0) Assertion `x[threadIdx.x] < 3` failed" in done.stderr


def test_prints_of_kernels_come_when_the_program_waits(run: Run) -> None:
    """A kernel's printf comes out after what the host printed before it waited."""
    lines = run("talks").stdout.splitlines()

    assert lines[0] == "launched"
    assert sorted(lines[1:3]) == ["kernel 1, block 0", "kernel 1, block 1"]
    assert lines[3:] == ["kernel 2, block 0", "kernel 3, block 0", "done"]


def test_device_is_the_chosen_one(run: Run) -> None:
    """Programs see the GPUs that were asked for, and that they are simulated."""
    done = run("devices", options=("--gpu", "A100", "--gpu", "RTX 4060"))

    assert done.stdout.splitlines() == [
        "NVIDIA A100 80GB SXM (warplens): 8.0, 108 SMs, 49152 bytes of shared memory, warp 32, 1",
        "NVIDIA RTX 4060 (warplens): 8.9, 24 SMs, 49152 bytes of shared memory, warp 32, 1",
        "1 1",
    ]


def test_copies_between_gpus(run: Run) -> None:
    """A kernel on a second GPU sees what was copied from the first."""
    done = run("peer", options=("--gpu", "H200", "--gpu", "H200"))

    assert done.stdout == f"device 1, type 2\n{4096 + 2 * 4095 * 2048}\n", done.stderr


@pytest.mark.parametrize(
    ("words", "number"),
    [("abort", signal.SIGABRT), ("raise 15", signal.SIGTERM), ("raise 9", signal.SIGKILL),
     ("host_reads_device", signal.SIGSEGV)],
)  # fmt: skip
def test_signals_are_passed_on(run: Run, words: str, number: int) -> None:
    """A program that a signal ends ends `warplens run` in the same way."""
    done = run(*words.split())

    assert done.returncode == -number
