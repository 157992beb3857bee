"""Constants that all lanes load from one place: one word is loaded and spread."""

from __future__ import annotations

import re

import numpy as np
import pytest

import warplens as wl
from warplens.lift.engines.host import host_features
from warplens.lift.lifter import lift

# of words that begin anywhere, as those of constant banks may
_GATHER = re.compile(r"masked\.gather\.v32i32\.v32p0\(<32 x ptr> %\S+, i32 1,")
SOURCE = """
__constant__ int table[32] = {5, 7, 11};
extern "C" __global__ void number(int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = blockDim.x;
}
extern "C" __global__ void look(int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[i % 3];
}
"""


@pytest.mark.parametrize(("name", "gathers"), [("number", False), ("look", True)])
def test_lanes_that_load_from_one_place(name: str, gathers: bool) -> None:
    kernel = wl.Device("H200").compile(SOURCE)[name]
    assert any("[RZ]" in one.text for one in kernel.sass.instructions if one.opcode == "LDC")
    ir = lift(kernel.sass, host_features(), tier=0).ir
    assert bool(_GATHER.search(ir)) == gathers
    out = np.zeros(192, np.int32)
    kernel[2, 96](out)
    i = np.arange(192)
    assert (out == (np.choose(i % 3, [5, 7, 11]) if gathers else 96)).all()
