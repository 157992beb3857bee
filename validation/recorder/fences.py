"""What fences of the whole GPU cost while other accesses are on their way, where blocks of clusters
run, and what the first samples of a texture take.

`python fences.py --build CUBINS` compiles; `python fences.py CUBINS OUT` needs a GPU.
"""

from __future__ import annotations

import ctypes as ct
import sys
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from cuda_driver import Driver
from further_kernels import _BULK, _CLUSTER, _boxes
from gemm_preamble import PREAMBLE
from gemm_times import CACHE_BYTES, Bench
from hopper_cases import Filter, Map
from session import Session
from triton_cases import READER

from hopper import build, encode, texture

ROUNDS = 16
COLUMNS = ("kernel", "form", "blocks", "warps", "other", "cycles")
FENCES = {
    "membar": "membar.gl;", "async": "fence.proxy.async;",
    "async_cta": "fence.proxy.async.shared::cta;",
    "cta": "membar.cta;", "relaxed": "fence.acq_rel.cluster;",
}  # fmt: skip
BEFORE = {
    "nothing": "", "shared": "s[threadIdx.x] = i;",
    "store": "x[base + i % 4 * 65536 * 32] = i;",
    "stores": "for (int k = 0; k < 8; k++) x[base + k * 1048576] = i;",
    "load": 'asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(x + base + i * 1048576));',
}  # fmt: skip
MARKS = 104


def _fence(name: str, fence: str, before: str, code: str) -> str:
    return f"""
extern "C" __global__ void fence_{name}_{before}(unsigned* x, unsigned* out) {{
  __shared__ volatile unsigned s[1024];
  unsigned v = 0, base = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  for (int i = 0; i < {ROUNDS}; i++) {{
    {code}
    unsigned t = clock();
    asm volatile("{fence}" ::: "memory");
    t = clock() - t;
    if (threadIdx.x % 32 == 0)
      out[(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * {ROUNDS} + i] = t + (v == 0x12345);
  }}
}}
"""


_BESIDE = {
    "reads": "v += __ldcg(x + at); at = (at + 65536 * 32) & (size - 1);",
    "many_reads": "for (int k = 0; k < 8; k++)"
                  "   v += __ldcg(x + ((at + k * 65536 * 4) & (size - 1)));"
                  " at = (at + 65536 * 32) & (size - 1);",
    "writes": "x[at] = i; at = (at + 65536 * 32) & (size - 1);",
}  # fmt: skip


def _beside(load: str, code: str) -> str:
    """The first warps fence, the others read or write all the time."""
    return f"""
extern "C" __global__ void beside_{load}(unsigned* x, int fencing, unsigned size, unsigned* out) {{
  __shared__ volatile int ended;
  if (threadIdx.x == 0) ended = 0;
  __syncthreads();
  const int warp = threadIdx.x / 32;
  if (warp >= fencing) {{
    unsigned v = 0, at = (blockIdx.x * blockDim.x + threadIdx.x) & (size - 1);
    for (int i = 0; i < 4000 && ended < fencing; i++) {{ {code} }}
    if (v == 0x12345) out[0] = v;
    return;
  }}
  unsigned t = clock();
  while (clock() - t < 4000) {{}}
  for (int i = 0; i < {ROUNDS}; i++) {{
    unsigned t = clock();
    asm volatile("membar.gl;" ::: "memory");
    t = clock() - t;
    if (threadIdx.x % 32 == 0) out[(blockIdx.x * fencing + warp) * {ROUNDS} + i] = t;
  }}
  if (threadIdx.x % 32 == 0) atomicAdd((int*)&ended, 1);
}}
"""


def _marked(text: str, name: str, steps: dict[str, str]) -> str:
    """A kernel that notes the clock of each warp's first lane at some places."""
    text = text.replace(f"{name}(", f"{name}_marks(", 1)
    head, body = text.split(") {", 1)
    body = f"""
  __shared__ unsigned at[8][{MARKS}];
  int mark = 1;
  if (threadIdx.x % 32 == 0) {{
    at[threadIdx.x / 32][0] = clock();
    asm volatile("mov.u32 %0, %smid;" : "=r"(at[threadIdx.x / 32][{MARKS} - 1]));
  }}
  auto NOTE = [&]() {{
    if (mark < {MARKS} - 1 && threadIdx.x % 32 == 0) at[threadIdx.x / 32][mark++] = clock();
  }};
""" + body
    for place, noted in steps.items():
        assert place in body, place
        body = body.replace(place, noted)
    end = body.rindex("}")
    body = body[:end] + f"""
  NOTE();
  if (threadIdx.x % 32 == 0)
    for (int i = 0; i < {MARKS}; i++)
      marks[(blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32) * {MARKS} + i]
          = i < mark || i == {MARKS} - 1 ? at[threadIdx.x / 32][i] : 0;
}}
"""
    return head + ", unsigned* marks) {" + body


def _kernels_marked() -> str:
    fence = '    asm volatile("fence.proxy.async;" ::: "memory");\n    __syncthreads();'
    bulk = _marked(_BULK, "bulk_scale", {
        "    wait(&full[k % 4], k / 4 & 1);":
            "    NOTE();\n    wait(&full[k % 4], k / 4 & 1);\n    NOTE();",
        fence: "    NOTE();\n" + fence.replace("\n", "\n    NOTE();\n") + "\n    NOTE();",
    })  # fmt: skip
    start = _CLUSTER.index('extern "C"')
    cluster = _CLUSTER[:start] + _marked(_CLUSTER[start:], "softmax_cluster", {
        "  top = of_all(": "  NOTE();\n  top = of_all(",
        "  sum = of_all(": "  NOTE();\n  sum = of_all(",
        "  cluster_sync();": "  NOTE();\n  cluster_sync();",
        "top, false);": "top, false);\n  NOTE();", "sum, true);": "sum, true);\n  NOTE();",
    })  # fmt: skip
    waited = '    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");'
    last = '  asm volatile("cp.async.bulk.wait_group 0;"'
    copies = "".join(_marked(_boxes(rank, "store"), f"copy_rank{rank}", {
        waited: f"    NOTE();\n{waited}\n    NOTE();",
        "    wait(&full[s], turn / 2 & 1);": "    wait(&full[s], turn / 2 & 1);\n    NOTE();",
        last: f"  NOTE();\n{last}",
    }) for rank in (2, 3, 4))  # fmt: skip
    return bulk + cluster + copies


_PLACES = """
extern "C" __global__ void places(int cycles, unsigned* out) {
  unsigned long long begun;
  unsigned sm;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begun));
  asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
  unsigned t = clock();
  while (clock() - t < cycles) {}
  if (threadIdx.x == 0) {
    out[blockIdx.x * 4] = sm, out[blockIdx.x * 4 + 1] = (unsigned)begun;
    out[blockIdx.x * 4 + 2] = t, out[blockIdx.x * 4 + 3] = clock();
  }
}
extern "C" __global__ void samples(unsigned long long object, int apart, unsigned* out) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float x = (blockIdx.x * blockDim.x + threadIdx.x) % 1024 + 0.5f, sum = 0, r, g, b, a;
  float y = (blockIdx.x * blockDim.x + threadIdx.x) / 1024 + 0.5f;
  unsigned at[8];
  for (int i = 0; i < 8; i++) {
    unsigned t = clock();
    asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
                 : "=f"(r), "=f"(g), "=f"(b), "=f"(a) : "l"(object), "f"(x), "f"(y) : "memory");
    sum += r + g + b + a;
    asm volatile("" :: "f"(sum) : "memory");
    at[i] = clock() - t;
    if (i % 2) y += apart;  // each place twice
  }
  if (lane == 0)
    for (int i = 0; i < 8; i++)
      out[(blockIdx.x * (blockDim.x / 32) + warp) * 8 + i] = at[i] + (sum == 0.123f);
}
"""


def source() -> dict[str, str]:
    """Units by name."""
    fences = "".join(_fence(n, f, b, c) for n, f in FENCES.items() for b, c in BEFORE.items())
    beside = "".join(_beside(load, code) for load, code in _BESIDE.items())
    return {"fences": fences + beside + _PLACES, "marked": PREAMBLE + _kernels_marked(),
            "reader": READER}  # fmt: skip


def _fences(bench: Bench) -> list[Any]:
    driver, module, found = bench.driver, bench.module("fences"), []
    x, out = driver.alloc(64 << 20), driver.alloc(16 << 20)
    driver.fill(x, 0, 64 << 20)

    def launch(kernel: str, blocks: int, warps: int, given: tuple[Any, ...],
               rows: int) -> list[int]:  # fmt: skip
        driver.launch(driver.function(module, kernel), (blocks,), (32 * warps,), (x, *given, out))
        driver.synchronize()
        words = driver.download(out, rows * ROUNDS, np.uint32).reshape(-1, ROUNDS)
        return [int(n) for n in words[: 4 * max(1, warps)].mean(axis=0)] if rows else []

    for fence in FENCES:
        for before in BEFORE:
            for blocks, warps in ((1, 1), (1, 2), (1, 4), (1, 8), (1, 16), (1, 32), (132, 1),
                                  (132, 8), (132, 32), (528, 8)):  # fmt: skip
                cycles = launch(f"fence_{fence}_{before}", blocks, warps, (), blocks * warps)
                found.append((f"fence_{fence}", before, blocks, warps, 0, cycles))
    for load in _BESIDE:
        for blocks in (1, 132):
            for fencing in (1, 8):
                for others in (1, 2, 4, 8, 16, 24):
                    for size in (1 << 21, 1 << 24):  # words: in L2, of DRAM in part
                        given = (np.int32(fencing), np.uint32(size))
                        cycles = launch(f"beside_{load}", blocks, fencing + others, given,
                                        blocks * fencing)  # fmt: skip
                        found.append((f"beside_{load}", fencing, blocks, others, size, cycles))
    driver.free_all()
    return found


def _arrays(driver: Driver) -> tuple[ct.c_uint64, ct.c_uint64, ct.c_uint64]:
    """What displaces L2's lines, an input and an output of 64 MiB."""
    scratch = driver.alloc(CACHE_BYTES)
    driver.fill(scratch, 0, CACHE_BYTES)
    x, y = driver.alloc(64 << 20), driver.alloc(64 << 20)
    driver.fill(x, 0, 64 << 20)
    return scratch, x, y


def _marks(bench: Bench) -> list[Any]:
    """Marks of each eleventh block, and of each warp there."""
    driver, found = bench.driver, list[Any]()
    scratch, x, y = _arrays(driver)
    marks = driver.alloc(4 * MARKS * 8 * 4200)
    cases: list[tuple[str, int, int, tuple[Any, ...]]] = [
        ("bulk_scale", blocks, 1, (np.float32(2.0), np.int32(16)))
        for blocks in (1, 132, 396, 528)
    ]
    cases += [("softmax_cluster", 8 * rows, 8, (np.int32(16384),)) for rows in (1, 16, 64, 512)]
    for name, blocks, cluster, given in cases:
        function = driver.function(bench.module("marked"), f"{name}_marks")
        for _ in range(2):
            bench.clean(scratch)
            driver.launch(function, (blocks,), (256,), (x, y, *given, marks))
            driver.synchronize()
        rows = driver.download(marks, MARKS * 8 * blocks, np.uint32).reshape(blocks, 8, MARKS)
        every = 1 if blocks <= 16 else 11
        kept = rows[::every, ::7][:12]  # two warps
        used = int((kept[..., :-1] != 0).any(axis=(0, 1)).sum())
        found.append((f"{name}_marks", every, blocks, 2, cluster, kept[..., :used].tolist()))
    driver.free_all()
    return found


# rank, kind, bytes of an element, box, boxes in each dimension
_BOXES = (
    (2, 0, 1, (128, 64), (32, 66)), (2, 0, 1, (128, 64), (8, 66)), (2, 0, 1, (32, 256), (32, 66)),
    (2, 0, 1, (16, 256), (32, 66)), (3, 6, 2, (64, 8, 8), (8, 16, 33)),
    (3, 6, 2, (16, 16, 16), (8, 16, 33)),
    (4, 7, 4, (32, 4, 4, 4), (4, 8, 8, 9)), (4, 7, 4, (8, 8, 8, 4), (8, 8, 8, 9)),
)  # fmt: skip


def _copies(bench: Bench) -> list[Any]:
    """Marks of copies of boxes: cold, and with what the launch before has left in L2."""
    driver, found = bench.driver, list[Any]()
    scratch, x, y = _arrays(driver)
    marks = driver.alloc(4 * MARKS * 528)
    for rank, kind, element, box, counts in _BOXES:
        sizes = tuple(n * b for n, b in zip(counts, box, strict=True))
        strides, step = [], element
        for size in sizes[:-1]:
            step *= size
            strides.append(step)
        given = Map(array=-1, kind=kind, sizes=sizes, strides=tuple(strides), box=box,
                    steps=(1,) * rank)  # fmt: skip
        maps = [encode(driver, given, place.value) for place in (x, y)]
        numbers = (prod(box) * element, prod(counts), *[*counts, 1, 1][:4], *[*box, 0, 0, 0][:5], 0)
        function = driver.function(bench.module("marked"), f"copy_rank{rank}_marks")
        shared = 2 * 16384 + 1024
        for blocks in (1, 132, 528):
            for is_warm in (0, 0, 1):
                if not is_warm:
                    bench.clean(scratch)
                arguments = (*maps, *map(np.int32, numbers), marks)
                driver.launch(function, (blocks,), (32,), arguments, shared)
                driver.synchronize()
                rows = driver.download(marks, MARKS * blocks, np.uint32).reshape(blocks, MARKS)
                kept = rows[:: max(1, blocks // 24)][:6]
                used = int((kept[..., :-1] != 0).any(axis=0).sum())
                where = (prod(box) * element, *box, *counts)
                found.append((f"copy_rank{rank}_marks", is_warm, blocks, element, where,
                              kept[..., :used].tolist()))
    driver.free_all()
    return found


def _places(bench: Bench) -> list[Any]:
    driver, module, found = bench.driver, bench.module("fences"), []
    out = driver.alloc(1 << 20)
    function = driver.function(module, "places")
    for shared in (200 << 10, 100 << 10, 50 << 10, 24 << 10):
        driver.set_dynamic_shared(function, shared)
        for cluster in (1, 2, 4, 8):
            count = _clusters(driver, function, shared, cluster)
            each = {200 << 10: 1, 100 << 10: 2, 50 << 10: 4, 24 << 10: 8}[shared]
            blocks = 132 * each * 2 // cluster * cluster
            arguments = np.int32(20000), out
            driver.launch_clusters(function, (blocks,), (256,), arguments, shared, cluster)
            driver.synchronize()
            words = driver.download(out, 4 * blocks, np.uint32).reshape(-1, 4)
            per_sm = np.bincount(words[:, 0], minlength=132).tolist()
            found.append(("places", each, blocks, cluster, count, per_sm))
    driver.free_all()
    return found


def _clusters(driver: Any, function: Any, shared: int, cluster: int) -> int:
    """cuOccupancyMaxActiveClusters."""
    from cuda_driver import _Config

    attribute = (ct.c_uint32 * 16)(4, 0, cluster, 1, 1)
    config = _Config(cluster, 1, 1, 256, 1, 1, shared, None, ct.addressof(attribute), 1)
    count = ct.c_int()
    driver._call("cuOccupancyMaxActiveClusters", ct.byref(count), function, ct.byref(config))
    return count.value


def _samples(bench: Bench) -> list[Any]:
    driver, found = bench.driver, []
    scratch, out = driver.alloc(CACHE_BYTES), driver.alloc(4 << 20)
    driver.fill(scratch, 0, CACHE_BYTES)
    texels = driver.alloc(1024 * 4096 * 4)
    driver.fill(texels, 0, 1024 * 4096 * 4)
    function = driver.function(bench.module("fences"), "samples")
    for kind in ("linear", "bytes"):
        given = Filter(array=-1, width=1024, height=4096, format=0x20 if kind == "linear" else 1,
                       channels=1 if kind == "linear" else 4, texel_bytes=4, mode=1,
                       is_linear=kind == "linear", flags=0)  # fmt: skip
        objects = [np.uint64(0)] * 2
        if not bench.session.dry_run:
            objects = [texture(driver, given, texels.value) for _ in objects]
        for blocks, warps in ((1, 1), (1, 8), (132, 1), (132, 8), (528, 8)):
            for is_warm in (0, 1, 2):  # 2: with the other object, of the same texels
                if not is_warm:
                    bench.clean(scratch)
                chosen = objects[is_warm == 2]
                driver.launch(function, (blocks,), (32 * warps,), (chosen, np.int32(600), out))
                driver.synchronize()
                words = driver.download(out, blocks * warps * 8, np.uint32).reshape(-1, 8)
                rows = words if len(words) <= 132 else words[:: len(words) // 132]
                found.append((f"samples_{kind}", is_warm, blocks, warps, 600, rows[:16].tolist()))
    driver.free_all()
    return found


def main() -> None:
    """Compiles or records."""
    if sys.argv[1] == "--build":
        build(Path(sys.argv[2]), source())
        return
    session = Session.of_command_line(__doc__)
    bench, rows = Bench(session), []
    for part in (_fences, _marks, _copies, _places, _samples):
        try:
            rows += part(bench)
        except RuntimeError as error:
            print(part.__name__, error)
        session.save_rows("fences_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
