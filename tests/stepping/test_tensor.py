"""Stepping through matrix instructions: fragments, descriptors and phases that the user sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import warplens as wl
from tests.in_turn import one_in

MMA = """
#include <cuda_fp16.h>
extern "C" __global__ void product(const unsigned *a, const unsigned *b, float *d) {
  unsigned x[4], y[2];
  float c[4] = {1, 2, 3, 4};
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  for (int i = 0; i < 4; i++) x[i] = a[(g + 8 * (i % 2)) * 8 + t + 4 * (i / 2)];
  for (int i = 0; i < 2; i++) y[i] = b[g * 8 + t + 4 * i];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  for (int i = 0; i < 4; i++) d[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = c[i];
}
extern "C" __global__ void phases(int *out) {
  __shared__ alignas(8) unsigned long long bar[2];
  unsigned at = (unsigned)__cvta_generic_to_shared(&bar[1]);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 3;" :: "r"(at) : "memory");
  __syncwarp();
  if (threadIdx.x < 2) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory");
  if (threadIdx.x == 2)
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 0;" :: "r"(at) : "memory");
  asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" :: "r"(at) : "memory");
  out[threadIdx.x] = 1;
}
"""  # noqa: E501
WGMMA = """
extern "C" __global__ void warpgroup(float *d) {
  extern __shared__ __align__(1024) unsigned char image[];
  for (int i = threadIdx.x; i < 4096; i += 128) ((unsigned*)image)[i] = 0x3c003c00;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  unsigned long long at = (unsigned)__cvta_generic_to_shared(image) >> 4;
  unsigned long long da = at | 1ull << 16 | 64ull << 32 | 1ull << 62, db = at + 512 | 1ull << 16 | 32ull << 32 | 2ull << 62;
  float c[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(da), "l"(db));
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; i++) d[threadIdx.x * 4 + i] = c[i];
}
"""  # noqa: E501


@pytest.fixture(scope="module")
def module() -> wl.Module:
    """The kernels."""
    return wl.Device("H200").compile(MMA + WGMMA, options=["-arch=sm_90a"])


def test_fragments_are_the_matrices(module: wl.Module) -> None:
    """A, B and C of mma.sync are the matrices that the kernel was given, whole."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((16, 16), (8, 16)))
    d = np.zeros((16, 8), np.float32)
    run = module["product"][1, 32](a.view(np.uint32), b.view(np.uint32), d)

    warp = run.step()
    step = warp.find("HMMA")

    found = step.fragments
    assert np.array_equal(found["A"].matrix, a) and np.array_equal(found["B"].matrix, b.T)
    c = np.array([[1, 2] * 4] * 8 + [[3, 4] * 4] * 8)
    assert np.array_equal(found["C"].matrix, c)
    assert np.allclose(d, found["A"].matrix @ found["B"].matrix + c, atol=1e-2)
    register = found["A"].register
    assert f"A R{register}-R{register + 3}: 16 x 16 f16; row 0: {float(a[0, 0]):.4g}" in str(warp)


@pytest.mark.parametrize(("kind", "shape", "sums", "dtype"), one_in(
    2, [
    ("s8", "m16n8k32", "s32", np.int8), ("tf32", "m16n8k8", "f32", np.float32),
    ("bf16", "m16n8k16", "f32", np.uint16)], lambda case: "-".join(case[:2]), several=True,
))  # fmt: skip
def test_other_types(kind: str, shape: str, sums: str, dtype: Any) -> None:
    """Bytes, TF32 and bfloat16: a product of the fragments is what the kernel stores."""
    letter, c = ("f", "float") if sums == "f32" else ("r", "int")
    source = MMA[: MMA.index('extern "C" __global__ void phases')]
    source = source.replace("m16n8k16.row.col.f32.f16.f16.f32",
                            f"{shape}.row.col.{sums}.{kind}.{kind}.{sums}")  # fmt: skip
    source = source.replace('"+f"', f'"+{letter}"').replace("float ", f"{c} ")
    rng = np.random.default_rng(2)
    a: npt.NDArray[Any]
    b: npt.NDArray[Any]
    if kind == "s8":
        a, b = (rng.integers(-9, 9, (n, 32)).astype(np.int8) for n in (16, 8))
    else:
        a, b = (rng.integers(-9, 9, (n, 32 // dtype().itemsize)).astype(np.float32)
                for n in (16, 8))  # fmt: skip
        if kind == "bf16":
            a, b = ((x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b))
    d = np.zeros((16, 8), np.float32 if sums == "f32" else np.int32)
    run = wl.Device("H200").compile(source)["product"][1, 32](
        a.view(np.uint32), b.view(np.uint32), d
    )

    found = run.step().find("MMA").fragments

    assert np.array_equal(found["A"].matrix @ found["B"].matrix + found["C"].matrix, d)


def test_descriptors_say_where_matrices_lie(module: wl.Module) -> None:
    """wgmma's descriptors: place, offsets, swizzle; D's fragment is in registers."""
    d = np.zeros(512, np.float32)
    run = module["warpgroup"][1, 128, 0, 20480](d)

    warp = run.step(warp=1)
    step = warp.find("HGMMA")

    base = int(step.descriptors[0].split("shared ")[1].split(",")[0], 16)
    assert base % 1024 == 0
    assert step.descriptors == [
        f"A 64 rows: shared {base:#x}, leading 16, stride 1024 bytes, swizzle of 128 bytes",
        f"B 8 columns: shared {base + 8192:#x}, leading 16, stride 512 bytes, "
        "swizzle of 64 bytes",
    ]
    assert all(text in str(warp) for text in step.descriptors)
    assert (d == 16).all()


def test_phases_count_arrivals(module: wl.Module) -> None:
    """At each use of an mbarrier its step says which phase is open and what it waits for."""
    run = module["phases"][1, 32](np.zeros(32, np.int32))

    texts = [str(s) for s in shown(run) if "mbarrier at shared 0x" in s]

    assert any("parity 0 is open, 3 of 3 arrivals to come" in text for text in texts)
    assert any("parity 0 is open, 1 of 3 arrivals to come" in text for text in texts)
    waits = [text for text in texts if "TRYWAIT" in text]
    assert waits and "parity 1 is open, 3 of 3 arrivals to come" in waits[-1]


def shown(run: wl.Launch) -> list[str]:
    """What is printed at every step."""
    warp = run.step()
    found = []
    for number in range(len(warp)):
        warp.goto(number)
        found.append(str(warp))
    return found
