"""What single tensor copies cost: latency and pace by box and swizzle, multicast, stores, and
accesses to another block's shared memory. Kernels and how they are launched."""

from __future__ import annotations

from typing import Any

import numpy as np
from gemm_preamble import PREAMBLE
from hopper_cases import Map

from hopper import encode

_REPEATS = 16


def source() -> str:
    """The kernels; each gives cycles."""
    return PREAMBLE + """
extern "C" __global__ void copy_latency(const __grid_constant__ Map map, int bytes, int rows,
                                        int apart, unsigned* out) {
  __shared__ alignas(8) u64 bar;
  make(&bar, 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  for (int i = 0; i < 16; i++) {
    unsigned t = clock();
    expect(&bar, bytes);
    load(image, &map, &bar, 0, i * apart);
    wait(&bar, i & 1);
    out[blockIdx.x * 16 + i] = clock() - t;
  }
}
extern "C" __global__ void copy_pace(const __grid_constant__ Map map, int bytes, int rows, int count,
                                     unsigned* out) {
  __shared__ alignas(8) u64 bar[4];
  for (int s = 0; s < 4; s++) make(&bar[s], 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  unsigned t = clock();
  for (int i = 0; i < count + 4; i++) {
    int s = i % 4;
    if (i >= 4) wait(&bar[s], (i / 4 - 1) & 1);
    if (i < count) {
      expect(&bar[s], bytes);
      load(image + s * ((bytes + 1023) / 1024 * 1024), &map, &bar[s], 0,
           (blockIdx.x * 16 + i % 16) * rows);
    }
  }
  out[blockIdx.x] = clock() - t;
}
extern "C" __global__ void store_latency(const __grid_constant__ Map map, int bytes, int rows,
                                         int apart, unsigned* out) {
  for (int i = 0; i < 16; i++) {
    unsigned t = clock();
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];\\n"
                 "cp.async.bulk.commit_group;" :: "l"(&map), "r"(near(image)), "r"(0), "r"(i * apart)
                 : "memory");
    if (apart & 1) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    else asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    out[blockIdx.x * 16 + i] = clock() - t;
  }
}
extern "C" __global__ void __cluster_dims__(2) multicast_latency(
    const __grid_constant__ Map map, int bytes, int rows, int apart, unsigned* out) {
  __shared__ alignas(8) u64 bar;
  make(&bar, 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  for (int i = 0; i < 16; i++) {
    cluster_sync();
    unsigned t = clock();
    expect(&bar, bytes);
    if (blockIdx.x % 2 == 0) load_for(image, &map, &bar, 0, i * apart, 3);
    wait(&bar, i & 1);
    out[blockIdx.x * 16 + i] = clock() - t;
  }
  cluster_sync();
}
extern "C" __global__ void __cluster_dims__(2) distant_latency(int rank, unsigned* out) {
  unsigned* words = (unsigned*)image;
  unsigned p;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(p) : "r"(near(image)), "r"(rank));
  words[threadIdx.x] = p;
  cluster_sync();
  for (int i = 0; i < 16; i++) {
    unsigned t = clock();
    for (int j = 0; j < 8; j++)
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(p) : "r"(p) : "memory");
    out[blockIdx.x * 16 + i] = (clock() - t) + (p == 1);
  }
  cluster_sync();
}
extern "C" __global__ void __cluster_dims__(2) distant_pace(int rank, int count, unsigned* out) {
  unsigned p, sum = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(p)
               : "r"(near(image) + 16 * threadIdx.x), "r"(rank));
  cluster_sync();
  unsigned t = clock();
  for (int i = 0; i < count; i++) {
    unsigned a, b, c, d;
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(p) : "memory");
    sum += a + b + c + d;
  }
  t = clock() - t;
  cluster_sync();
  if (threadIdx.x % 32 == 0) out[blockIdx.x * 32 + threadIdx.x / 32] = t + (sum == 1);
}
extern "C" __global__ void __cluster_dims__(2) barrier_latency(unsigned* out) {
  for (int i = 0; i < 16; i++) {
    unsigned t = clock();
    cluster_sync();
    out[blockIdx.x * 16 + i] = clock() - t;
  }
}
"""


def _map(bytes_: int, rows: int, height: int, swizzle: int) -> Map:
    return Map(array=-1, kind=0, sizes=(bytes_, height), strides=(max(bytes_, 16),),
               box=(bytes_, rows), steps=(1, 1), swizzle=swizzle)  # fmt: skip


def record(bench: Any) -> list[Any]:
    """Rows (kernel, bytes of a row, rows, swizzle, blocks, further, cycles)."""
    driver, module, found = bench.driver, bench.module("costs"), []
    height = 132 * 16 * 256
    tensor = driver.alloc(256 * height)
    out = driver.alloc(1 << 16)

    def launch(kernel: str, grid: int, block: int, arguments: tuple[Any, ...], count: int) -> list[int]:
        function = driver.function(module, kernel)
        driver.set_dynamic_shared(function, 132 << 10)
        driver.launch(function, (grid,), (block,), arguments, 132 << 10)
        driver.synchronize()
        return [int(n) for n in driver.download(out, count, np.uint32)]

    shapes = [(b, r, s) for b, s in ((128, 3), (128, 0), (64, 2), (32, 1), (256, 0), (16, 0))
              for r in (1, 8, 32, 64, 128, 256) if b * r <= 32768]  # fmt: skip
    for bytes_, rows, swizzle in shapes:
        given = encode(driver, _map(bytes_, rows, height, swizzle), tensor.value)
        size = np.int32(bytes_ * rows)
        for kernel, grid, apart in (("copy_latency", 1, 0), ("copy_latency", 1, rows),
                                    ("copy_latency", 132, 0), ("store_latency", 1, 0),
                                    ("store_latency", 1, 1), ("multicast_latency", 2, 0)):  # fmt: skip
            cycles = launch(kernel, grid, 1, (given, size, np.int32(rows), np.int32(apart), out),
                            16 * min(grid, 2))  # fmt: skip
            found.append((kernel, bytes_, rows, swizzle, grid, apart, cycles))
        for grid in (1, 132):
            cycles = launch("copy_pace", grid, 1, (given, size, np.int32(rows), np.int32(64), out),
                            grid)  # fmt: skip
            found.append(("copy_pace", bytes_, rows, swizzle, grid, 64, cycles))
    for rank in (0, 1):
        found.append(("distant_latency", 4, 8, rank, 2, 1,
                      launch("distant_latency", 2, 32, (np.int32(rank), out), 32)))  # fmt: skip
        for block in (32, 128, 512):
            cycles = launch("distant_pace", 2, block, (np.int32(rank), np.int32(64), out), 64)
            found.append(("distant_pace", 16, 64, rank, 2, block, cycles))
    found.append(("barrier_latency", 0, 0, 0, 2, 32, launch("barrier_latency", 2, 32, (out,), 32)))
    return found
