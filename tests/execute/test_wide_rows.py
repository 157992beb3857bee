"""Rows of 16 bytes a lane in arrays that no cache holds: whole lines go past the caches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.in_turn import one_in

import warplens as wl
from warplens.api import LaunchOptions
from warplens.lift.memory.load_store_ops import _LARGE_BYTES

SOURCE = """
extern "C" __global__ void copied(const float4* in, float4* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 v = in[i];
        out[i] = make_float4(v.w, v.z, v.y, v.x);
    }
}
"""


@pytest.mark.parametrize("offset", one_in(3, [0, 16, 48], str))
def test_large_arrays_are_written_whole(offset: int) -> None:
    """Results do not depend on where in a line the arrays begin, nor does what is counted."""
    words = _LARGE_BYTES // 4 + 1024
    kernel = wl.Device("H200", options=LaunchOptions(timing=False)).compile(SOURCE)["copied"]
    kernel.code.program.make_fast()
    data = np.arange(words, dtype=np.float32)
    room = np.full(words + 64, -1, np.float32)
    begin = (offset - room.ctypes.data) % 64 // 4
    out = room[begin : begin + words]

    done = kernel[64, 256](data, out, words // 4)

    np.testing.assert_array_equal(out.reshape(-1, 4), data.reshape(-1, 4)[:, ::-1])
    assert (room[:begin] == -1).all()
    assert (room[begin + words :] == -1).all()
    sectors = done.metric("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")
    assert sectors == words * 4 // 32
