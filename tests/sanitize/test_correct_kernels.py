"""The sanitizers say nothing of correct kernels: a sample of the corpus.

All of it: `python -m tests.sanitize.test_correct_kernels sm_90`.
"""

from __future__ import annotations

import sys

import pytest

import tests.kernels.every  # noqa: F401
import warplens as wl
from tests.kernels.model import CASES, FOLDER, Case

SAMPLE = (
    "named_barriers", "producer_consumer", "barrier_after_exit", "flag_chain", "grid_barrier",
    "acquire_release", "nanosleep_backoff", "groups", "atomic_ulonglong", "atomic_cas_loop",
    "bfs_queue",
)  # fmt: skip
RACY = frozenset({"components_flatten"})  # shortens paths while others follow them, on purpose


def errors_of(case: Case, gpu: str) -> str:
    """The report of a case if it has errors."""
    kernel = wl.Device(gpu).compile(FOLDER / case.source, options=case.options)[case.kernel]
    arguments, _ = case.problem()
    report = kernel.sanitize[case.grid, case.block, 0, case.shared](*arguments)
    return str(report) if report.errors else ""


@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_is_found(name: str) -> None:
    """A correct kernel has no finding."""
    case = next(case for case in CASES if case.name == name)

    assert errors_of(case, "sm_90") == ""


def main() -> int:
    """Every case on one architecture; prints the reports of those that have findings."""
    found = 0
    for case in CASES:
        text = errors_of(case, sys.argv[1] if len(sys.argv) > 1 else "sm_90")
        if text:
            found += case.name not in RACY
            print(case.name, text, sep="\n")
    print(f"{len(CASES)} kernels, {found} unexpected reports")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
