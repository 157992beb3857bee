"""Records what tensor copies of the whole chip give: loads that SMs share, streams through DRAM by
width of rows, sums, multicast, boxes of many dimensions, first uses of a map, stores of fragments.

`python copy_streams.py --build CUBINS` compiles; `python copy_streams.py CUBINS OUT` needs a GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from gemm_preamble import PREAMBLE
from gemm_times import CACHE_BYTES, Bench
from hopper_cases import Map
from session import Session
from triton_cases import READER

from hopper import build, encode

COLUMNS = ("kernel", "setting", "nanoseconds", "cycles", "least", "most", "further")
SMS, STEPS = 132, 64
COUNTERS = ("lts__t_sectors_op_read.sum", "l1tex__m_xbar2l1tex_read_bytes.sum")

_KERNELS = """
__device__ u64 now() { u64 t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }
__device__ unsigned place() { unsigned s; asm volatile("mov.u32 %0, %smid;" : "=r"(s)); return s; }
__device__ void told(u64* out, u64 began, unsigned t, unsigned more) {
  u64* mine = out + 4 * blockIdx.x;
  mine[0] = began, mine[1] = now(), mine[2] = (unsigned)clock() - t, mine[3] = more;
}
__device__ void meet_all(unsigned* met, int rounds) {
  atomicAdd(met, 1);
  while (atomicAdd(met, 0) < gridDim.x * rounds) {}
}
/* who shares: blocks that follow each other (how 0), every n-th (1), both in turn (2) */
extern "C" __global__ void sharing(const __grid_constant__ Map map, int rows, int how, int group,
                                   int skew, unsigned* met, u64* out) {
  __shared__ alignas(8) u64 full[4];
  for (int s = 0; s < 4; s++) make(&full[s], 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  int turn = 0;
  unsigned t = 0;
  u64 began = 0;
  for (int pass = 0; pass < 3; pass++) {
    meet_all(met, pass + 1);
    unsigned wait_for = skew ? (blockIdx.x * 2654435761u >> 8) % skew : 0;
    for (unsigned u = clock(); clock() - u < wait_for;) {}
    t = clock(), began = now();
    auto fetch = [&](int k) {
      int who = how == 0 || how == 2 && k % 2 == 0 ? blockIdx.x / group
                : how == 2 ? 132 / group + blockIdx.x % group : blockIdx.x % group;
      expect(&full[(turn + k) % 4], 128 * rows);
      load(image + (turn + k) % 4 * 128 * rows, &map, &full[(turn + k) % 4], 0,
           (who * 16 + k / (how == 2 ? 2 : 1) % 16) * rows);
    };
    for (int k = 0; k < 4; k++) fetch(k);
    for (int k = 0; k < STEPS; k++) {
      wait(&full[(turn + k) % 4], (turn + k) / 4 & 1);
      if (k + 4 < STEPS) fetch(k + 4);
    }
    turn += STEPS;
  }
  told(out, began, t, place());
}
/* boxes one after another: 1 loads, 2 stores, 4 adds */
extern "C" __global__ void stream(const __grid_constant__ Map from, const __grid_constant__ Map to,
                                  int mode, int bytes, int rows, int across, int boxes, int width,
                                  int shift, int stages, u64* out) {
  __shared__ alignas(8) u64 full[4];
  if (threadIdx.x) return;
  for (int s = 0; s < 4; s++) make(&full[s], 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  unsigned t = clock();
  u64 began = now();
  int mine = (boxes - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x;
  auto x = [&](int n) { return (blockIdx.x + n * gridDim.x) % across * width; };
  auto y = [&](int n) { return (blockIdx.x + n * gridDim.x) / across * rows; };
  auto room = [&](int n) { return image + n % stages * ((bytes + 1023) / 1024 * 1024); };
  auto fetch = [&](int n) {
    expect(&full[n % stages], bytes);
    load(room(n), &from, &full[n % stages], x(n), y(n));
  };
  if (mode & 1) for (int n = 0; n < stages - 1 && n < mine; n++) fetch(n);
  for (int n = 0; n < mine; n++) {
    if (mode & 6) {
      if (mode & 1) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      else asm volatile("cp.async.bulk.wait_group.read 3;" ::: "memory");
    }
    if (mode & 1) {
      if (n + stages - 1 < mine) fetch(n + stages - 1);
      wait(&full[n % stages], n / stages & 1);
    }
    if (mode & 2)
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
                   " [%0, {%2, %3}], [%1];\\ncp.async.bulk.commit_group;"
                   :: "l"(&to), "r"(near(room(n))), "r"(x(n) + shift), "r"(y(n)) : "memory");
    if (mode & 4)
      asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"
                   " [%0, {%2, %3}], [%1];\\ncp.async.bulk.commit_group;"
                   :: "l"(&to), "r"(near(room(n))), "r"(x(n) + shift), "r"(y(n)) : "memory");
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  told(out, began, t, place());
}
/* bulk copies of some size, four in a row */
extern "C" __global__ void bulk(const char* x, char* y, int mode, int bytes, int pieces, u64* out) {
  __shared__ alignas(8) u64 full[4];
  if (threadIdx.x) return;
  for (int s = 0; s < 4; s++) make(&full[s], 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  unsigned t = clock();
  u64 began = now();
  auto at = [&](int n) { return ((long long)n * gridDim.x + blockIdx.x) * bytes; };
  auto fetch = [&](int n) {
    expect(&full[n % 4], bytes);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" :: "r"(near(image + n % 4 * bytes)), "l"(x + at(n)),
                 "r"(bytes), "r"(near(&full[n % 4])) : "memory");
  };
  if (mode & 1) for (int n = 0; n < 3 && n < pieces; n++) fetch(n);
  for (int n = 0; n < pieces; n++) {
    if (mode == 3) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    else if (mode == 2) asm volatile("cp.async.bulk.wait_group.read 3;" ::: "memory");
    if (mode & 1) {
      if (n + 3 < pieces) fetch(n + 3);
      wait(&full[n % 4], n / 4 & 1);
    }
    if (mode & 2)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\\n"
                   "cp.async.bulk.commit_group;" :: "l"(y + at(n)),
                   "r"(near(image + n % 4 * bytes)), "r"(bytes) : "memory");
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  told(out, began, t, place());
}
/* loads for both blocks of a cluster: each asks for a half; or each for all of it */
extern "C" __global__ void __cluster_dims__(2) fellows(const __grid_constant__ Map map, int rows,
                                                       int is_shared, u64* out) {
  __shared__ alignas(8) u64 full[4], empty[4];
  unsigned rank = blockIdx.x % 2, tile = blockIdx.x / 2;
  for (int s = 0; s < 4; s++) make(&full[s], 1), make(&empty[s], 2);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  unsigned t = 0;
  u64 began = 0;
  int turn = 0;
  for (int pass = 0; pass < 3; pass++) {
    cluster_sync();
    t = clock(), began = now();
    for (int k = 0; k < STEPS + 4; k++) {
      int n = turn + k, s = n % 4;
      if (k >= 4) {
        int m = n - 4;
        wait(&full[m % 4], m / 4 & 1);
        arrive_at(&empty[m % 4], 0), arrive_at(&empty[m % 4], 1);
      }
      if (k < STEPS) {
        wait(&empty[s], n / 4 & 1 ^ 1);
        expect(&full[s], 256 * rows);
        int y = (tile * 16 + k % 16) * 2 * rows;
        unsigned char* to = image + s * 256 * rows;
        if (is_shared) load_for(to + rank * 128 * rows, &map, &full[s], 0, y + rank * rows, 3);
        else {
          load(to, &map, &full[s], 0, y);
          load(to + 128 * rows, &map, &full[s], 0, y + rows);
        }
      }
    }
    turn += STEPS;
  }
  unsigned took = clock() - t;
  cluster_sync();
  told(out, began, t, took);
}
/* boxes of four and five dimensions with short rows */
extern "C" __global__ void deep(const __grid_constant__ Map map, int rank, int bytes, int each,
                                u64* out) {
  __shared__ alignas(8) u64 full[4];
  for (int s = 0; s < 4; s++) make(&full[s], 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  unsigned t = 0;
  u64 began = 0;
  int turn = 0;
  for (int pass = 0; pass < 2; pass++) {
    t = clock(), began = now();
    for (int k = 0; k < STEPS + 4; k++, turn++) {
      int s = turn % 4;
      if (k >= 4) wait(&full[s], (turn / 4 - 1) & 1);
      if (k >= STEPS) continue;
      int last = (blockIdx.x + k % 4 * gridDim.x) * each;
      expect(&full[s], bytes);
      if (rank == 4)
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile"
                     ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %2, %3}], [%4];"
                     :: "r"(near(image + s * bytes)), "l"(&map), "r"(0), "r"(last),
                     "r"(near(&full[s])) : "memory");
      else
        asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile"
                     ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %2, %2, %3}], [%4];"
                     :: "r"(near(image + s * bytes)), "l"(&map), "r"(0), "r"(last),
                     "r"(near(&full[s])) : "memory");
    }
    turn -= 4;
  }
  told(out, began, t, place());
}
/* the first uses of two maps: the same box by either, then again */
extern "C" __global__ void first_uses(const __grid_constant__ Map one,
                                      const __grid_constant__ Map two, const uint4* data,
                                      int ahead, int stores, unsigned* out) {
  __shared__ alignas(8) u64 bar;
  make(&bar, 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  unsigned sum = 0;
  for (int i = 0; i < 64; i++) sum += __ldcg(data + blockIdx.x * 64 + i).x;
  asm volatile("" :: "r"(sum) : "memory");
  if (ahead) {
    asm volatile("prefetch.tensormap [%0]; prefetch.tensormap [%1];" :: "l"(&one), "l"(&two));
    for (unsigned u = clock(); clock() - u < 4000;) {}
  }
  for (int i = 0; i < 6; i++) {
    const Map* map = i == 1 || i == 4 ? &two : &one;
    unsigned t = clock();
    if (stores && i % 3 == 1) {
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
                   " [%0, {%2, %3}], [%1];\\n"
                   "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"
                   :: "l"(map), "r"(near(image)), "r"(0), "r"(blockIdx.x * 8) : "memory");
      out[blockIdx.x * 6 + i] = clock() - t;
      continue;
    }
    int turn = stores ? i - (i > 1) - (i > 4) : i;
    expect(&bar, 1024);
    load(image, map, &bar, 0, blockIdx.x * 8);
    wait(&bar, turn & 1);
    out[blockIdx.x * 6 + i] = clock() - t;
  }
}
/* blocks of clusters that are busy for a while, some longer than others, and meet */
extern "C" __global__ void groups(int spin, int uneven, int syncs, u64* out) {
  unsigned t = clock();
  u64 began = now();
  for (int i = 0; i <= syncs; i++) {
    unsigned more = uneven ? (blockIdx.x * 2654435761u + i * 40503u >> 7) % uneven : 0;
    for (unsigned u = clock(); clock() - u < (spin + more) / (syncs + 1);) {}
    if (i < syncs) cluster_sync();
  }
  __syncthreads();
  if (threadIdx.x == 0) told(out, began, t, place());
}
/* what a product leaves in registers, stored: a number, or two, of each thread at a time */
extern "C" __global__ void fragments(float* y, int columns, int ld, int across, int wide,
                                     u64* out) {
  int thread = threadIdx.x % 128, part = threadIdx.x / 128, warp = thread / 32, lane = thread % 32;
  int high = blockDim.x / 2;
  float* to = y + ((long long)(blockIdx.x / across) * high + 64 * part + 16 * warp + lane / 4) * ld
              + blockIdx.x % across * columns + 2 * (lane % 4);
  __syncthreads();
  unsigned t = clock();
  u64 began = now();
  if (wide)
    for (int i = 0; i < columns / 4; i++)
      asm volatile("st.global.v2.f32 [%0], {%1, %1};"
                   :: "l"(to + 8 * (i % 2) * ld + 8 * (i / 2)), "f"(1.0f * i) : "memory");
  else
#pragma unroll 16
    for (int i = 0; i < columns / 2; i++)
      asm volatile("st.global.f32 [%0], %1;"
                   :: "l"(to + 8 * (i / 2 % 2) * ld + 8 * (i / 4) + i % 2), "f"(1.0f * i)
                   : "memory");
  unsigned issued = clock() - t;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) told(out, began, t, issued);
}
"""


def source() -> str:
    """The kernels."""
    return PREAMBLE + _KERNELS.replace("STEPS", str(STEPS))


def _plane(kind: int, element: int, wide: int, high: int, pitch: int, box: tuple[int, int]) -> Map:
    return Map(array=-1, kind=kind, sizes=(wide // element, high), strides=(pitch,),
               box=(box[0] // element, box[1]), steps=(1, 1))  # fmt: skip


class Streams:
    """Launches of the kernels, each as a row of COLUMNS."""

    def __init__(self, session: Session) -> None:
        self.bench, self.driver = Bench(session), session.driver
        self.big = [self.driver.alloc(160 << 20) for _ in "ab"]
        self.other = self.driver.alloc(CACHE_BYTES)
        for one in (*self.big, self.other):
            self.driver.fill(one, 0, 1 << 20)
        self.out, self.met = self.driver.alloc(1 << 16), self.driver.alloc(256)
        self.rows: list[Any] = []
        self.counters: Any = None
        if not session.dry_run:
            from counters import Counters

            self.counters = Counters(self.driver.context)

    def map(self, given: Map, which: int = 0) -> Any:
        """An encoded map of one of the two large arrays."""
        return encode(self.driver, given, self.big[which].value)

    def launch(self, kernel: str, setting: list[Any], grid: int, block: int,
               arguments: tuple[Any, ...], shared: int, *, cold: bool = False,
               repeats: int = 3, counts: bool = False) -> None:  # fmt: skip
        """Rows: the launch, some times over."""
        driver, function = self.driver, self.driver.function(self.bench.module("streams"), kernel)
        driver.set_dynamic_shared(function, max(shared, 1024))

        def prepare() -> None:
            driver.fill(self.met, 0, 256)
            if cold:
                self.bench.clean(self.other)

        def go() -> None:
            driver.launch(function, (grid,), (block,), (*arguments, self.out), shared)

        further: Any = 0
        for _ in range(repeats):
            prepare()
            go()
            driver.synchronize()
            found = driver.download(self.out, 4 * grid, np.uint64).reshape(grid, 4)
            spent = int(found[:, 1].max() - found[:, 0].min())
            cycles = [int(n) for n in found[:, 2]]
            further = [int(n) for n in found[:, 3]] if kernel != "stream" else 0
            if kernel == "sharing" and (setting[1] or setting[3]):
                further = 0
            self.rows.append((kernel, setting, spent, round(mean(cycles)), min(cycles),
                              max(cycles), further))  # fmt: skip
        if counts and self.counters:
            for name in COUNTERS:
                self.counters.configure([name])
                found_now = self.counters.measure(go, prepare, driver.synchronize)
                self.rows.append((kernel, [*setting, name], 0, found_now[name], 0, 0, 0))

    def sharing(self) -> None:
        """Loads of lines that L2 holds, by who shares them."""
        plain = [(0, n) for n in (1, 2, 3, 4, 6, 8, 12, 16, 33, 66, 132)]
        plain += [(1, n) for n in (66, 44, 33, 22, 16, 12, 11, 8, 4, 2)]
        plain += [(2, n) for n in (12, 11, 16, 8, 33, 4)]
        for rows in (64, 128):
            box = self.map(_plane(0, 1, 128, 160 << 13, 128, (128, rows)))
            for how, group in plain:
                for skew in (0, 300, 1500):
                    counts = rows == 64 and skew < 1500
                    given = (box, *map(np.int32, (rows, how, group, skew)), self.met)
                    self.launch("sharing", [rows, how, group, skew], SMS, 1, given,
                                4 * 128 * rows, repeats=2, counts=counts)  # fmt: skip

    def streams(self) -> None:
        """Boxes of a tensor, by width of rows, pitch and how far the copies are moved."""
        shapes = [
            (256, 256, 32), (128, 128, 64), (128, 4096, 64), (64, 64, 128), (64, 1024, 128),
            (48, 768, 128), (32, 32, 256), (32, 256, 256), (32, 4096, 256), (16, 256, 256),
        ]  # fmt: skip
        actions = ((1, 0, 1), (2, 0, 1), (2, 16, 1), (3, 0, 1), (3, 16, 1), (3, 32, 1), (4, 0, 4),
                   (5, 0, 4), (5, 16, 4))  # fmt: skip
        for width, pitch, rows in shapes:
            for size in (8 << 20, 32 << 20, 64 << 20):
                high = size // pitch
                across, boxes = pitch // width, pitch // width * (high // rows)
                for mode, shift, element in actions:
                    if shift >= width or (shift and size == 8 << 20 and mode == 5):
                        continue
                    kind = 2 if element == 4 else 0
                    plane = _plane(kind, element, pitch, high, pitch, (width, rows))
                    for cold in (False, True):
                        if not cold and size != 8 << 20:
                            continue
                        for stages in (2, 4) if mode & 1 and cold else (4,):
                            numbers = (mode, width * rows, rows, across, boxes, width // element,
                                       shift // element, stages)  # fmt: skip
                            given = (self.map(plane), self.map(plane, 1), *map(np.int32, numbers))
                            told = [width, pitch, rows, size, mode, shift, int(cold), stages]
                            self.launch("stream", told, 4 * SMS, 32, given, 4 * 8192, cold=cold,
                                        repeats=2)  # fmt: skip

    def others(self) -> None:
        """Bulk copies, clusters, many dimensions, first uses of maps."""
        for size in (256, 1024, 4096):
            for total in (8 << 20, 48 << 20):
                for mode in (1, 2, 3):
                    pieces = total // size // (4 * SMS)
                    given = (*self.big, *map(np.int32, (mode, size, pieces)))
                    for cold in (False, True):
                        self.launch("bulk", [size, total, mode, int(cold)], 4 * SMS, 32, given,
                                    4 * size, cold=cold, repeats=2)  # fmt: skip
        for rows in (8, 32, 64):
            box = self.map(_plane(0, 1, 128, 160 << 13, 128, (128, rows)))
            for is_shared in (0, 1):
                for grid in (2, SMS):
                    given = (box, *map(np.int32, (rows, is_shared)))
                    self.launch("fellows", [rows, is_shared, grid], grid, 1, given,
                                4 * 256 * rows)  # fmt: skip
        for box in ((32, 8, 8, 4), (16, 8, 8, 8), (128, 4, 4, 4), (32, 4, 4, 4, 4),
                    (16, 4, 4, 4, 4), (128, 2, 4, 4, 2)):  # fmt: skip
            rank = len(box)
            sizes = (*(2 * n for n in box[:-1]), 4 * SMS * box[-1])
            strides, step = [], 1
            for n in sizes[:-1]:
                step *= n
                strides.append(step)
            given_map = Map(array=-1, kind=0, sizes=sizes, strides=tuple(strides), box=box,
                            steps=(1,) * rank)  # fmt: skip
            size = int(np.prod(box))
            for grid in (1, SMS):
                given = (self.map(given_map), *map(np.int32, (rank, size, box[-1])))
                self.launch("deep", [rank, list(box), grid], grid, 1, given, 4 * size)
        self.first_uses()

    def first_uses(self) -> None:
        """Cycles of each use."""
        driver = self.driver
        function = driver.function(self.bench.module("streams"), "first_uses")
        maps = [self.map(_plane(0, 1, 128, 8 * SMS, 128, (128, 8))) for _ in "ab"]
        for grid in (1, SMS):
            for ahead, stores, cold in ((0, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 0), (0, 1, 1)):
                for _ in range(2):
                    if cold:
                        self.bench.clean(self.other)
                    driver.launch(function, (grid,), (1,), (*maps, self.big[0], np.int32(ahead),
                                  np.int32(stores), self.out), 8192)  # fmt: skip
                    driver.synchronize()
                    found = driver.download(self.out, 6 * grid, np.uint32).reshape(grid, 6)
                    middle = [int(n) for n in np.median(found, axis=0)]
                    setting = [grid, ahead, stores, cold]
                    self.rows.append(("first_uses", setting, 0, middle, 0, 0, 0))

    def groups(self) -> None:
        """Launches of clusters."""
        driver, grid = self.driver, 4096
        out = driver.alloc(32 * grid)
        function = driver.function(self.bench.module("streams"), "groups")
        driver.set_dynamic_shared(function, 40 << 10)
        for cluster in (1, 2, 4, 8):
            for spin, uneven, syncs in ((0, 0, 0), (2000, 0, 0), (8000, 0, 0), (4000, 4000, 0),
                                        (4000, 4000, 2), (8000, 0, 2)):  # fmt: skip
                for _ in range(2):
                    given = (*map(np.int32, (spin, uneven, syncs)), out)
                    driver.launch_clusters(function, (grid,), (256,), given, 40 << 10, cluster)
                    driver.synchronize()
                    found = driver.download(out, 4 * grid, np.uint64).reshape(grid, 4)
                    spent = int(found[:, 1].max() - found[:, 0].min())
                    per_sm = np.bincount(found[:, 3].astype(np.int64), minlength=SMS)
                    self.rows.append((
                        "groups", [cluster, spin, uneven, syncs], spent,
                        round(float(found[:, 2].mean())), int(found[:, 2].min()),
                        int(found[:, 2].max()), [int(n) for n in per_sm],
                    ))  # fmt: skip

    def fragments(self) -> None:
        """Stores of a tile's numbers."""
        for threads, columns in ((128, 64), (128, 128), (128, 256), (256, 128), (256, 256)):
            across = 12
            for wide in (0, 1):
                for grid in (1, SMS):
                    for cold in (False, True):
                        numbers = (columns, across * columns, across, wide)
                        given = (self.big[0], *map(np.int32, numbers))
                        setting = [threads, columns, wide, grid, int(cold)]
                        self.launch("fragments", setting, grid, threads, given, 200 << 10,
                                    cold=cold)  # fmt: skip


def main() -> None:
    """Compiles or records."""
    if sys.argv[1] == "--build":
        build(Path(sys.argv[2]), {"streams": source(), "reader": READER})
        return
    session = Session.of_command_line(__doc__)
    streams = Streams(session)
    parts = (streams.others, streams.groups, streams.fragments, streams.sharing)
    for part in (*parts, streams.streams):
        part()
        session.save_rows("copy_streams_sm90", COLUMNS, streams.rows)


if __name__ == "__main__":
    main()
