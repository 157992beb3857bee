"""What of stores to local memory reaches L2, and what loads find in L1 after stores in part,
against an H200 (`validation/data/stored_again_sm90.json`)."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorded_rows, recorder_kernels
from warplens.timing.launch_timing import LaunchTiming

RECORDED = recorded_rows("stored_again", 6)
LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"


@pytest.mark.parametrize(("size", "stores", "apart", "threads", "cycles"), one_in(
    2, [
        (4, 4, 0, 256, 0.22), (4, 4, 3, 256, 0.1), (8, 4, 0, 1024, 0.05), (8, 4, 1, 256, 0.15),
        (1, 4, 3, 1024, 0.15), (4, 4, 0, 1024, 0.08),
    ], str, first=1, several=True,
))  # fmt: skip
def test_all_that_is_stored_to_local_memory_reaches_l2(
    size: int, stores: int, apart: int, threads: int, cycles: float
) -> None:
    kernel = recorder_kernels("stored_again", "H200")[f"again_local_{size}"]
    out = np.zeros(256, np.uint32)
    numbers = (np.uint32(one) for one in (stores, 0, apart))
    launch = kernel.predict[132, threads](out, *numbers)
    measured = RECORDED[f"again_local_{size}", stores, 0, apart, 132, threads]
    sent = launch.metric("lts__t_sectors_srcunit_tex.sum")
    assert sent == pytest.approx(measured["lts__t_sectors_srcunit_tex_op_write.sum"], rel=0.02)
    took = launch.metric("sm__cycles_active.avg")
    assert took == pytest.approx(measured["sm__cycles_active.avg"], rel=cycles)


@pytest.mark.parametrize("stores", [1, 4])
def test_bytes_of_a_word_are_joined(stores: int) -> None:
    """Of eight warps; each stores the four bytes of a word one right after the other."""
    kernel = recorder_kernels("stored_again", "H200")["again_local_1"]
    numbers = (np.uint32(one) for one in (stores, 0, 0))
    launch = kernel.predict[132, 256](np.zeros(256, np.uint32), *numbers)
    measured = RECORDED["again_local_1", stores, 0, 0, 132, 256]
    sent = launch.metric("lts__t_sectors_srcunit_tex.sum")
    assert sent == pytest.approx(measured["lts__t_sectors_srcunit_tex_op_write.sum"], rel=0.06)
    took = launch.metric("sm__cycles_active.avg")
    assert took == pytest.approx(measured["sm__cycles_active.avg"], rel=0.2)


@pytest.mark.parametrize("lanes", [0xFF, 0x0F, 0x55, 0x01])
@pytest.mark.parametrize("before", [0, 1])
def test_loads_after_stores(before: int, lanes: int) -> None:
    """Sectors that were loaded stay, however they are stored to; others are there if they were
    stored as a whole."""
    kernel = recorder_kernels("stored_again", "H200")["again_global"]
    out, data = np.zeros(256, np.uint32), np.zeros(1 << 18, np.uint32)
    launch = kernel[1, 256](out, data, *(np.uint32(one) for one in (before, lanes, 1)))
    measured = RECORDED["again_global", before, lanes, 1, 1, 256]
    timing = launch.timing
    assert isinstance(timing, LaunchTiming)
    sm = timing.model.result.sm
    assert sm["l1_looked"][0] == measured[f"{LOADS}.sum"]
    assert sm["l1_found"][0] == measured[f"{LOADS}_lookup_hit.sum"]


@pytest.mark.parametrize(("used", "stays"), [(16, True), (256, False)])
def test_of_a_stack_counts_what_is_used(used: int, stays: bool) -> None:
    """276 MB of stacks, of which L2 holds 17 MB, but not all."""
    device = wl.Device("H200")
    kernel = device.compile("""
extern "C" __global__ void some(unsigned *out, unsigned used) {
    volatile unsigned own[256];
    for (unsigned i = 0; i < used; i++) own[i] = i;
    if (own[out[0] % used] == 12345) out[0] = 1;
}
""")["some"]
    launch = kernel.predict[264, 1024](np.zeros(1, np.uint32), np.uint32(used))
    sent = 32.0 * launch.metric("lts__t_sectors_srcunit_tex.sum")
    written = launch.metric("dram__bytes_write.sum")
    assert written < 0.01 * sent if stays else written > 0.5 * sent
