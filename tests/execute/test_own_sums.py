"""Workers that add to sums of their own give what adding in memory gives."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions
from warplens.execute.own_sums import OwnSums

SOURCE = r"""
extern "C" __global__ void add(const unsigned* in, unsigned* bins, unsigned mask) {
    atomicAdd(&bins[in[blockIdx.x * 256 + threadIdx.x] & mask], 1u + threadIdx.x);
}
extern "C" __global__ void add_long(const unsigned* in, unsigned long long* bins, unsigned mask) {
    atomicAdd(&bins[in[blockIdx.x * 256 + threadIdx.x] & mask], 0xfffffff0ull + threadIdx.x);
}
extern "C" __global__ void add_both(unsigned* few, unsigned* many) {
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    atomicAdd(&few[i % 37], i);
    atomicAdd(&many[i * 8 % (1 << 19)], i);
}
extern "C" __global__ void largest(unsigned* sum, unsigned* most) {
    atomicAdd(sum, 1u);
    atomicMax(most, blockIdx.x * 256 + threadIdx.x);
}
extern "C" __global__ void last_looks(unsigned* sum, unsigned* seen) {
    atomicAdd(sum, 1u);
    if (threadIdx.x == 0) seen[blockIdx.x] = *sum;
}
"""
BLOCKS = 512
THREADS = np.tile(np.arange(256, dtype=np.uint64), BLOCKS)


@pytest.fixture(scope="module")
def module() -> wl.Module:
    """The kernels, for two workers."""
    device = wl.Device("H200", options=LaunchOptions(workers=2, timing=False))
    return device.compile(SOURCE)


@pytest.mark.parametrize("name", ["add", "add_long"])
def test_sums(module: wl.Module, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """32 and 64 bits, on top of what was there; the sums are the workers' own."""
    taken: list[int] = []
    plain = OwnSums.for_worker
    monkeypatch.setattr(
        OwnSums, "for_worker", lambda own, segment: taken.append(plain(own, segment)) or taken[-1]
    )
    kind = np.uint32 if name == "add" else np.uint64
    keys = np.random.default_rng(1).integers(0, 1 << 32, BLOCKS * 256, dtype=np.uint32)
    bins = np.arange(1000, 1064, dtype=kind)
    expected = bins.astype(np.uint64)
    what = THREADS + np.uint64(1 if name == "add" else 0xFFFFFFF0)
    np.add.at(expected, keys & 63, what)
    result = module[name][BLOCKS, 256](keys, bins, 63)
    assert np.array_equal(bins, expected.astype(kind))
    assert taken and all(taken)
    assert not result.execution.ordered


def test_large_allocations_are_shared(module: wl.Module) -> None:
    """One array is summed by each worker, another is too large for that."""
    few, many = np.zeros(37, np.uint32), np.zeros(1 << 19, np.uint32)
    i = np.arange(BLOCKS * 256, dtype=np.uint32)
    expected_few, expected_many = np.zeros_like(few), np.zeros_like(many)
    np.add.at(expected_few, i % 37, i)
    np.add.at(expected_many, i * 8 % (1 << 19), i)
    module["add_both"][BLOCKS, 256](few, many)
    assert np.array_equal(few, expected_few) and np.array_equal(many, expected_many)


def test_other_operations(module: wl.Module) -> None:
    """A kernel that also looks for the largest number sums in memory."""
    total, most = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    module["largest"][BLOCKS, 256](total, most)
    assert total[0] == BLOCKS * 256 and most[0] == BLOCKS * 256 - 1


def test_who_looks_starts_over(module: wl.Module) -> None:
    """A sum that is read while others add needs the blocks' order; nothing is added twice."""
    total, seen = np.full(1, 5, np.uint32), np.zeros(BLOCKS, np.uint32)
    module["last_looks"][BLOCKS, 256](total, seen)
    assert total[0] == 5 + BLOCKS * 256
    assert np.all(np.diff(seen.astype(np.int64)) > 0) and seen[-1] <= total[0]
