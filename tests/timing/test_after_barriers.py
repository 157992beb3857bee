"""Which instructions a warp still issues that has come to a barrier before the others, against
where an H100's warps were found to wait."""

from __future__ import annotations

import base64
import json
import lzma
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorder_script

DATA = json.loads(
    (Path(__file__).parents[2] / "validation/data/after_barriers_sm90.json").read_text()
)
KERNELS = sorted({row[0] for row in DATA["rows"]})


@cache
def _module() -> wl.Module:
    cubin = lzma.decompress(base64.b64decode(DATA["cubin_xz_base64"]))
    return wl.Device("H100 SXM5", clock=1980).load(cubin)


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
