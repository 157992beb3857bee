"""What warps find in L1 of rows that they have just loaded, against an H200's counters."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import recorded_rows, recorder_kernels
from warplens.timing.launch_timing import LaunchTiming

RECORDED = recorded_rows("loaded_again", 4)
FOUND = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"
FITS = 192 << 10  # bytes of all rows
ROWS = [key for key in RECORDED if key[0].startswith("quads")]


@pytest.mark.parametrize(("name", "warps", "rows", "size"), one_in(20, ROWS, str, several=True))
def test_rows_are_found_again(name: str, warps: int, rows: int, size: int) -> None:
    """All of them where all rows fit; beyond that what is evict-first is lost sooner on an H200, a
    quarter of its sectors."""
    launch = recorder_kernels("loaded_again", "H200")[name].predict[(1,), (32 * warps,)](
        np.zeros(1024, np.uint32), np.zeros(1 << 18, np.uint32), np.uint32(size // 16),
        np.uint32(rows),
    )  # fmt: skip
    timing = launch.timing
    assert isinstance(timing, LaunchTiming)
    found = float(timing.model.result.sm["l1_found"][0])
    fits = warps * rows * size <= FITS
    recorded = RECORDED[name, warps, rows, size][FOUND]
    assert found == pytest.approx(recorded, rel=0.01 if fits else 0.75)
