"""Static shared memory beyond the 48 KiB at which nvcc stops: other compilers' cubins have it."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import warplens as wl
from tests.forms.patched import compiled
from tests.in_turn import one_in
from warplens.errors import LaunchError
from warplens.toolchain.elf import ElfFile

SOURCE = """
extern "C" __global__ void far(int* out, int words) {
    __shared__ int first[64];
    int i = threadIdx.x;
    *(volatile int*)(first + words - 64 + i) = 3 * i;
    __syncthreads();
    out[i] = *(volatile int*)(first + words - 1 - i);
}
"""


def enlarged(cubin: bytes, kernel: str, size: int) -> bytes:
    """The cubin with a shared section of another size."""
    index = next(s.index for s in ElfFile(cubin).sections if s.name == f".nv.shared.{kernel}")
    table, entry = struct.unpack_from("<Q", cubin, 40)[0], 64
    place = table + entry * index + 32
    return cubin[:place] + struct.pack("<Q", size) + cubin[place + 8 :]


@pytest.mark.parametrize(("architecture", "most"), one_in(
    4, [(80, 163), (89, 99), (90, 227), (120, 99)],
    lambda case: "-".join(map(str, case)), first=2, several=True,
))
def test_static_shared_memory_up_to_the_opt_in_limit(architecture: int, most: int) -> None:
    """A block gets all that the GPU has, and no more (CUDA's table of compute capabilities)."""
    device = wl.Device(f"sm_{architecture}")
    reserved = 1024 if architecture >= 90 else 0
    cubin = compiled(SOURCE, architecture)
    out = np.zeros(64, np.int32)
    large = device.load(enlarged(cubin, "far", most * 1024 + reserved))["far"]
    assert large.static_shared == most * 1024
    launch = large[1, 64](out, np.int32(most * 256))
    np.testing.assert_array_equal(out, 3 * np.arange(63, -1, -1))
    assert launch.metric("launch__occupancy_limit_shared_mem") == 1

    too_large = device.load(enlarged(cubin, "far", most * 1024 + 16 + reserved))["far"]
    with pytest.raises(LaunchError, match="shared memory"):
        too_large[1, 64](out, np.int32(64))
