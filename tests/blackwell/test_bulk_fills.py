"""Bulk fills of shared memory (st.bulk) of sm_100 to sm_120."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from tests.in_turn import one_in
from warplens import Device, WarplensError

ARCHITECTURES = ["100a", "103a", "110a", "120a"]
SOURCE = """
extern __shared__ __align__(16) unsigned words[];
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void filled(unsigned first, unsigned long long bytes, unsigned *out) {
  for (int i = threadIdx.x; i < 512; i += 64) words[i] = i + 1;
  __syncthreads();
  if (threadIdx.x == 37)
    asm volatile("st.bulk.weak.shared::cta [%0], %1, 0;" :: "r"(at(words) + first), "l"(bytes) : "memory");
  __syncthreads();
  for (int i = threadIdx.x; i < 512; i += 64) out[i] = words[i];
}
extern "C" __global__ void by_every_lane(unsigned *out) {  // generic addresses
  for (int i = threadIdx.x; i < 512; i += 64) words[i] = i + 1;
  __syncthreads();
  if (threadIdx.x % 3 == 0)
    asm volatile("st.bulk.weak [%0], 16, 0;" :: "l"(words + 8 * threadIdx.x) : "memory");
  __syncthreads();
  for (int i = threadIdx.x; i < 512; i += 64) out[i] = words[i];
}
extern "C" __global__ void read_at_once(unsigned *out) {  // what nobody has waited for
  if (threadIdx.x == 0) asm volatile("st.bulk.weak.shared::cta [%0], 512, 0;" :: "r"(at(words)) : "memory");
#ifndef BUGGED
  __syncthreads();
#endif
  out[threadIdx.x] = words[threadIdx.x];
}
"""  # noqa: E501


@lru_cache(maxsize=8)
def module(architecture: str, *options: str) -> Any:
    """All kernels."""
    return Device(f"sm_{architecture[:-1]}").compile(
        SOURCE, options=[f"-arch=sm_{architecture}", *options]
    )


@pytest.mark.parametrize("architecture", one_in(2, ARCHITECTURES, str, first=1))
@pytest.mark.parametrize(("first", "size"), [(0, 2048), (8, 24), (256, 1024), (64, 0)])
def test_zeros(architecture: str, first: int, size: int) -> None:
    """The bytes from an address on, and no others."""
    out, wanted = np.zeros(512, np.uint32), np.arange(1, 513, dtype=np.uint32)

    result = module(architecture)["filled"][1, 64, 0, 2048](first, size, out)

    wanted[first // 4 : (first + size) // 4] = 0
    assert np.array_equal(out, wanted)
    assert result.metric("gpu__time_duration.sum") > 0


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_lanes_with_places_of_their_own(architecture: str) -> None:
    """Each lane fills what it names."""
    out = np.zeros(512, np.uint32)

    module(architecture)["by_every_lane"][1, 64, 0, 2048](out)

    wanted = np.arange(1, 513, dtype=np.uint32).reshape(64, 8)
    wanted[::3, :4] = 0
    assert np.array_equal(out, wanted.reshape(-1))


@pytest.mark.parametrize(("first", "size", "says"), [(2040, 16, "shared"), (4, 8, "aligned")])
def test_misuse(first: int, size: int, says: str) -> None:
    """Behind the block's shared memory, and places that are no multiple of 8."""
    with pytest.raises(WarplensError, match=says):
        module("100a")["filled"][1, 64, 0, 2048](first, size, np.zeros(512, np.uint32))


def test_sanitizers() -> None:
    """Filled bytes are written ones; who reads them without a barrier races."""
    out = np.zeros(128, np.uint32)

    right = module("100a")["read_at_once"].sanitize[1, 128, 0, 512](out)
    racy = module("100a", "-DBUGGED")["read_at_once"].sanitize[1, 128, 0, 512](out)

    assert not right.findings, str(right)
    assert {finding.tool for finding in racy.findings} == {"racecheck"}
