"""Tensor copies of elements of four bits, sixteen in eight bytes (b4x16), against NumPy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from warplens import Device, MemoryFault
from warplens.driver.status import DriverError
from warplens.driver.tensor_maps import encoded

SOURCE = r"""
extern "C" __global__ void through(
    const void* from, const void* to, int x, int y, int x2, int y2, unsigned* out) {
  extern __shared__ __align__(1024) unsigned box[];
  __shared__ alignas(8) unsigned long long bar;
  unsigned b = (unsigned)__cvta_generic_to_shared(&bar);
  unsigned s = (unsigned)__cvta_generic_to_shared(box);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b));
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(b));
    asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(s), "l"(from), "r"(x), "r"(y), "r"(b) : "memory");
  }
  __syncthreads();
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;"
               " @!p bra W; }" :: "r"(b) : "memory");
  for (int i = threadIdx.x; i < 64; i += 32) out[i] = box[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(to), "r"(x2), "r"(y2), "r"(s) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
extern "C" __global__ void retype(unsigned* map) {
  asm volatile("tensormap.replace.tile.elemtype.global.b1024.b32 [%0], 13;" :: "l"(map));
}
"""
ROWS, COLUMNS = 21, 192  # elements; a box has 8 rows of 64
B4X16, U8 = 13, 0  # the driver's numbers
Bytes = npt.NDArray[np.uint8]


@lru_cache
def module(architecture: str) -> Any:
    """The kernels for one architecture."""
    return Device(f"sm_{architecture[:-1]}").compile(SOURCE, options=[f"-arch=sm_{architecture}"])


def map_of(device: Any, tensor: Any, *, kind: int = B4X16, swizzle: int = 0) -> Any:
    """A map on the device of a tensor there."""
    data = encoded(
        kind=kind, address=tensor.address, sizes=(COLUMNS, ROWS), strides=(COLUMNS // 2,),
        box=(64, 8), steps=(1, 1), interleave=0, swizzle=swizzle, fill=0,
    )  # fmt: skip
    return device.to_device(np.frombuffer(data, np.uint32).copy())


def elements(packed: Bytes) -> Bytes:
    """Two of a byte, the lower four bits first."""
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1)


@pytest.mark.parametrize("architecture", ["100a", "103a"])
@pytest.mark.parametrize("at", [(0, 0), (96, 5), (160, 17), (-32, -3)])
@pytest.mark.parametrize("is_retyped", [False, True])
def test_boxes(architecture: str, at: tuple[int, int], is_retyped: bool) -> None:
    """Coordinates count elements; what lies outside is zero, and is not stored."""
    device = module(architecture).device
    given = np.random.default_rng(3).integers(0, 256, (ROWS, COLUMNS // 2)).astype(np.uint8)
    tensor, other = device.to_device(given), device.to_device(np.zeros_like(given))
    source = map_of(device, tensor, kind=U8 if is_retyped else B4X16)
    if is_retyped:  # sizes, box and strides are the same numbers
        module(architecture)["retype"][1, 1](source)
    out = np.zeros(64, np.uint32)
    module(architecture)["through"][1, 32, 0, 1024](
        source, map_of(device, other), *at, 64, 16, out
    )
    wide = np.pad(elements(given), 64)
    box = wide[64 + at[1] : 72 + at[1], 64 + at[0] : 128 + at[0]]
    stored = np.zeros((ROWS, COLUMNS), np.uint8)
    stored[16:, 64:128] = box[: ROWS - 16]

    assert np.array_equal(elements(out.view(np.uint8).reshape(8, 32)), box)
    assert np.array_equal(elements(other.copy_to_host()), stored)


def test_a_swizzle_moves_pieces_of_16_bytes() -> None:
    """A box's row of 64 elements has two; they change places in every second group of rows."""
    device = module("100a").device
    given = np.random.default_rng(4).integers(0, 256, (ROWS, COLUMNS // 2)).astype(np.uint8)
    maps = map_of(device, device.to_device(given), swizzle=1)
    out = np.zeros(64, np.uint32)
    module("100a")["through"][1, 32, 0, 1024](maps, maps, 0, 0, 0, 0, out)
    pieces = given[:8, :32].reshape(16, 16)
    place = np.arange(16) ^ (np.arange(16) >> 3 & 1)

    assert np.array_equal(out.view(np.uint8).reshape(16, 16)[place], pieces)


def test_what_does_not_begin_at_16_bytes_is_refused() -> None:
    """Half a byte, or a byte, off is a fault; an odd row, a box of 8 bytes no map."""
    device = module("100a").device
    maps = map_of(device, device.to_device(np.zeros((ROWS, COLUMNS // 2), np.uint8)))
    for x in (1, 2):
        with pytest.raises(MemoryFault):
            module("100a")["through"][1, 32, 0, 1024](maps, maps, x, 0, 0, 0, np.zeros(64, "u4"))
    for sizes, box in (((33, 8), (32, 8)), ((64, 8), (16, 8))):
        with pytest.raises(DriverError):
            encoded(kind=B4X16, address=1 << 30, sizes=sizes, strides=(32,), box=box, steps=(1, 1),
                    interleave=0, swizzle=0, fill=0)  # fmt: skip
