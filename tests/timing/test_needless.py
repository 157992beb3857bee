"""Traces without the values on which nothing depends are those with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tests.kernels.every  # noqa: F401
import warplens as wl
from tests.in_turn import one_in
from tests.kernels.model import CASES, Case
from warplens.execute import grid
from warplens.execute.executable import KernelCode
from warplens.execute.trace import BlockTrace
from warplens.timing.ground import Sample

ARCHITECTURE = "sm_90"
TABLES = ("entries", "accesses", "lines", "context", "warp_entries")
FIRST_OF_KERNELS = list({(case.path, case.kernel): case for case in CASES}.values())


def found(case: Case) -> tuple[Sample, KernelCode]:
    """A case's sample for a prediction, and its kernel's programs."""
    module = wl.Device(ARCHITECTURE).compile(case.path, options=case.options)
    arguments, _ = case.problem()
    launch = module[case.kernel].predict[case.grid, case.block, 0, case.shared](*arguments)
    return launch.timing.sample, module[case.kernel]._code


def is_same(one: BlockTrace, other: BlockTrace) -> bool:
    """Whether two traces hold the same."""
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in TABLES)


@pytest.mark.parametrize("case", one_in(9, FIRST_OF_KERNELS, lambda case: case.name))
def test_traces_are_the_same(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is executed, where it goes and what is counted does not depend on them."""
    sample, _ = found(case)
    monkeypatch.setattr(KernelCode, "_needless", lambda self, guards: frozenset())
    whole, _ = found(case)

    assert is_same(sample.trace, whole.trace)
    assert sample.executed == whole.executed
    for name, counts in whole.execution.columns.items():
        assert np.array_equal(sample.execution.columns[name], counts), name


SOURCE = """
extern "C" __global__ void products(const float *a, float *out, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i)
        sum += a[i * 32 + threadIdx.x] * sum;
    out[threadIdx.x] = sum;
}
extern "C" __global__ void until(const float *a, float *out, float end) {
    float sum = 0.0f;
    for (int i = 0; sum < end; ++i)
        sum += a[i * 32 + threadIdx.x] * 2.0f;
    out[threadIdx.x] = sum;
}
extern "C" __global__ void index(const float *a, float *out, int n) {
    out[(int)(a[threadIdx.x] * 3.0f)] = a[threadIdx.x] * 5.0f;
}
extern "C" __global__ void by_shared(const float *a, float *out, float scale) {
    __shared__ float kept[32];
    kept[threadIdx.x] = threadIdx.x * scale;
    __syncthreads();
    out[(int)kept[threadIdx.x ^ 1]] = a[threadIdx.x] * 5.0f;
}
extern "C" __global__ void guarded(const float *a, float *out) {
    float x = a[threadIdx.x];
    float y = x * 7.0f;
    if (x < 0.5f) y = x * y * x;
    out[threadIdx.x] = y;
}
extern "C" __global__ void shuffled(const float *a, float *out, float scale) {
    float x = threadIdx.x * scale;
    out[(int)__shfl_xor_sync(0xffffffff, x, 1)] = a[threadIdx.x] * 5.0f;
}
extern "C" __global__ void halves(const float *a, float *out, int n) {
    float x = a[threadIdx.x], y = x;
    for (int i = 0; i < n; ++i) {
        y = y * 0.5f + x;
        if (y < 0.7f) y = y * y;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = y;
}
extern "C" __global__ void steps(const float *a, float *out, int n) {
    __shared__ float tile[256];
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        tile[threadIdx.x] = a[threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 256; ++k)
            sum += tile[k] * sum;
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
"""


@pytest.fixture(scope="module")
def module() -> wl.Module:
    """The kernels, compiled."""
    return wl.Device(ARCHITECTURE).compile(SOURCE)


@pytest.mark.parametrize(("name", "counts", "needless", "needed"), [
    ("products", True, {"FFMA"}, {"IMAD", "ISETP"}),  # only its loop and its addresses matter
    ("until", True, set(), {"FFMA"}),  # the sum ends the loop
    ("index", True, set(), {"F2I", "FMUL"}),  # what is stored may be an address later
    ("by_shared", True, {"FMUL"}, {"F2I"}),  # one by way of shared memory
    ("guarded", True, set(), {"FSETP"}),  # lanes under a guard are counted
    ("guarded", False, {"FSETP", "FMUL"}, set()),  # where they need not be
    ("shuffled", True, {"FMUL"}, {"SHFL", "F2I"}),  # one by way of another lane
])  # fmt: skip
def test_what_is_needless(module: wl.Module, name: str, counts: bool, needless: set[str],
                          needed: set[str]) -> None:  # fmt: skip
    """Values that lead to no branch, guard or address; in kernels with both, one of two products
    stays."""
    code = module[name]._code
    found = code._needless(counts)
    opcodes = [inst.opcode for inst in code.sass.instructions]
    gone = {opcodes[i] for i in found}
    stays = {opcode for i, opcode in enumerate(opcodes) if i not in found}

    assert needless <= gone
    assert needed <= stays
    if "FMUL" in needless and "F2I" in needed:
        assert "FMUL" in stays


def test_a_window_ends_its_block_at_a_loop_around_barriers(
    module: wl.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a window the rest of a block is not run, whether or not its loop has barriers."""
    runs: list[tuple[int, int]] = []  # blocks and instructions of each run
    plain = grid.execute

    def execute(*given: Any) -> Any:
        done = plain(*given)
        order = given[3].block_order
        runs.append((len(order), int(done.columns["inst_executed"].sum())))
        return done

    monkeypatch.setattr(grid, "execute", execute)
    a, out = np.ones(256, np.float32), np.zeros(256 * 528, np.float32)
    module["steps"].predict[528, 256](a, out, 1500).timing  # noqa: B018
    of_one = runs[0][1] / runs[0][0]
    blocks, instructions = runs[-1]

    assert blocks > 80
    assert instructions < 0.2 * blocks * of_one


def test_lanes_under_guards_are_counted_in_long_blocks(module: wl.Module) -> None:
    """Where a guard only guards values, a few blocks tell what part of the lanes it lets pass."""
    shape, a = (528, 64), np.linspace(0.0, 1.0, 64, dtype=np.float32)
    name = "smsp__thread_inst_executed_pred_on.sum"
    out = np.zeros(shape[0] * shape[1], np.float32)
    predicted = module["halves"].predict[shape](a, out, 80_000)
    assert predicted.timing.sample.windows
    ran = module["halves"][shape](a, out, 80_000)

    assert ran.metric(name) < 0.99 * ran.metric("smsp__thread_inst_executed.sum")
    assert predicted.metric(name) == pytest.approx(ran.metric(name), rel=1e-3)


SPILLING = """
__constant__ int at[768];
extern "C" __global__ void spilling(const float *a, float *out, int n) {
    float sums[24];
    int places[24];
    for (int k = 0; k < 24; ++k) sums[k] = 0.0f, places[k] = at[k * 32 + threadIdx.x];
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < 24; ++k) {
            float x = a[(places[k] + i) & 1023];
            for (int j = 0; j < 24; ++j) sums[j] = sums[j] * x + (float)j;
        }
    for (int k = 0; k < 24; ++k) out[k * 32 + threadIdx.x] = sums[k];
}
"""


def test_spilled_values_are_told_from_spilled_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of words on the stack, those that hold addresses need what is stored there."""
    module = wl.Device(ARCHITECTURE).compile(SPILLING, options=["--maxrregcount=32"])
    code = module["spilling"]._code
    opcodes = [inst.opcode for inst in code.sass.instructions]
    found = code._needless(True)
    assert "LDL" in opcodes
    assert sum(opcodes[i] == "FFMA" for i in found) > 500

    a, out = np.ones(1024, np.float32), np.zeros(768, np.float32)
    given = a, out, 3
    sample = module["spilling"].predict[4, 32](*given).timing.sample
    monkeypatch.setattr(KernelCode, "_needless", lambda self, guards: frozenset())
    module = wl.Device(ARCHITECTURE).compile(SPILLING, options=["--maxrregcount=32"])
    assert is_same(sample.trace, module["spilling"].predict[4, 32](*given).timing.sample.trace)
