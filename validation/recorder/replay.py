"""Runs recorded programs of machine code here and compares with what the GPU did.

`replay.py PROGRAMS.npz CARRIER.cubin OUT.npz [--jobs N]` needs no GPU: it executes every kernel of
programs (fuzz.py) and keeps digests of each program's results and the counters of each kernel.
`replay.py --compare OUT.npz RECORDED.npz` prints how many programs differ.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import time
from pathlib import Path
from typing import Any

import assembler as a
import fuzz
import numpy as np
import programs
import slots

SHAPE = (programs.PROGRAMS, programs.ROWS, programs.THREADS, 4)
COUNTERS = (
    "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum", "smsp__inst_executed_pipe_cbu.sum",
)  # fmt: skip
_state: dict[str, Any] = {}


def digests(results: np.ndarray) -> np.ndarray:
    """A 64-bit digest of every row of every program."""
    import zlib

    rows = results.reshape(-1, programs.THREADS * 4)
    found = [zlib.crc32(row.tobytes()) << 32 | zlib.adler32(row.tobytes()) for row in rows]
    return np.array(found, np.uint64).reshape(results.shape[:2])


def executed(
    kernel: programs.Kernel, carrier: bytes, inputs: np.ndarray
) -> tuple[np.ndarray, list[float]]:
    """The results of one kernel of programs, and its counters."""
    import warplens as wl
    from warplens.api import LaunchOptions

    cubin = a.carried(carrier, kernel.code, programs.REGISTER_COUNT, kernel.targets)
    module = wl.Device("H200", options=LaunchOptions(timing=False)).load(cubin)
    out = np.full(SHAPE, 0xEEEEEEEE, np.uint32)
    launch = module[a.CARRIER][programs.PROGRAMS, programs.THREADS](
        inputs.copy(), out, np.zeros(4, np.uint32), bytes(slots.constants_cell())
    )
    return out, [float(launch.metric(name)) for name in COUNTERS]


def _begin(path: Path, carrier: Path, end: float) -> None:
    with np.load(path) as data:
        _state.update(kernels=fuzz.as_kernels(data))
    _state.update(carrier=carrier.read_bytes(), inputs=slots.pool(), end=end)


def _one(i: int) -> tuple[int, Any, Any, str]:
    if time.monotonic() > _state["end"]:
        return i, None, None, ""
    try:
        out, counters = executed(_state["kernels"][i], _state["carrier"], _state["inputs"])
    except Exception as error:
        return i, None, None, f"{type(error).__name__}: {error}"[:500]
    return i, out, counters, ""
