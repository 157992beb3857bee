"""Kernels that make tensor maps themselves, by PTX's `tensormap.replace`, copy NumPy's boxes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.in_turn import one_in
from warplens import Device, MemoryFault

RANK = 5
SIZES, BOX = (40, 7, 6, 5, 4), (16, 3, 2, 2, 2)  # innermost first
FIELDS = "\n".join(
    f'  asm volatile("tensormap.replace.tile.{field}.shared::cta.b1024.b{bits} [%0], {o}, %1;"'
    f' :: "l"(m), "{"r" if bits == 32 else "l"}"({value}));'
    for o in range(RANK)
    for field, bits, value in (
        ("box_dim", 32, BOX[o]), ("global_dim", 32, SIZES[o]),
        ("element_stride", 32, "steps" if o == 2 else 1),
        *([("global_stride", 64, f"(long long)strides[{o}]")] if o < RANK - 1 else []),
    )
)  # fmt: skip
CHOICES = "\n".join(
    f'  asm volatile("tensormap.replace.tile.{field}.shared::cta.b1024.b32 [%0], {value};"'
    ' :: "l"(m));'
    for field, value in (
        ("rank", RANK - 1), ("interleave_layout", 0), ("swizzle_mode", 0), ("fill_mode", 1),
    )
)  # fmt: skip
SOURCE = (
    """
struct alignas(128) Map { unsigned words[32]; };
extern "C" __global__ void made(
    Map* scratch, const void* tensor, const long long* strides, int steps, int bytes,
    unsigned* out) {
  __shared__ Map map;
  __shared__ alignas(128) unsigned box[2048];
  __shared__ alignas(8) unsigned long long bar;
  map.words[threadIdx.x] = 0;
  unsigned b = (unsigned)__cvta_generic_to_shared(&bar);
  unsigned long long m = __cvta_generic_to_shared(&map);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b));
  __syncwarp();
  if (threadIdx.x == 0) {
  asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;"
               :: "l"(m), "l"(tensor));
  asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], ELEMENT;" :: "l"(m));
"""
    + CHOICES + "\n" + FIELDS
    + """
  }
  __syncwarp();
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync"
               ".aligned [%0], [%1], 128;" :: "l"(scratch), "l"(m) : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(scratch) : "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(bytes));
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx"
                 "::bytes [%0], [%1, {%3, %4, %3, %5, %5}], [%2];"
                 :: "r"((unsigned)__cvta_generic_to_shared(box)), "l"(scratch), "r"(b), "r"(0),
                    "r"(5), "r"(1) : "memory");
  }
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;"
               " @!p bra W; }" :: "r"(b) : "memory");
  for (int i = threadIdx.x; i < bytes / 4; i += 32) out[i] = box[i];
}
"""
)  # fmt: skip
# PTX's numbers of element types
ELEMENTS = {6: np.float16, 7: np.float32, 9: np.float64, 2: np.uint32, 5: np.int64}


@lru_cache
def module(element: int) -> Any:
    """The kernel for one element type."""
    return Device("H200").compile(SOURCE.replace("ELEMENT", str(element)))


def run(element: int, array: npt.NDArray[Any], steps: int = 1) -> npt.NDArray[Any]:
    """The box at (0, 5, 0, 1, 1) that the kernel loaded."""
    rows = -(-BOX[2] // steps)
    shape = (BOX[4], BOX[3], rows, BOX[1], BOX[0])
    found = np.zeros(shape, array.dtype)
    device = module(element).device
    tensor, strides = device.to_device(array), np.array(array.strides[:-1][::-1], np.int64)
    module(element)["made"][1, 32](
        np.zeros(32, np.uint32), tensor, strides, steps, found.nbytes, found.view(np.uint32).ravel()
    )
    return found


@pytest.mark.parametrize("element", one_in(2, list(ELEMENTS), str))
def test_the_box_is_numpys(element: int) -> None:
    """Five dimensions of every size and stride, partly outside, where nothing is to be filled."""
    array = np.arange(np.prod(SIZES)).reshape(SIZES[::-1]).astype(ELEMENTS[element])
    array[array > 2000] = 7  # halves hold them exactly
    found = run(element, array)

    assert np.array_equal(found[..., :2, :], array[1:3, 1:3, 0:2, 5:7, :16])
    outside = found[..., 2, :]
    assert np.isnan(outside).all() if array.dtype.kind == "f" else (outside != 0).all()


def test_steps_are_taken() -> None:
    """Every second element along one dimension."""
    array = np.arange(np.prod(SIZES), dtype=np.float32).reshape(SIZES[::-1])

    assert np.array_equal(run(7, array, steps=2)[..., :2, :], array[1:3, 1:3, 0:2:2, 5:7, :16])


def test_an_interleaved_map_counts_pixels() -> None:
    """Interleaved channels make the first dimension one of 16 bytes: this array ends before."""
    source = SOURCE.replace("ELEMENT", "7").replace('[%0], 0;" :: "l"(m)', '[%0], 1;" :: "l"(m)')
    assert source != SOURCE
    kernel = Device("H200").compile(source)["made"]
    array = np.zeros(SIZES[::-1], np.float32)
    with pytest.raises(MemoryFault, match="after the nearest allocation"):
        kernel[1, 32](np.zeros(32, np.uint32), array, np.array(array.strides[:-1][::-1], np.int64),
                      1, 64, np.zeros(2048, np.uint32))  # fmt: skip
