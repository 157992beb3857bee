"""Runs a compile in a process of its own, where it changes nothing for those that follow.

NVRTC keeps what some options set: after one compile with `-G` or `--Ofast-compile=max`, every
later one in the same process orders its instructions otherwise (measured with NVRTC 13.5). Options
for which that was looked for and not found are named here; all others keep to themselves.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import BinaryIO, TypeVar, cast

from warplens.errors import ToolchainError, WarplensError

WITHOUT_TRACE = frozenset(
    {
        "-arch", "--gpu-architecture", "-std", "--std", "-lineinfo", "--generate-line-info",
        "-maxrregcount", "--maxrregcount", "-use_fast_math", "--use_fast_math", "-fmad", "--fmad",
        "-ftz", "--ftz", "-prec-div", "--prec-div", "-prec-sqrt", "--prec-sqrt", "-rdc",
        "--relocatable-device-code", "--ptxas-options", "-device-int128",
        "--device-int128", "-default-device", "--device-as-default-execution-space",
        "-extra-device-vectorization", "--extra-device-vectorization", "-w", "--disable-warnings",
        "-diag-suppress", "--diag-suppress", "-diag-error", "--diag-error", "-diag-warn",
        "--diag-warn", "-include", "--pre-include",
    }
)  # fmt: skip
_JOINED = ("-D", "-U", "-I")
# The child's own output goes to standard error: the result alone is written to the pipe.
_CHILD = """
import os, pickle, sys
pipe = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
sys.path[:] = pickle.load(sys.stdin.buffer)
from warplens.toolchain import apart
apart.answer(pickle.load(sys.stdin.buffer), pipe)
"""

_Result = TypeVar("_Result")


def leave_no_trace(options: Sequence[str]) -> bool:
    """Whether a compile with these options leaves later ones in its process as they were."""
    return all(
        option.partition("=")[0] in WITHOUT_TRACE
        or option.startswith(_JOINED)
        or not option.startswith("-")
        for option in options
    )


def run(job: Callable[[], _Result]) -> _Result:
    """What `job`, which must be picklable, returns in a new process.

    Raises:
        WarplensError: the one that the job raised.
        ToolchainError: the process ended without an answer.
    """
    given = pickle.dumps(sys.path) + pickle.dumps(job)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD], input=given, capture_output=True, check=True
        )
        result = pickle.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip()
        raise ToolchainError(f"a compile in a process of its own failed: {said or error}") from None
    except (OSError, EOFError, pickle.UnpicklingError) as error:
        raise ToolchainError(f"a compile in a process of its own failed: {error}") from error
    if isinstance(result, WarplensError):
        raise result
    return cast(_Result, result)


def answer(job: Callable[[], object], pipe: BinaryIO) -> None:
    """Writes what a job gives, or the error it raises: the new process' side of `run`."""
    try:
        result = job()
    except WarplensError as error:
        result = error
    with pipe:
        pickle.dump(result, pipe)
