"""Which cycles of the schedule a report shows."""

from __future__ import annotations

import numpy as np

import warplens as wl

SOURCE = r"""
extern "C" __global__ void chase(const int* next, int* out, int n) {
    int at = threadIdx.x;
    #pragma unroll 1
    for (int k = 0; k < n; k++) at = next[at];
    out[threadIdx.x] = at;
}
"""


def test_the_window_begins_with_an_issue() -> None:
    """A warp that waits for hundreds of cycles at a time is shown where it issues."""
    step = np.roll(np.arange(1 << 16, dtype=np.int32).reshape(-1, 32), -64, axis=0).ravel()
    run = wl.Device("H200").compile(SOURCE)["chase"][1, 32](step, np.zeros(32, np.int32), 12)
    window = run.result().schedule
    assert window is not None
    issues = [(begin, window.states[which]) for _, begin, _, which, _ in window.spans]
    at_issues = [begin for begin, state in issues if state == "selected"]

    assert window.first in at_issues
    assert len(at_issues) >= 2  # a round of the loop, not the last instruction before a wait


def test_a_chosen_window_stays() -> None:
    """What the user asks for is shown as it is."""
    data = np.zeros(1 << 16, np.int32)
    run = wl.Device("H200").compile(SOURCE)["chase"][1, 32](data, np.zeros(32, np.int32), 12)
    window = run.result(window=(100, 50)).schedule
    assert window is not None

    assert (window.first, window.cycles) == (100, 50)
