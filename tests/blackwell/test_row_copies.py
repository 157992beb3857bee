"""Tensor copies of four rows that are named one by one (gather4, scatter4) against NumPy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.in_turn import one_in
from warplens import Device, TensorMap
from warplens.errors import WarplensError

Array = npt.NDArray[Any]
SOURCE = """
struct alignas(64) Map { unsigned long long words[16]; };
extern __shared__ __align__(1024) unsigned char box[];
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void gather(
    const __grid_constant__ Map map, int c, const int *r, int bytes, int words, unsigned *out) {
  __shared__ alignas(8) unsigned long long bar;
  for (int i = threadIdx.x; i < words; i += 32) ((unsigned *)box)[i] = 0xcdcdcdcd;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&bar)));
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(at(&bar)), "r"(bytes));
    asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx"
                 "::bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7];"
                 :: "r"(at(box)), "l"(&map), "r"(c), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]),
                    "r"(at(&bar)) : "memory");
  }
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;"
               " @!p bra W; }" :: "r"(at(&bar)) : "memory");
  __syncthreads();
  for (int i = threadIdx.x; i < words; i += 32) out[i] = ((unsigned *)box)[i];
}
"""
SCATTER = """
extern "C" __global__ void scatter(
    const __grid_constant__ Map map, int c, const int *r, int words, const unsigned *in) {
  for (int i = threadIdx.x; i < words; i += 32) ((unsigned *)box)[i] = in[i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%0, {%1,%2,%3,%4,%5}];"
                 :: "l"(&map), "r"(c), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
                 " [%0, {%2, %3, %4, %5, %6}], [%1];\\n"
                 "cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;"
                 :: "l"(&map), "r"(at(box)), "r"(c), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  }
}
"""


@lru_cache(maxsize=4)
def module(architecture: str) -> Any:
    """Gathers, and scatters where there are any."""
    text = SOURCE if architecture == "120a" else SOURCE + SCATTER
    return Device(f"sm_{architecture[:-1]}").compile(text, options=[f"-arch=sm_{architecture}"])


def moved(rows: Array, swizzle: int) -> Array:
    """Rows of bytes as a swizzle of so many bytes places them, 16 bytes at a time."""
    if not swizzle:
        return rows.reshape(-1)
    pieces = rows.reshape(-1, 16)
    place = np.arange(len(pieces))
    place ^= (place >> 3) & (swizzle // 16 - 1)
    found = np.zeros_like(pieces)
    found[place] = pieces
    return found.reshape(-1)


@pytest.mark.parametrize("architecture", one_in(2, ["100a", "103a", "110a", "120a"], str))
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_gathers(architecture: str, swizzle: int) -> None:
    """Rows in any order and twice, outside of the tensor, over its edge: those are filled."""
    tensor = np.random.default_rng(swizzle).integers(1, 2**15, (37, 96)).astype(np.uint16)
    width = (swizzle or 160) // 2
    map_ = TensorMap(tensor, box=(1, width), swizzle=f"{swizzle}B" if swizzle else None)
    wide = np.pad(tensor, ((64, 64), (160, 160)))
    for column, rows in ((8, (5, 36, 0, 5)), (88, (1, -1, 37, 2)), (-8, (3, 33, 9, -40))):
        out = np.zeros(4 * width // 2 + 4, np.uint32)

        module(architecture)["gather"][1, 32, 0, 4096](
            map_, column, np.array(rows, np.int32), 8 * width, len(out), out
        )

        taken = wide[np.array(rows) + 64, 160 + column : 160 + column + width]
        wanted = moved(np.ascontiguousarray(taken).view(np.uint8), swizzle)
        assert np.array_equal(out[:-4].view(np.uint8), wanted)
        assert (out[-4:] == 0xCDCDCDCD).all()


@pytest.mark.parametrize("architecture", ["100a", "103a", "110a"])
@pytest.mark.parametrize("swizzle", [0, 128])
def test_scatters(architecture: str, swizzle: int) -> None:
    """What lies outside of the tensor is not stored."""
    rng = np.random.default_rng(swizzle)
    tensor = rng.integers(0, 2**31, (37, 48)).astype(np.int32)
    rows, given = (36, 3, 40, 17), rng.integers(0, 2**31, (4, 32)).astype(np.int32)
    wanted = tensor.copy()
    for row, line in zip(rows, given, strict=True):
        if row < 37:
            wanted[row, 24:] = line[:24]
    map_ = TensorMap(tensor, box=(1, 32), swizzle="128B" if swizzle else None)
    words = moved(given.view(np.uint8), swizzle).view(np.uint32)

    module(architecture)["scatter"][1, 32, 0, 4096](map_, 24, np.array(rows, np.int32), 128, words)

    assert np.array_equal(tensor, wanted)


def test_a_box_of_more_rows_is_refused() -> None:
    """The manual asks for a box of one row."""
    tensor, out = np.zeros((16, 64), np.uint16), np.zeros(128, np.uint32)

    with pytest.raises(WarplensError, match="tensor map"):
        module("100a")["gather"][1, 32, 0, 4096](
            TensorMap(tensor, box=(4, 64)), 0, np.zeros(4, np.int32), 512, 128, out
        )


def test_sanitizers_find_nothing_and_time_passes() -> None:
    """What was gathered is read after the wait; its bytes have been written."""
    tensor, out = np.ones((16, 64), np.uint16), np.zeros(128, np.uint32)
    given = TensorMap(tensor, box=(1, 64)), 0, np.arange(4, dtype=np.int32), 512, 128, out
    kernel = module("100a")["gather"]

    report = kernel.sanitize[1, 32, 0, 4096](*given)
    result = kernel[1, 32, 0, 4096](*given)

    assert not report.findings, report
    assert result.metric("gpu__time_duration.sum") > 0
