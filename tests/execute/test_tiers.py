"""The compact and the fast code of a kernel agree, and a launch can be stopped."""

from __future__ import annotations

import os
import signal
import threading
from itertools import product
from typing import Any

import numpy as np
import pytest
import tests.kernels.every  # noqa: F401
from tests.in_turn import one_in
from tests.kernels.model import CASES, FOLDER, Case, assert_results

import warplens as wl
from warplens.execute.program import prepare
from warplens.lift.engines.host import host_features
from warplens.lift.lifter import lift

FILES = ("control.cu", "matrix.cu", "memory.cu", "reduction.cu", "warp.cu")
EVERY = 4  # of the cases of these files, every fourth runs here


def chosen() -> list[Any]:
    """Cases spread over the files, on two architectures, others of each in an ordinary run."""
    cases = sorted((c for c in CASES if c.source in FILES), key=lambda c: (c.source, c.name))
    both = list(product(("sm_80", "sm_120"), cases[::EVERY]))
    return one_in(12, both, lambda one: f"{one[1].name}-{one[0]}", several=True)


@pytest.mark.parametrize(("architecture", "case"), chosen())
def test_tiers_agree(architecture: str, case: Case) -> None:
    """Both tiers give the reference's result and the same counters."""
    module = wl.Device(architecture).compile(FOLDER / case.source, options=case.options)
    kernel = module[case.kernel]
    shape = (case.grid, case.block, 0, case.shared)
    counts = []
    for is_fast in (False, True):
        if is_fast:
            kernel.code.program.make_fast()
        arguments, expected = case.problem()
        run = kernel[shape](*arguments)
        assert_results(case, arguments, expected, architecture)
        counts.append(run.execution.columns)

    for name, column in counts[0].items():
        np.testing.assert_array_equal(counts[1][name], column, err_msg=name)


def test_text_goes_once_compiled() -> None:
    """A kernel in use does not hold the IR that it was compiled from."""
    source = 'extern "C" __global__ void lanes(int* out) { out[threadIdx.x] = threadIdx.x; }'
    for is_large in (False, True):
        code = wl.Device("H200").compile(source)["lanes"].code
        program = prepare(code.sass, code.cubin, lifted=lift(code.sass, host_features(), tier=0))
        assert program.lifted.ir
        program.get_ready(is_large)
        assert not program.lifted.ir


def test_interrupted_launch_leaves_the_process_usable() -> None:
    """Ctrl-C ends a kernel that never ends; the next launch works."""
    module = wl.Device("H200").compile(
        """
        extern "C" __global__ void wait(volatile int* flag, int* out) {
            int turns = 0;
            while (flag[threadIdx.x] == 0) ++turns;
            out[threadIdx.x] = turns;
        }
        extern "C" __global__ void lanes(int* out) { out[threadIdx.x] = threadIdx.x; }
        """
    )
    out = np.zeros(32, np.int32)
    kernel = module["wait"]
    # A shell's background job starts with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            kernel[1, 32](np.zeros(32, np.int32), out)
    finally:
        signal.signal(signal.SIGINT, before)
    module["lanes"][1, 32](out)

    np.testing.assert_array_equal(out, np.arange(32))
