"""The ways of a block's warps against what the engine executes."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from warplens.tune.counted import Counted, cycles
from warplens.tune.loops import Loop
from warplens.tune.walk import Unknown, Walk

SOURCE = """
extern "C" __global__ void tile(const float* in, float* out, int n, int stride) {
    __shared__ float held[2048];
    for (int i = threadIdx.x; i < n; i += blockDim.x) held[i] = in[blockIdx.x * n + i];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 16; i++) sum += held[(threadIdx.x * stride + 33 * i) & 2047];
    if (threadIdx.x < 40) sum *= 2;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void endless(const int* in, int* out) {
    int at = threadIdx.x;
    for (int i = 0; i < 100000; i++) at = at * 5 + (at >> 3) + in[0] * (at & 1);
    for (int i = 0; i < 100000 && at != i * i + 7; i++) out[i & 255] = i;
}
"""


@pytest.fixture(scope="module")
def module() -> wl.Module:
    return wl.Device("H200").compile(SOURCE)


def walked(kernel: wl.Kernel, grid: int, block: int, *arguments: object) -> Walk:
    configured = kernel[(grid,), (block,), 0, 0]
    bank = configured.bank(arguments)
    return Walk(configured.sass, bank, configured.shape.grid, configured.shape.block)


@pytest.mark.parametrize("block", [96, 128])
@pytest.mark.parametrize("stride", [1, 2, 8])
def test_counts_what_is_executed(module: wl.Module, block: int, stride: int) -> None:
    """Instructions and passes through shared memory are those of a launch, loops included."""
    arguments = (np.ones(4096, np.float32), np.zeros(256, np.float32), np.int32(700),
                 np.int32(stride))  # fmt: skip
    walk = walked(module["tile"], 1, block, *arguments)
    counted = Counted(walk, 22.5)
    walk.go(counted)
    launch = module["tile"][(1,), (block,)](*arguments)

    issued = sum(piece.issued for piece in counted.pieces)
    assert issued == pytest.approx(float(launch["smsp__inst_executed.sum"]), rel=0.02)
    assert len(counted.pieces) == 2
    passes = counted.pieces[1].passes - 2 * walk.warps  # stores to `out` go through L1
    shared = float(launch["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"])
    assert passes == pytest.approx(shared, rel=0.15)


def test_more_to_do_takes_longer(module: wl.Module) -> None:
    """Twice the blocks take twice as long when all SMs are busy, bank conflicts longer."""
    arguments = np.ones(1 << 20, np.float32), np.zeros(1 << 20, np.float32), np.int32(700)
    kernel, gpu = module["tile"], wl.Device("H200").gpu

    def told(grid: int, stride: int) -> float:
        walk = walked(kernel, grid, 128, *arguments, np.int32(stride))
        return cycles(walk, gpu, grid=(grid, 1, 1), resident=16.0)

    assert told(40000, 1) == pytest.approx(2 * told(20000, 1), rel=0.01)
    assert told(40000, 32) > 2 * told(40000, 1)


def test_long_ways_are_not_followed(module: wl.Module) -> None:
    """A way that would take seconds is given up."""
    walk = walked(module["endless"], 1, 32, np.zeros(1, np.int32), np.zeros(256, np.int32))
    with pytest.raises(Unknown):
        walk.go(Counted(walk, 22.5))


def test_passes_left_out_count_as_if_they_were_followed(
    module: wl.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loops whose passes are alike are closed; pieces and registers are those of every step."""
    arguments = (np.ones(1 << 16, np.float32), np.zeros(256, np.float32), np.int32(40_000),
                 np.int32(1))  # fmt: skip
    short = walked(module["tile"], 1, 96, *arguments)
    told = Counted(short, 22.5)
    short.go(told)
    monkeypatch.setattr(Loop, "goes_on", lambda self: None)
    every = walked(module["tile"], 1, 96, *arguments)
    stepped = Counted(every, 22.5)
    every.go(stepped)

    assert 3 * short._computed < every._computed
    assert len(told.pieces) == len(stepped.pieces)
    for one, other in zip(told.pieces, stepped.pieces, strict=True):
        for name in ("issued", "passes", "sectors", "touched", "alone", "far"):
            assert getattr(one, name) == pytest.approx(getattr(other, name)), name
