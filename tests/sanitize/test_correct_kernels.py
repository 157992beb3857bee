"""The sanitizers say nothing of correct kernels: a sample of the corpus.

All of it, on every architecture: `python -m tests.sanitize.campaign`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.model import Case
from tests.sanitize.campaign import errors_of, every_case

SAMPLE = (
    "named_barriers", "producer_consumer", "barrier_after_exit", "flag_chain", "grid_barrier",
    "acquire_release", "nanosleep_backoff", "groups", "atomic_ulonglong", "atomic_cas_loop",
    "bfs_queue", "fences", "pipelined", "barrier_memcpy",
)  # fmt: skip
SLOW = ("fences", "pipelined", "producer_consumer", "groups", "atomic_ulonglong", "bfs_queue")
CASES = [(path, case) for path, case in every_case("sm_90") if case.name in SAMPLE]


@pytest.mark.parametrize(
    ("path", "case"), [
        pytest.param(path, case, id=case.name, marks=[pytest.mark.long] * (case.name in SLOW))
        for path, case in CASES
    ],
)
def test_nothing_is_found(path: Path, case: Case) -> None:
    """A correct kernel has no finding."""
    assert errors_of(path, case, "sm_90") == ""
