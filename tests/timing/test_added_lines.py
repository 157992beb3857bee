"""What loads find in L1 of lines that atomics, stores, fences and loads around L1 have touched,
against an H200 (`validation/data/added_lines_sm90.json`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.timing.replayed import recorded_rows, recorder_kernels, recorder_script

RECORDED = recorded_rows("added_lines", 3)
with recorder_script("added_lines") as recorder:
    BLOCKS, THREADS, LINES, KINDS = (
        recorder.BLOCKS, recorder.THREADS, recorder.LINES, recorder.KINDS
    )  # fmt: skip


@pytest.mark.parametrize("every", [1, 2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_lines_that_were_added_to_are_asked_for_again(kind: str, every: int) -> None:
    kernel = recorder_kernels("added_lines", "H200")[f"added_lines_{kind}"]
    data, out = np.zeros(BLOCKS * LINES * 128, np.uint8), np.zeros(THREADS, np.uint32)
    launch = kernel.predict[BLOCKS, THREADS](out, data, 0, every)
    measured = RECORDED[kind, 0, every]
    for metric in (
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__m_xbar2l1tex_read_sectors.sum"
    ):  # fmt: skip
        assert launch.metric(metric) == pytest.approx(measured[metric], rel=0.01), metric
