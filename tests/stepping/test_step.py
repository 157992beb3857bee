"""Stepping a warp: the steps of all warps add up to what the launch counted."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import warplens as wl
from warplens.session.kept import KEPT_BYTES, keep

CUDA = """
__global__ void mixed(const float* in, float* out, int n) {
    __shared__ float part[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < n ? in[i] : 0;
    if (threadIdx.x % 2) x = x * 2 + 1;
    else for (int j = 0; j < int(threadIdx.x) % 5; j++) x += j;
    part[threadIdx.x] = x;
    __syncthreads();
    if (i < n) out[i] = part[63 - threadIdx.x] + in[(i * 9) % n];
}
__global__ void twice(float* data) { data[threadIdx.x] = data[threadIdx.x] * 2; }
__global__ void wait(volatile int* flag) {
    if (blockIdx.x == 0) { while (*flag == 0) {} } else *flag = 1;
}
__constant__ int table[64];
__global__ void look_up(const int* index, int* out) {
    int i = threadIdx.x;
    out[i] = table[index[i]] + __match_any_sync(~0u, index[i] & 3);
}
"""
N, BLOCKS = 250, 4


@pytest.fixture(scope="module")
def module() -> wl.Module:
    """The kernels."""
    return wl.Device("H200").compile(CUDA)


@pytest.fixture(scope="module")
def run(module: wl.Module) -> wl.Launch:
    """A divergent kernel with shared memory, loops and a partial last block."""
    data = np.arange(N, dtype=np.float32)
    return module["mixed"][BLOCKS, 64](data, np.zeros(N, np.float32), N)


def test_steps_add_up(run: wl.Launch) -> None:
    """Over all warps: executions, lanes, true guards and sectors are those of the counters."""
    index = {one.address: i for i, one in enumerate(run.execution.kernel.instructions)}
    size = len(index)
    executed, lanes, true = (np.zeros(size, np.int64) for _ in range(3))
    sectors = np.zeros(size, np.int64)
    for block in range(BLOCKS):
        for warp in range(2):
            for step in run.step(block, warp):
                at = index[step.instruction.address]
                executed[at] += 1
                lanes[at] += step.mask.bit_count()
                true[at] += step.executing.bit_count()
                sectors[at] += sum(len(a.sectors) for a in step.accesses if a.space == "global")
    columns = run.execution.columns
    guarded = np.array(
        [o.guard is None or o.opcode not in ("BRA", "EXIT") for o in
         run.execution.kernel.instructions]
    )  # fmt: skip

    assert (executed == columns["inst_executed"]).all()
    assert (lanes == columns["thread_inst_executed"]).all()
    assert (true == columns["thread_inst_executed_true"])[guarded].all()
    assert (sectors == columns["global_sectors"]).all()


def test_registers_hold_what_is_stored(run: wl.Launch) -> None:
    """The register of the final store holds the kernel's result, lane by lane."""
    values = np.arange(256, dtype=np.float32)
    lane = np.arange(64)
    expected = {}
    for block in range(BLOCKS):
        x = np.where(values[block * 64 :][:64] < N, values[block * 64 :][:64], 0)
        x = np.where(lane % 2, x * 2 + 1, x + [sum(range(t % 5)) for t in lane])
        expected[block] = x[::-1]
    stepper = run.step(block=1, warp=1)
    store = stepper.find("STG")
    stored = store.register(store.instruction.operands[-1].index).view(np.float32)
    far = values[(np.arange(64 + 32, 128) * 9) % N]

    assert (stored == expected[1][32:] + far).all()
    assert store.accesses[0].is_store and len(store.accesses[0].addresses) == 32


def test_forward_and_back(run: wl.Launch) -> None:
    """A position moves both ways, and the printed step names SASS, line, lanes and registers."""
    stepper = run.step()
    first = str(stepper)
    stepper.forward(5)
    later = str(stepper)
    stepper.back(5)

    assert str(stepper) == first != later
    assert stepper.goto(len(stepper) - 1).instruction.opcode == "EXIT"
    assert "step 1 of" in first and "#" * 32 in first
    assert "kernel.cu:" in later
    with pytest.raises(wl.InputError, match="outside"):
        stepper.goto(len(stepper))
    with pytest.raises(wl.InputError, match="no later step"):
        stepper.goto(0) and stepper.find("HMMA")


def test_divergence_is_visible(run: wl.Launch) -> None:
    """In the divergent part the odd and the even lanes run apart."""
    masks = {step.mask for step in run.step()}

    assert {0xFFFFFFFF, 0xAAAAAAAA} <= masks


def test_shared_banks(run: wl.Launch) -> None:
    """The reversed read of shared memory needs one word of each of 32 banks."""
    stepper = run.step()
    access = stepper.find("LDS").accesses[0]

    assert access.space == "shared" and len(access.banks) == 32
    assert all(len(words) == 1 for words in access.banks.values())


def test_arrays_as_before_the_launch(module: wl.Module) -> None:
    """A kernel that changes its input is stepped on the input, and changes nothing again."""
    data = np.ones(32, np.float32)
    run = module["twice"][1, 32](data)
    step = run.step().find("STG")
    value = step.register(step.instruction.operands[-1].index).view(np.float32)

    assert (value == 2).all() and (data == 2).all()


def test_large_arrays(module: wl.Module) -> None:
    """Arrays too large to copy are seen as they are, which is said; gone ones raise."""
    data = np.ones(KEPT_BYTES // 4 + 1, np.float32)
    run = module["twice"][1, 32](data)
    stepper = run.step()
    value = stepper.find("STG").state

    assert "too large to copy" in stepper.notes[0] and len(value)
    kept = keep((np.ones_like(data),))
    gc.collect()
    with pytest.raises(wl.LaunchError, match="no longer exists"):
        kept.restored()


def test_bad_places(run: wl.Launch) -> None:
    """Blocks and warps that the launch does not have are refused."""
    for block, warp in ((4, 0), (0, 2), (-1, 0)):
        with pytest.raises(wl.InputError, match="4 blocks of 2 warps"):
            run.step(block, warp)


def test_constants_by_index_and_matches_are_no_accesses(module: wl.Module) -> None:
    """The timing model watches both; a step shows accesses to memory only."""
    out = np.zeros(32, np.int32)
    launch = module["look_up"][1, 32](np.arange(32, dtype=np.int32), out)
    spaces = [a.space for step in launch.step(0, 0) for a in step.accesses]
    assert spaces == ["global", "global"]
    same = np.array([0x11111111 << i % 4 for i in range(32)], np.uint32)
    assert (out.view(np.uint32) == same).all()
