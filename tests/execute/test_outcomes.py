"""What a run in any order has shown is used by later launches that go to the same places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions
from warplens.execute.launch import Launching

SOURCE = """
extern "C" __global__ void apart(const int* in, int* out, int shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + shift;
}
extern "C" __global__ void behind(int* x, int from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = x[i + from] + 1;
}
extern "C" __global__ void through(const int* at, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[at[i]] = i;
}
"""
N = 64 * 128


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the arrays that were copied so that a run can be taken back."""
    taken: list[str] = []
    copied = Launching._copied

    def note(self: Launching, segment: Any) -> Any:
        taken.append(segment.name)
        return copied(self, segment)

    monkeypatch.setattr(Launching, "_copied", note)
    return taken


def launch(name: str, **options: Any) -> Any:
    """The kernel on two workers."""
    device = wl.Device("H200", options=LaunchOptions(workers=2, timing=False, **options))
    return device.compile(SOURCE)[name][N // 128, 128]


def test_nothing_is_copied_once_blocks_were_seen_apart(copies: list[str]) -> None:
    run = launch("apart")
    data, out = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    for shift in (1, 1, 1):
        assert run(data, out, shift).execution.workers == 2
        assert np.array_equal(out, data + shift)
    assert len(copies) == 1
    run(data, out, 2)  # other parameters may lead elsewhere
    assert len(copies) == 2
    both = np.arange(N, dtype=np.int32)
    run(both, both, 1)  # the same code on one array for both
    assert np.array_equal(both, np.arange(N) + 1)


def test_what_needed_order_begins_in_order(copies: list[str]) -> None:
    run = launch("behind")
    reasons = set()
    for _ in range(3):
        x = np.arange(2 * N, dtype=np.int32)
        done = run(x, 128).execution
        assert done.ordered and done.workers == 1
        reasons.add(done.ordered_reason)
        assert np.array_equal(x[:N], np.arange(N) + 129)
    assert len(reasons) == 1
    assert len(run._code.program.outcomes) == 1


def test_places_that_data_decide_are_never_taken_as_known(copies: list[str]) -> None:
    run = launch("through")
    rng, out = np.random.default_rng(1), np.zeros(N, np.int32)
    for _ in range(2):
        at = rng.permutation(N).astype(np.int32)
        run(at, out)
        assert np.array_equal(out[at], np.arange(N))
    assert len(copies) == 2
    assert not run._code.program.outcomes
