"""What several tensor copies in a row cost, how soon a warp goes on behind an mbarrier, and what
other blocks' shared memory gives: kernels and how they are launched."""

from __future__ import annotations

from typing import Any

import numpy as np
from gemm_preamble import PREAMBLE
from hopper_cases import Map

from hopper import encode

ROUNDS = 6
COLUMNS = ("kernel", "row_bytes", "rows", "count", "blocks", "other", "cycles")


def source() -> str:
    """The kernels; each gives cycles."""
    bulk = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
    return PREAMBLE + """
extern "C" __global__ void load_burst(const __grid_constant__ Map map, int bytes, int rows,
                                      int count, unsigned* out) {
  __shared__ alignas(8) u64 bar;
  make(&bar, 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  for (int i = 0; i < ROUNDS; i++) {
    unsigned t = clock();
    expect(&bar, bytes * count);
    for (int k = 0; k < count; k++)
      load(image + k % 4 * ((bytes + 1023) / 1024 * 1024), &map, &bar, 0,
           (blockIdx.x * 16 + k) * rows);
    unsigned issued = clock() - t;
    wait(&bar, i & 1);
    unsigned done = clock() - t;
    out[(blockIdx.x * ROUNDS + i) * 2] = issued;
    out[(blockIdx.x * ROUNDS + i) * 2 + 1] = done;
  }
}
extern "C" __global__ void store_burst(const __grid_constant__ Map map, int bytes, int rows,
                                       int count, unsigned* out) {
  for (int i = 0; i < ROUNDS; i++) {
    unsigned t = clock();
    for (int k = 0; k < count; k++)
      asm volatile("BULK" :: "l"(&map), "r"(near(image + k % 4 * ((bytes + 1023) / 1024 * 1024))),
                   "r"(0), "r"((blockIdx.x * 16 + k) * rows) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    unsigned issued = clock() - t;
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    unsigned done = clock() - t;
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    out[(blockIdx.x * ROUNDS + i) * 2] = issued;
    out[(blockIdx.x * ROUNDS + i) * 2 + 1] = done;
  }
}
extern "C" __global__ void wake(int before, int waiters, unsigned* out) {
  __shared__ alignas(8) u64 bar;
  __shared__ unsigned told;
  if (threadIdx.x == 0) make(&bar, 1);
  __syncthreads();
  for (int i = 0; i < ROUNDS; i++) {
    __syncthreads();
    if (threadIdx.x / 32 == 0) {
      unsigned t = clock();
      while (clock() - t < before) {}
      if (threadIdx.x == 0) {
        told = clock();
        arrive(&bar);
      }
    } else {
      wait(&bar, i & 1);
      unsigned t = clock();
      if (threadIdx.x % 32 == 0)
        out[i * 32 + threadIdx.x / 32] = t - *(volatile unsigned*)&told;
    }
  }
}
extern "C" __global__ void passed(unsigned* out) {
  __shared__ alignas(8) u64 bar;
  make(&bar, 1);
  for (int i = 0; i < ROUNDS; i++) {
    unsigned t = clock();
    arrive(&bar);
    unsigned u = clock();
    wait(&bar, i & 1);
    unsigned v = clock();
    wait(&bar, i & 1);
    unsigned w = clock();
    wait(&bar, i & 1);
    wait(&bar, i & 1);
    wait(&bar, i & 1);
    wait(&bar, i & 1);
    unsigned x = clock();
    out[i * 4] = u - t, out[i * 4 + 1] = v - u, out[i * 4 + 2] = w - v, out[i * 4 + 3] = x - w;
  }
}
extern "C" __global__ void distant_read(int rank, int count, unsigned* out) {
  unsigned p, sum = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(p)
               : "r"(near(image) + 16 * threadIdx.x), "r"(rank));
  cluster_sync();
  __syncthreads();
  unsigned t = clock();
  for (int i = 0; i < count; i += 8) {
    unsigned v[32];
    for (int j = 0; j < 8; j++)
      asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[4 * j]), "=r"(v[4 * j + 1]), "=r"(v[4 * j + 2]), "=r"(v[4 * j + 3])
                   : "r"(p) : "memory");
    for (int j = 0; j < 32; j++) sum ^= v[j];
  }
  asm volatile("" :: "r"(sum) : "memory");
  __syncthreads();
  t = clock() - t;
  cluster_sync();
  if (threadIdx.x == 0) out[blockIdx.x] = t + (sum == 12345);
}
extern "C" __global__ void meet(int relaxed, unsigned* out) {
  for (int i = 0; i < ROUNDS; i++) {
    unsigned t = clock();
    if (relaxed)
      asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;"
                   ::: "memory");
    else cluster_sync();
    unsigned u = clock() - t;
    if (threadIdx.x == 0) out[blockIdx.x * ROUNDS + i] = u;
  }
}
""".replace("ROUNDS", str(ROUNDS)).replace("BULK", bulk)


def _bursts(launch: Any, driver: Any) -> list[Any]:
    height, found = 132 * 16 * 256, []
    tensor = driver.alloc(256 * height)
    shapes = ((16, 8), (16, 256), (32, 64), (64, 8), (64, 64), (128, 1), (128, 8), (128, 64),
              (128, 128), (128, 256), (256, 64))  # fmt: skip
    for wide, rows in shapes:
        box = Map(array=-1, kind=0, sizes=(wide, height), strides=(wide,), box=(wide, rows),
                  steps=(1, 1))  # fmt: skip
        given = encode(driver, box, tensor.value)
        for kernel in ("load_burst", "store_burst"):
            for blocks in (1, 132):
                for count in (1, 2, 4, 8, 16):
                    cycles = launch(kernel, blocks, 1, 1,
                                    (given, *map(np.int32, (wide * rows, rows, count))),
                                    2 * ROUNDS * blocks)  # fmt: skip
                    found.append((kernel, wide, rows, count, blocks, 0, cycles[: 4 * ROUNDS]))
    return found


def record(bench: Any) -> list[Any]:
    """Rows of COLUMNS; cycles of each round."""
    driver, module = bench.driver, bench.module("bursts")
    out = driver.alloc(1 << 16)

    def launch(kernel: str, grid: int, block: int, cluster: int, arguments: tuple[Any, ...],
               count: int) -> list[int]:  # fmt: skip
        function = driver.function(module, kernel)
        driver.set_dynamic_shared(function, 132 << 10)
        driver.launch_clusters(function, (grid,), (block,), (*arguments, out), 132 << 10, cluster)
        driver.synchronize()
        return [int(n) for n in driver.download(out, count, np.uint32)]

    found = _bursts(launch, driver)
    for before in (0, 50, 100, 200, 400, 800, 2000, 6000):
        for waiters in (1, 4, 8):
            cycles = launch("wake", 1, 32 * (1 + waiters), 1,
                            (np.int32(before), np.int32(waiters)), 32 * ROUNDS)  # fmt: skip
            found.append(("wake", 0, 0, waiters, 1, before, cycles))
    found.append(("passed", 0, 0, 1, 1, 0, launch("passed", 1, 1, 1, (), 4 * ROUNDS)))
    for cluster in (2, 4, 8):
        for threads in (32, 128, 256, 512):
            for rank in (0, 1):
                given = (np.int32(rank), np.int32(64))
                cycles = launch("distant_read", cluster, threads, cluster, given, cluster)
                found.append(("distant_read", 16, threads, 64, cluster, rank, cycles))
            for relaxed in (0, 1):
                cycles = launch("meet", cluster, threads, cluster, (np.int32(relaxed),),
                                cluster * ROUNDS)  # fmt: skip
                found.append(("meet", 0, threads, 1, cluster, relaxed, cycles))
    return found
