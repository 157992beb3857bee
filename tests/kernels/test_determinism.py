"""Same input, same bytes and counters, at any number of workers; waiting kernels end."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import tests.kernels.every  # noqa: F401
import warplens as wl
from tests.in_turn import one_in
from tests.kernels.model import CASES, Case
from warplens.api import LaunchOptions

ARCHITECTURE = "sm_90"
REPEATS = 10
INDEPENDENT = (
    "histogram_shared",
    "ladder_vector_shuffle_128",
    "mandelbrot",
    "stencil_plane",
    "sgemm_tiled",
    "sha256_blocks",
    "transpose_padded",
)
ORDERED = (
    "atomic_float",
    "atomic_results",
    "hash_cuckoo_evict",
    "hash_insert",
    "lane_lock",
    "scan_lookback",
    "work_queue",
)
WAITING = ("flag_chain", "grid_barrier", "scan_lookback", "reduce_last_block", "lane_lock_naive")
METRICS = (
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "memory_l1_wavefronts_shared",
)


def named(name: str) -> Case:
    """A corpus case."""
    return next(case for case in CASES if case.name == name)


@cache
def kernel(name: str, workers: int) -> Any:
    """A compiled case on a device with a number of workers."""
    case = named(name)
    device = wl.Device(ARCHITECTURE, options=LaunchOptions(workers=workers))
    return device.compile(case.path, options=case.options)[case.kernel]


def launch(name: str, workers: int) -> tuple[Any, bytes, list[float]]:
    """One run: the launch, all its output bytes and its counters."""
    case = named(name)
    arguments, _ = case.problem()
    run = kernel(name, workers)[case.grid, case.block, 0, case.shared](*arguments)
    arrays = b"".join(a.tobytes() for a in arguments if isinstance(a, np.ndarray))
    return run, arrays, [run.metric(metric) for metric in METRICS]


@pytest.mark.parametrize("name", one_in(4, INDEPENDENT, str))
def test_independent_blocks_run_in_parallel(name: str) -> None:
    """Kernels whose blocks cannot see each other's order need no order."""
    first, expected_bytes, expected_counts = launch(name, 1)
    assert not first.execution.ordered
    for _ in range(REPEATS):
        run, found_bytes, counts = launch(name, 2)

        assert not run.execution.ordered
        assert found_bytes == expected_bytes
        assert counts == expected_counts


@pytest.mark.parametrize("name", one_in(4, ORDERED, str))
def test_dependent_blocks_run_in_order(name: str) -> None:
    """Kernels that could see the order of blocks give the same result at every run, and say why."""
    _, expected_bytes, expected_counts = launch(name, 1)
    for _ in range(REPEATS):
        run, found_bytes, counts = launch(name, 2)

        assert run.execution.ordered
        assert run.execution.ordered_reason
        assert found_bytes == expected_bytes
        assert counts == expected_counts


def test_report_gives_the_reason() -> None:
    """The printed report names what forced the order."""
    run, _, _ = launch("hash_insert", 2)

    assert run.execution.ordered_reason in str(run)


@pytest.mark.parametrize(("workers", "name"), one_in(
    2, list(product([1, 2], WAITING)),
    lambda case: "-".join(map(str, case)), several=True,
))
def test_waiting_kernels_end(name: str, workers: int) -> None:
    """Blocks or lanes that wait for others make progress."""
    run, _, _ = launch(name, workers)

    assert run.metric("smsp__inst_executed.sum") > 0


def test_spinning_is_noticed() -> None:
    """A grid whose blocks wait for later blocks is marked as spinning."""
    run, _, _ = launch("flag_chain", 1)

    assert run.execution.spinning
