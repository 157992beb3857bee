"""Which instructions a warp still issues that has come to a barrier before the others, against
where an H100's warps were found to wait."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorded_module, recorder_script, recording

DATA = recording("after_barriers")
KERNELS = sorted({row[0] for row in DATA["rows"]})


@cache
def _module() -> wl.Module:
    return recorded_module(DATA)


def _recorded(kernel: str) -> int:
    """The offset of the instruction at which most waited for others."""
    found = Counter({offset: samples for name, offset, state, samples in DATA["rows"]
                     if (name, state) == (kernel, "barrier")})  # fmt: skip
    (offset, most), *_ = found.most_common(1)
    assert most > 0.99 * found.total()
    return int(offset)


@pytest.mark.parametrize("kernel", one_in(3, KERNELS, str))
def test_warps_wait_where_an_h100s_do(kernel: str) -> None:
    with recorder_script("after_barriers") as recorder:
        shape = (1,), (recorder.THREADS,)
        given = np.uint32(recorder.ROUNDS), np.uint32(recorder.LATE)
        size = recorder.THREADS
    one = _module()[kernel]
    launch = one[shape](np.zeros(size, np.uint32), *given)
    assert launch.timing is not None
    waits = launch.timing.stalls_by_instruction()["barrier"]
    addresses = [instruction.address for instruction in one.sass.instructions]

    assert addresses[int(waits.argmax())] == _recorded(kernel)
    assert waits.max() > 0.9 * waits.sum()
