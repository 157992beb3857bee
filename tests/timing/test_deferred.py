"""Times asked for after the launch: the same as taken before it, whatever has become of arrays."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from warplens.execute import buffers
from warplens.timing import deferred

TIME = "gpu__time_duration.sum"
SOURCE = """
extern "C" __global__ void walk(const int* in, int* out, int n) {  // ways follow from parameters
    __shared__ int part[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    part[t] = i < n ? in[i] : 0;
    for (int d = 64; d; d /= 2) {
        __syncthreads();
        if (t < d) part[t] += part[t + d];
    }
    if (t == 0) atomicAdd(out, part[0]);
}
extern "C" __global__ void masked(const int* in, int* out, int n) {  // a value is chosen, no way
    int i = blockIdx.x * 128 + threadIdx.x;
    out[i] = in[i] > 3 ? in[i] * n : 7;
}
extern "C" __global__ void switched(const int* in, int* out, int n) {  // guards alone depend
    int i = blockIdx.x * 128 + threadIdx.x, v = in[i], w = v * n;
    asm("{.reg .pred p; setp.gt.s32 p, %1, 3; @p mad.lo.s32 %0, %0, %2, %1;"
        " @p popc.b32 %0, %0;}" : "+r"(w) : "r"(v), "r"(n));
    out[i] = w;
}
extern "C" __global__ void branch(const int* in, int* out, int n) {
    int i = blockIdx.x * 128 + threadIdx.x, sum = 0;
    for (int k = 0; k < in[i]; ++k) sum += k ^ sum;
    out[i] = sum;
}
extern "C" __global__ void gather(const int* in, int* out, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    out[i] = in[in[i]];
}
extern "C" __global__ void guarded(const int* in, int* out, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (in[i] > 3) out[i] = 1;
}
extern "C" __global__ void asked(const int* in, int* out, int n) {  // by way of another lane
    int i = blockIdx.x * 128 + threadIdx.x;
    int j = __shfl_sync(~0u, in[i], 0);
    out[(i + j) % n] = 1;
}
extern "C" __global__ void table(const int* in, int* out, int n) {  // by way of shared memory
    __shared__ int place[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    place[threadIdx.x] = in[i];
    __syncthreads();
    out[place[127 - threadIdx.x] % n] = 1;
}
extern "C" __global__ void timed(const int* in, int* out, int n) {
    long long begin = clock64();
    if (begin & 1) out[threadIdx.x] = in[threadIdx.x];
}
__constant__ int setting = 3;
extern "C" __global__ void settings(const int* in, int* out, int n) {
    for (int i = 0; i < setting; ++i) out[blockIdx.x * 128 + threadIdx.x] += i;
}
"""
BLIND = ("walk", "masked", "switched")
SEEING = ("branch", "gather", "guarded", "asked", "table", "timed", "settings")
N = 16 * 128


def arguments(seed: int) -> tuple[Any, ...]:
    """Small numbers and an empty result."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 64, N, dtype=np.int32), np.zeros(N, np.int32), N


def kernel(name: str) -> Any:
    """A kernel on a device of its own, so that addresses are those of a first launch."""
    return wl.Device("H200").compile(SOURCE)[name]


def taken_at_once(name: str, given: tuple[Any, ...]) -> float:
    """A prediction samples the arrays themselves, before anything runs."""
    return float(kernel(name).predict[16, 128](*given).metric(TIME))


@pytest.mark.parametrize("name", [*BLIND, *SEEING])
def test_dependence_is_known(name: str) -> None:
    """Only what decides branches, guards accesses or is part of an address counts."""
    code = kernel(name)[16, 128]._code

    assert code.depends_on_memory == (name in SEEING)


@pytest.mark.parametrize("name", one_in(5, [*BLIND, *SEEING], str))
def test_time_is_the_same_as_if_taken_at_once(name: str) -> None:
    """Arrays may have been overwritten meanwhile, by the kernel or by the program."""
    given = arguments(1)
    run = kernel(name)[16, 128](*given)
    given[0][:], given[1][:] = 1, 5
    del given
    gc.collect()

    assert run.metric(TIME) == taken_at_once(name, arguments(1))


def test_what_is_tested_depends_on_arrays() -> None:
    """Else the test above could not fail: with other arrays the time is another one."""
    ones = np.ones(N, np.int32), np.full(N, 5, np.int32), N

    assert taken_at_once("branch", arguments(1)) != taken_at_once("branch", ones)


@pytest.mark.parametrize("name", BLIND)
def test_predicted_counts_are_those_of_the_arrays(name: str) -> None:
    """Lanes for which an instruction is switched off follow from data in some kernels."""
    counts = "smsp__thread_inst_executed_pred_on.sum", "smsp__thread_inst_executed.sum"
    code, given = kernel(name), arguments(1)
    for small in (False, True):  # the second time a model may be shared
        if small:
            given[0][:] = 0
        told, run = code.predict[16, 128](*given), code[16, 128](*given)
        for metric in counts:
            assert told.metric(metric) == run.metric(metric)


def test_nothing_is_traced_until_a_time_is_asked_for() -> None:
    """Counters alone need no observed run."""
    launch = kernel("walk")[16, 128]
    run = launch(*arguments(1))

    assert run.metric("smsp__inst_executed.sum") and not launch._code._watched
    assert run.metric(TIME) and launch._code._watched


def test_launches_that_do_the_same_share_a_model() -> None:
    """If they do not look at arrays, all of one shape; else those of equal arrays."""
    walk, branch = kernel("walk")[16, 128], kernel("branch")[16, 128]
    other = kernel("walk")

    def model(launch: Any, seed: int) -> Any:
        return launch(*arguments(seed)).timing.model

    assert model(walk, 1) is model(walk, 2)
    assert model(branch, 1) is model(branch, 1)
    assert model(branch, 1) is not model(branch, 2)
    first, second, n = arguments(1)
    swapped = branch(second, first, n)
    assert swapped.timing.model is not model(branch, 1)
    assert model(other[8, 128], 1) is not model(other[16, 128], 1)


def test_what_models_have_made_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of launches whose times were asked for only as many are kept as fit, with all they hold."""
    walk, limit = kernel("walk"), 2 << 20
    monkeypatch.setattr(deferred, "_SHARED_BYTES", limit)
    monkeypatch.setattr(deferred, "_shared", type(deferred._shared)())
    most = 0
    for blocks in (16, 17, 18, 19, 20, 21):
        timed = walk[blocks, 128](*arguments(blocks))
        timed.metric(TIME)
        most = max(most, deferred.held_bytes(timed._timing))
        assert sum(map(deferred.held_bytes, deferred._shared.values())) <= limit + most

    assert most > 2 * timed._timing.sample.nbytes
    assert 0 < len(deferred._shared) < 6


def test_too_many_copies_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest launches are traced when copies of arrays would take too much memory."""
    monkeypatch.setattr(deferred, "_WAITING_BYTES", 5 * 2 * N)
    launch = kernel("branch")[16, 128]
    runs = [launch(*arguments(seed)) for seed in range(4)]
    kept = [run._timer.kept_bytes for run in runs]

    assert kept[0] == kept[1] == 0 and kept[-1] >= 4 * N
    assert [run.metric(TIME) for run in runs] == [
        pytest.approx(taken_at_once("branch", arguments(seed)), rel=0.01) for seed in range(4)
    ]


def test_large_arrays_are_sampled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than copied."""
    monkeypatch.setattr(deferred, "KEPT_BYTES", 1000)
    launch = kernel("branch")[16, 128]
    given = arguments(1)
    run = launch(*given)

    assert launch._code._watched
    assert run.metric(TIME) == taken_at_once("branch", arguments(1))


def test_arrays_that_were_traced_before_are_not_copied() -> None:
    """A digest tells; without an earlier trace of that shape there is none either."""
    launch = kernel("branch")[16, 128]
    first = launch(*arguments(1))
    assert first._timer.kept_bytes
    time = first.metric(TIME)
    same, other = launch(*arguments(1)), launch(*arguments(2))
    assert same._timer.kept_bytes == 0 and other._timer.kept_bytes
    assert same.metric(TIME) == time
    assert other.metric(TIME) == pytest.approx(taken_at_once("branch", arguments(2)), rel=0.01)


BULK = """
__device__ char name[33];  // arrays that are copied behind it do not follow at a multiple of 16
extern "C" __global__ void pieces(const int* in, int* out, int n) {
    __shared__ alignas(16) int data[256];
    __shared__ alignas(8) unsigned long long done;
    unsigned at = __cvta_generic_to_shared(&done), to = __cvta_generic_to_shared(data);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at));
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" :: "r"(at));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1], 1024, [%2];" :: "r"(to), "l"(in), "r"(at) : "memory");
    }
    __syncthreads();
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;"
                 " @!p bra W;}" :: "r"(at) : "memory");
    for (int k = 0; k < data[threadIdx.x] % 4 + n; ++k) out[threadIdx.x] += data[k] + name[k];
}
"""


@pytest.mark.parametrize("shift", [0, 1, 4])
def test_bulk_copies_from_any_place_of_the_host(shift: int) -> None:
    """Neither arrays of the host nor their copies for a time asked later lie at multiples of 16."""
    kernel = wl.Device("H200").compile(BULK)["pieces"]
    held = np.frombuffer(bytearray(1024 + shift), np.uint8)[shift:].view(np.int32)
    held[:] = np.arange(256)
    out = np.zeros(128, np.int32)

    launch = kernel[1, 128](held, out, np.int32(3))
    held[:] = 0

    rounds = np.arange(128) % 4 + 3
    np.testing.assert_array_equal(out, rounds * (rounds - 1) // 2)
    assert launch.metric(TIME) > 0


CHOOSING = """
extern "C" __global__ void pick(const float* from, const int* index, float* to) {
    int i = blockIdx.x * 128 + threadIdx.x;
    to[i] = from[index[i]];
}
extern "C" __global__ void twice(const int* from, int* index, int* to) {  // makes its own indices
    int i = blockIdx.x * 128 + threadIdx.x;
    index[i] = from[i];
    __syncthreads();
    to[index[i ^ 1]] = 1;
}
"""


def chosen(name: str, kind: type) -> Any:
    """Arguments of a kernel above from what its first two arrays hold."""
    launch = wl.Device("H200").compile(CHOOSING)[name][16, 128]
    return lambda a, b: launch(a.astype(kind), b.astype(np.int32), np.zeros(N, kind))


def test_only_arrays_that_decide_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indices are, and one trace serves whatever values they choose between."""
    monkeypatch.setattr(buffers, "_spare", [])  # a larger one may be used again
    launch, index = chosen("pick", np.float32), np.random.default_rng(1).permutation(N)
    first, again = launch(np.zeros(N), index), launch(np.ones(N), index)
    rows = launch(np.zeros(N), np.arange(N))

    assert first._timer.kept_bytes == 4 * N
    assert first.metric(TIME) == again.metric(TIME) > rows.metric(TIME)
    assert first._timing.sample is again._timing.sample is not rows._timing.sample


def test_indices_that_a_kernel_makes_itself() -> None:
    """They come from another array, which is kept then."""
    launch, index = chosen("twice", np.int32), np.random.default_rng(1).permutation(N)
    spread, rows = launch(index, np.zeros(N)), launch(np.arange(N), np.zeros(N))

    assert spread._timer.kept_bytes >= 3 * 4 * N
    assert spread.metric(TIME) > rows.metric(TIME)


def test_indices_in_the_array_that_is_written() -> None:
    """One array in two parameters: what is written into it may be an index."""
    launch = wl.Device("H200").compile(CHOOSING)["pick"][16, 128]
    both = np.arange(N, dtype=np.int32)
    run = launch(np.zeros(N, np.float32), both, both)

    assert run._timer.kept_bytes >= 2 * 4 * N
