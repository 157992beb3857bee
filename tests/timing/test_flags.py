"""Bytes that most of a grid's threads store to, and loops that seek the least number, against an
H200."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import recorded_rows, recorder_kernels, recorder_script

FLAGS, LEAST = recorded_rows("flags", 3), recorded_rows("least", 3)
DURATION = "gpu__time_duration.sum"


@pytest.mark.parametrize(("arrays", "every", "work"), one_in(6, list(FLAGS), str, several=True))
def test_stores_to_one_byte(arrays: int, every: int, work: int) -> None:
    """Where L2 keeps up with them within a tenth of a launch; else within its half: how many are
    joined in L1 and how long the others take turns makes up for each other."""
    with recorder_script("flags") as recorder:
        n = recorder.BLOCKS * recorder.THREADS
        shape = recorder.BLOCKS, recorder.THREADS
    own, mask = (np.zeros(size, np.uint8) for size in (3 * n, n))
    mask[:] = 1
    launch = recorder_kernels("flags", "H200")[f"flag_{arrays}"].predict[shape](
        mask, own, np.zeros(1 << 16, np.uint8), np.uint32(every), np.uint32(work)
    )
    keeps_up = every == 16 or work >= 256
    recorded = FLAGS[arrays, every, work][DURATION]
    assert launch.metric(DURATION) == pytest.approx(recorded, rel=0.15 if keeps_up else 0.5)


@pytest.mark.parametrize(("blocks", "words", "work"), one_in(6, list(LEAST), str, several=True))
def test_loops_for_the_least_number(blocks: int, words: int, work: int) -> None:
    """Within a factor of three; who looks before the first has exchanged tries in vain."""
    with recorder_script("flags") as recorder:
        threads = recorder.THREADS
    tries = np.zeros(blocks * threads, np.uint32)
    launch = recorder_kernels("flags", "H200")["least"].predict[(blocks,), (threads,)](
        np.zeros(1 << 14, np.float32), tries, np.uint32(words), np.uint32(work)
    )
    share = launch.metric(DURATION) / LEAST[blocks, words, work][DURATION]
    assert 1 / 3 < share < 3
