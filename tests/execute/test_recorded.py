"""What is told of one of several blocks that were recorded whole in one run."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.errors import TimingUnavailable
from warplens.execute.executable import KernelCode
from warplens.execute.grid import LaunchConfig, ModuleImage, execute
from warplens.execute.memory import DeviceMemory
from warplens.execute.recorded import Recorded
from warplens.execute.recorder import Recorder
from warplens.execute.trace import BlockTrace
from warplens.lift import layout as at
from warplens.timing import sample as sampling

SOURCE = r"""
__constant__ float table[4096];
extern "C" __global__ void spaces(const float* a, float* b, int* sums, int turns) {
    __shared__ float t[64];
    __shared__ unsigned long long bar;
    float own[32];
    unsigned place = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(place) : "memory");
    for (int k = 0; k < 32; k++) own[k] = a[(k + blockIdx.x) & 31];
    __syncthreads();
    for (int k = 0; k < turns + (blockIdx.x & 3); k++) {
        t[threadIdx.x] = own[(k * 7 + threadIdx.x) & 31] + table[(k + threadIdx.x * 40) & 4095];
        asm volatile("{ .reg .b64 s; .reg .pred p; mbarrier.arrive.shared.b64 s, [%0];\n"
                     "again: mbarrier.try_wait.shared.b64 p, [%0], s;\n"
                     "@!p bra again; }" :: "r"(place) : "memory");
        own[k & 31] = t[threadIdx.x ^ 33] + a[(threadIdx.x * 5 + k * 64) & 1023];
        atomicAdd(sums + (threadIdx.x & 7), blockIdx.x);
        __syncthreads();
    }
    b[blockIdx.x * blockDim.x + threadIdx.x] = own[threadIdx.x & 31];
}
"""
BLOCKS = 6


def _recorded(recorder: Recorder) -> tuple[Recorded, list[Any]]:
    """A launch of blocks of 64 threads that a recorder looks on, and the kernel's lifted blocks."""
    lifted: list[Any] = []

    def run(code: KernelCode, image: ModuleImage, memory: DeviceMemory,
            config: LaunchConfig, *_: Any, **__: Any) -> None:  # fmt: skip
        program = code.traced()
        lifted.extend(program.lifted.layout.blocks)
        quiet = replace(config, observer=recorder.observer, restore=True, workers=1)
        execute(program, image, memory, quiet)

    arrays = np.ones(1024, np.float32), np.zeros(BLOCKS * 64, np.float32), np.zeros(8, np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "record", run)
        with pytest.raises(TimingUnavailable):
            wl.Device("H200").compile(SOURCE)["spaces"].predict[BLOCKS, 64](*arrays, 5)
    return recorder.recorded(), lifted


def _assert_equal(one: BlockTrace, other: BlockTrace) -> None:
    for field in fields(BlockTrace):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        np.testing.assert_array_equal(mine, theirs, err_msg=field.name)


@pytest.mark.parametrize("block", [0, 2, 5])
def test_a_block_is_told_as_if_it_alone_had_been_recorded(block: int) -> None:
    several, lifted = _recorded(Recorder(BLOCKS, whole=np.array([0, 2, 5])))
    alone, _ = _recorded(Recorder(BLOCKS, first=block, whole=np.array([block])))
    assert len(several.lines) > len(alone.lines)

    mine = several.of_block(block).trace(lifted, 2, BLOCKS)

    _assert_equal(mine, alone.trace(lifted, 2, BLOCKS))


def test_such_a_launch_goes_to_all_kinds_of_memory() -> None:
    found, _ = _recorded(Recorder(BLOCKS, whole=np.array([0])))
    spaces = {
        at.SPACE_GLOBAL,
        at.SPACE_SHARED,
        at.SPACE_LOCAL,
        at.SPACE_CONSTANT,
        at.SPACE_MBARRIER,
    }
    assert spaces <= set(found.accesses["space"].tolist())
    assert found.phases.any()
