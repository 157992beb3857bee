"""CUDA sources of whole Hopper kernels: products of matrices in many ways, attention, convolution.

Each is small, but built as those that people tune: TMA, mbarriers, wgmma, warps that produce and
warps that consume, clusters. `gemm_cases.py` says what they are given.
"""

from __future__ import annotations

from dataclasses import dataclass

from wgmma_kernels import Kernel, product

PREAMBLE = """
typedef unsigned long long u64;
struct alignas(64) Map { u64 words[16]; };
extern __shared__ __align__(1024) unsigned char image[];
__device__ unsigned near(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void make(u64* bar, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(near(bar)), "r"(n));
}
__device__ void expect(u64* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(near(bar)), "r"(bytes) : "memory");
}
__device__ void wait(u64* bar, int phase) {
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;"
               " @!p bra W; }" :: "r"(near(bar)), "r"(phase) : "memory");
}
__device__ void arrive(u64* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(near(bar)) : "memory");
}
__device__ void arrive_at(u64* bar, int rank) {
  asm volatile("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, %1;"
               " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r]; }"
               :: "r"(near(bar)), "r"(rank) : "memory");
}
__device__ void load(void* to, const Map* map, u64* bar, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%2, %3}], [%4];"
               :: "r"(near(to)), "l"(map), "r"(x), "r"(y), "r"(near(bar)) : "memory");
}
__device__ void load_for(void* to, const Map* map, u64* bar, int x, int y, short ranks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
               :: "r"(near(to)), "l"(map), "r"(x), "r"(y), "r"(near(bar)), "h"(ranks) : "memory");
}
__device__ void store(const Map* map, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];\\n"
               "cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;"
               :: "l"(map), "r"(near(from)), "r"(x), "r"(y) : "memory");
}
__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
__device__ u64 described(const void* p, int leading, int stride, int mode) {
  return (u64)(near(p) >> 4 & 0x3fff) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32
         | (u64)mode << 62;
}
#define FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define FINISH() asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" \\
                              ::: "memory")
"""

BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1}
DEPTH = {1: 32, 2: 16, 4: 8}
MODES = {128: 1, 64: 2, 32: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """D = A * B^T, both with k contiguous; tiles of 64 rows a consumer by `columns`."""

    name: str
    kind: str = "f16"
    sums: str = "f32"
    columns: int = 128
    pitch: int = 128  # bytes of a row in shared memory, and the swizzle
    stages: int = 3
    consumers: int = 0  # warpgroups besides the producer; 0: one does both
    pingpong: bool = False
    multicast: bool = False
    stores: bool = False  # by TMA
    split: int = 1  # blocks of a cluster that share a tile's steps of k
    stream: bool = False
    scaled: bool = False

    @property
    def rows(self) -> int:
        """Rows of a block's tile."""
        return 64 * (1 if self.pingpong else max(self.consumers, 1))

    @property
    def step(self) -> int:
        """Steps of k in a stage."""
        return self.pitch // BYTES[self.kind]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 128 * (self.consumers + 1)

    @property
    def stage_bytes(self) -> int:
        """Bytes of a stage."""
        return (self.rows + self.columns) * self.pitch

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory."""
        extra = 64 * self.columns * 4 if self.stores or self.split > 1 else 0
        return self.stages * self.stage_bytes + extra + 1024

    @property
    def kernel(self) -> Kernel:
        """Its product."""
        rest = {"f16": ", 1, 1, 0, 0", "bf16": ", 1, 1, 0, 0", "s8": ""}.get(self.kind, ", 1, 1")
        return Kernel(name=self.name, a=self.kind, b=self.kind, sums=self.sums,
                      columns=self.columns, depth=DEPTH[BYTES[self.kind]], rest=rest)  # fmt: skip


_PRODUCTS = """
    FENCE();
    for (int q = 0; q < {n}; q++) {{
      u64 da = described(a + 64 * {pitch} * part + 32 * q, 16, {stride}, {mode});
      u64 db = described(b + 32 * q, 16, {stride}, {mode});
      int s = {first};
      {product}
    }}
    FINISH();
"""


def _products(g: Gemm) -> str:
    return _PRODUCTS.format(
        n=g.pitch // 32, pitch=g.pitch, stride=8 * g.pitch, mode=MODES[g.pitch],
        first="q > 0" if g.scaled else "k > first || q > 0",
        product=product(g.kernel),
    )  # fmt: skip


def _out(g: Gemm) -> str:
    return {"f32": "float", "s32": "int"}.get(g.sums, "unsigned")


def _write(g: Gemm) -> str:
    """Code that keeps c as rows of D, from `row0` and `col0` on."""
    per = 2 if g.sums == "f16" else 1
    if g.sums == "f16":
        return f"""
  for (int i = 0; i < {g.columns // 4}; i++)
    out[(row0 + 64 * part + 16 * warp + lane / 4 + 8 * (i % 2)) * (ld / {per}) + col0 / 2
        + 4 * (i / 2) + lane % 4] = c[i];"""
    return f"""
  for (int i = 0; i < {g.columns // 2}; i++)
    out[(row0 + 64 * part + 16 * warp + lane / 4 + 8 * (i / 2 % 2)) * ld + col0 + 8 * (i / 4)
        + 2 * (lane % 4) + i % 2] = {"total" if g.scaled else "c"}[i];"""


def _scale(g: Gemm) -> str:
    if not g.scaled:
        return ""
    return f"""
    for (int i = 0; i < {g.columns // 2}; i++) {{
      int row = row0 + 64 * part + 16 * warp + lane / 4 + 8 * (i / 2 % 2);
      int column = col0 + 8 * (i / 4) + 2 * (lane % 4) + i % 2;
      total[i] = fmaf(c[i], scale_a[k * ld + row] * scale_b[k * ld + column], total[i]);
    }}"""


def _fetch(g: Gemm) -> str:
    """Code that asks for stage s of step k of a tile."""
    if not g.multicast:
        return f"""
      expect(&full[s], {g.stage_bytes});
      load(A(s), &ma, &full[s], k * {g.step}, row0);
      load(B(s), &mb, &full[s], k * {g.step}, col0);"""
    half = g.columns // 2
    return f"""
      expect(&full[s], {g.stage_bytes});
      load(A(s), &ma, &full[s], k * {g.step}, row0);
      load_for(B(s) + rank * {half * g.pitch}, &mb, &full[s], k * {g.step}, col0 + rank * {half}, 3);"""


def _epilogue(g: Gemm) -> str:
    if g.split > 1:
        each = 64 * g.columns // g.split
        return f"""
  float* sums = (float*)(image + {g.stages * g.stage_bytes});
  {{ float* out = sums; int ld = {g.columns}, row0 = 0, col0 = 0; {_write(g)} }}
  cluster_sync();
  for (int i = rank * {each} + threadIdx.x; i < (rank + 1) * {each}; i += {g.threads}) {{
    float all = 0;
    for (int r = 0; r < {g.split}; r++) {{
      float v;
      asm volatile("{{ .reg .b32 p; mapa.shared::cluster.u32 p, %1, %2;"
                   " ld.shared::cluster.f32 %0, [p]; }}"
                   : "=f"(v) : "r"(near(sums + i)), "r"(r) : "memory");
      all += v;
    }}
    out[(row0 + i / {g.columns}) * ld + col0 + i % {g.columns}] = all;
  }}
  cluster_sync();"""
    if g.stores:
        return f"""
  float* sums = (float*)(image + {g.stages * g.stage_bytes});
  {{ float* out = sums; int ld = {g.columns}, row0 = 0, col0 = 0, whole = part; (void)whole;
     {_write(g).replace("64 * part", "0")} }}
  asm volatile("fence.proxy.async;" ::: "memory");
  asm volatile("bar.sync 7, 128;" ::: "memory");
  if (threadIdx.x % 128 == 0) store(&md, sums, col0, row0);
  asm volatile("bar.sync 7, 128;" ::: "memory");"""
    if g.stream:
        n = g.columns // 2
        return f"""
  if (first > 0) {{
    for (int i = 0; i < {n}; i++) space[(blockIdx.x * {n} + i) * 128 + thread] = c[i];
    __threadfence();
    asm volatile("bar.sync 7, 128;" ::: "memory");
    if (thread == 0) atomicExch(&flags[blockIdx.x], 1);
  }} else {{
    for (int other = blockIdx.x + 1, at = last; at < steps; other++) {{
      if (thread == 0) while (atomicAdd(&flags[other], 0) == 0) {{}}
      __threadfence();
      asm volatile("bar.sync 7, 128;" ::: "memory");
      for (int i = 0; i < {n}; i++) c[i] += __ldcg(&space[(other * {n} + i) * 128 + thread]);
      int end = (int)((long long)tiles * steps * (other + 1) / gridDim.x) - tile * steps;
      at = end < steps ? end : steps;
    }}
    {_write(g)}
  }}"""
    return _write(g)


def _tile(g: Gemm) -> str:
    if g.multicast:  # the blocks of a cluster share columns; `across` is how many rows of tiles
        return f"int row0 = tile % across * {g.rows}, col0 = tile / across * {g.columns};"
    return f"int row0 = tile / across * {g.rows}, col0 = tile % across * {g.columns};"


def _loop(g: Gemm, body: str) -> str:
    """The tiles of this block, each with its steps [first, last)."""
    if g.stream:
        return f"""
  int unit = (int)((long long)tiles * steps * blockIdx.x / gridDim.x);
  int end_unit = (int)((long long)tiles * steps * (blockIdx.x + 1) / gridDim.x);
  while (unit < end_unit) {{
    int tile = unit / steps, first = unit % steps;
    int last = end_unit - tile * steps < steps ? end_unit - tile * steps : steps;
    {_tile(g)}
    {body}
    unit += last - first;
  }}"""
    if g.split > 1:
        return f"""
  {{
    int tile = blockIdx.x / {g.split};
    int first = steps * rank / {g.split}, last = steps * (rank + 1) / {g.split};
    {_tile(g)}
    {body}
  }}"""
    start, by = ("blockIdx.x", "gridDim.x")
    return f"""
  for (int tile = {start}; tile < tiles; tile += {by}) {{
    const int first = 0, last = steps;
    {_tile(g)}
    {body}
  }}"""


def _sums(g: Gemm) -> str:
    zeros = "{}"
    kind = "float" if g.sums == "f32" else "unsigned"
    more = f"float total[{g.columns // 2}] = {zeros};" if g.scaled else ""
    return f"{kind} c[{g.kernel.registers}] = {zeros}; {more}"


def gemm(g: Gemm) -> str:
    """The whole kernel."""
    cluster = 2 if g.multicast else g.split
    dims = f"__cluster_dims__({cluster})" if cluster > 1 else ""
    empties = 1 if g.pingpong or not g.consumers else g.consumers
    empties *= 2 if g.multicast else 1
    free = "arrive_at(&empty[s], 0), arrive_at(&empty[s], 1)" if g.multicast else "arrive(&empty[s])"
    consume = f"""
    {_sums(g)}
    for (int k = first; k < last; k++, it++) {{
      int s = it % {g.stages};
      wait(&full[s], it / {g.stages} & 1);
      const unsigned char *a = A(s), *b = B(s);
      {_products(g)}
      {_scale(g)}
      if (thread == 0) {free};
    }}
    /* multiplied */
    {_epilogue(g)}"""
    produce = f"""
    for (int k = first; k < last; k++, it++) {{
      int s = it % {g.stages};
      wait(&empty[s], (it / {g.stages} & 1) ^ 1);
      {_fetch(g)}
    }}"""
    parameters = "const __grid_constant__ Map ma, const __grid_constant__ Map mb, "
    parameters += "const __grid_constant__ Map md, " if g.stores else ""
    parameters += f"int steps, int tiles, int across, {_out(g)}* out, int ld"
    parameters += ", const float* scale_a, const float* scale_b" if g.scaled else ""
    parameters += ", float* space, int* flags" if g.stream else ""
    body = _specialised(g, produce, consume) if g.consumers else _alone(g)
    return f"""
extern "C" __global__ void {dims} __launch_bounds__({g.threads}, 1) {g.name}({parameters}) {{
  __shared__ alignas(8) u64 full[{g.stages}], empty[{g.stages}];
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int rank = blockIdx.x % {cluster};
  auto A = [&](int s) {{ return image + s * {g.stage_bytes}; }};
  auto B = [&](int s) {{ return image + s * {g.stage_bytes} + {g.rows * g.pitch}; }};
  if (threadIdx.x == 0)
    for (int s = 0; s < {g.stages}; s++) make(&full[s], 1), make(&empty[s], {empties});
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  {"cluster_sync();" if cluster > 1 else "__syncthreads();"}
  {body}
  {"cluster_sync();" if g.multicast else ""}
}}
"""


def _specialised(g: Gemm, produce: str, consume: str) -> str:
    more, less = (240, 24) if g.consumers == 1 else (232, 40)
    if g.pingpong:  # consumer n takes every second tile while the other keeps its own
        order = "asm volatile(\"bar.{} %0, 256;\" :: \"r\"({}) : \"memory\");"
        tail = f"if (tile + gridDim.x < tiles) {{ {order.format('arrive', '2 - own')} }}"
        consume = consume.replace("/* multiplied */", tail)
        consume = f"""
    int turn = (tile - blockIdx.x) / gridDim.x;
    if (turn % 2 != part) {{ it += last - first; continue; }}
    if (turn > 0) {{ {order.format("sync", "1 + part")} }}
    {{ const int own = part; const int part = 0; {consume} }}"""
    registers = "asm volatile(\"setmaxnreg.{}.sync.aligned.u32 {};\");"
    return f"""
  int it = 0;
  if (threadIdx.x < 128) {{
    {registers.format("dec", less)}
    if (threadIdx.x == 0) {{ {_loop(g, produce)} }}
  }} else {{
    {registers.format("inc", more)}
    const int part = threadIdx.x / 128 - 1;
    {_loop(g, consume)}
  }}"""


def _alone(g: Gemm) -> str:
    """One warpgroup that asks for stages ahead and multiplies."""
    body = f"""
    {_sums(g)}
    int ahead = first;
    if (threadIdx.x == 0)
      for (; ahead < last && ahead < first + {g.stages}; ahead++) {{
        int k = ahead, s = (it + ahead - first) % {g.stages};
        {_fetch(g)}
      }}
    for (int k = first; k < last; k++) {{
      int s = it % {g.stages};
      wait(&full[s], it / {g.stages} & 1);
      const unsigned char *a = A(s), *b = B(s);
      {_products(g)}
      {_scale(g)}
      __syncthreads();
      if (threadIdx.x == 0 && k + {g.stages} < last) {{
        const int next = k + {g.stages};
        {{ const int k = next; {_fetch(g)} }}
      }}
      it++;
    }}
    {_epilogue(g)}"""
    return f"""
  int it = 0;
  const int part = 0;
  {_loop(g, body)}"""


GEMMS = {
    g.name: g
    for g in (
        Gemm(name="gemm_f16_128"),
        Gemm(name="gemm_f16_64", pitch=64, columns=64),
        Gemm(name="gemm_f16_32", pitch=32, columns=64, stages=4),
        Gemm(name="gemm_f16_f16", sums="f16"),
        Gemm(name="gemm_f16_256", columns=256),
        Gemm(name="gemm_bf16", kind="bf16"),
        Gemm(name="gemm_tf32", kind="tf32"),
        Gemm(name="gemm_tf32_64", kind="tf32", pitch=64, columns=96),
        Gemm(name="gemm_e4m3", kind="e4m3"),
        Gemm(name="gemm_e5m2_64", kind="e5m2", pitch=64, columns=64),
        Gemm(name="gemm_s8", kind="s8", sums="s32"),
        Gemm(name="gemm_scaled", kind="e4m3", scaled=True, columns=64, consumers=1),
        Gemm(name="gemm_producer", consumers=1, stages=4),
        Gemm(name="gemm_cooperative", consumers=2, stages=4),
        Gemm(name="gemm_cooperative_bf16", kind="bf16", consumers=2, stages=3, columns=256),
        Gemm(name="gemm_pingpong", consumers=2, stages=4, pingpong=True),
        Gemm(name="gemm_pingpong_e4m3", kind="e4m3", consumers=2, stages=4, pingpong=True),
        Gemm(name="gemm_stored", consumers=1, stages=3, stores=True),
        Gemm(name="gemm_multicast", consumers=2, stages=4, multicast=True),
        Gemm(name="gemm_split", stages=3, split=4, columns=64),
        Gemm(name="gemm_stream", consumers=1, stages=4, stream=True),
    )
}


def _attention() -> str:
    first = Kernel(name="", a="f16", b="f16", sums="f32", columns=64, depth=16,
                   rest=", 1, 1, 0, 0")  # fmt: skip
    second = Kernel(name="", a="f16", b="f16", sums="f32", columns=64, depth=16, rest=", 1, 1, 1",
                    from_registers=True)  # fmt: skip
    return f"""
extern "C" __global__ void __launch_bounds__(128) attention(
    const __grid_constant__ Map mq, const __grid_constant__ Map mk, const __grid_constant__ Map mv,
    int blocks, float scale, float* out) {{
  __shared__ alignas(8) u64 full[2], start;
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  unsigned char* q = image;
  auto K = [&](int s) {{ return image + 8192 + s * 16384; }};
  auto V = [&](int s) {{ return image + 16384 + s * 16384; }};
  if (thread == 0) make(&full[0], 1), make(&full[1], 1), make(&start, 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  __syncthreads();
  auto fetch = [&](int j) {{
    expect(&full[j % 2], 16384);
    load(K(j % 2), &mk, &full[j % 2], 0, j * 64);
    load(V(j % 2), &mv, &full[j % 2], 0, j * 64);
  }};
  if (thread == 0) {{
    expect(&start, 8192);
    load(q, &mq, &start, 0, blockIdx.x * 64);
    fetch(0);
    if (blocks > 1) fetch(1);
  }}
  float o[32] = {{}}, most[2] = {{-1e30f, -1e30f}}, sum[2] = {{0, 0}};
  wait(&start, 0);
  for (int j = 0; j < blocks; j++) {{
    wait(&full[j % 2], j / 2 & 1);
    float p[32];
    {{
      auto& c = p;
      FENCE();
      for (int i = 0; i < 4; i++) {{
        u64 da = described(q + 32 * i, 16, 1024, 1), db = described(K(j % 2) + 32 * i, 16, 1024, 1);
        int s = i > 0;
        {product(first)}
      }}
      FINISH();
    }}
    for (int r = 0; r < 2; r++) {{
      float top = most[r];
      for (int i = 0; i < 32; i++) if (i / 2 % 2 == r) top = fmaxf(top, p[i]);
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
      float less = exp2f((most[r] - top) * scale);
      sum[r] *= less;
      for (int i = 0; i < 32; i++)
        if (i / 2 % 2 == r) {{
          p[i] = exp2f((p[i] - top) * scale);
          sum[r] += p[i];
          o[i] *= less;
        }}
      most[r] = top;
    }}
    FENCE();
    for (int i = 0; i < 4; i++) {{
      unsigned a[4];
      for (int h = 0; h < 4; h++)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(a[h])
            : "f"(p[8 * i + 2 * h + 1]), "f"(p[8 * i + 2 * h]));
      u64 db = described(V(j % 2) + 2048 * i, 1024, 1024, 1);
      int s = 1;
      auto& c = o;
      {product(second)}
    }}
    FINISH();
    __syncthreads();
    if (thread == 0 && j + 2 < blocks) fetch(j + 2);
  }}
  for (int r = 0; r < 2; r++) {{
    sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
    sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
  }}
  for (int i = 0; i < 32; i++)
    out[(blockIdx.x * 64 + 16 * warp + lane / 4 + 8 * (i / 2 % 2)) * 64 + 8 * (i / 4)
        + 2 * (lane % 4) + i % 2] = o[i] / sum[i / 2 % 2];
}}
"""


def _convolution() -> str:
    inner = Kernel(name="", a="f16", b="f16", sums="f32", columns=64, depth=16,
                   rest=", 1, 1, 0, 0")  # fmt: skip
    return f"""
extern "C" __global__ void __launch_bounds__(128) convolution(
    const __grid_constant__ Map mx, const __grid_constant__ Map mw, int width, int height,
    float* out) {{
  __shared__ alignas(8) u64 full[2];
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  if (thread == 0) make(&full[0], 1), make(&full[1], 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  __syncthreads();
  int pixel = blockIdx.x * 64, x = pixel % width - 1, y = pixel / width % height - 1;
  int n = pixel / (width * height);
  auto fetch = [&](int tap) {{
    int s = tap % 2;
    unsigned short ox = tap % 3, oy = tap / 3;
    expect(&full[s], 16384);
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {{%2, %3, %4, %5}}], [%6], {{%7, %8}};"
                 :: "r"(near(image + s * 16384)), "l"(&mx), "r"(0), "r"(x), "r"(y), "r"(n),
                 "r"(near(&full[s])), "h"(ox), "h"(oy) : "memory");
    load(image + s * 16384 + 8192, &mw, &full[s], 0, tap * 64);
  }};
  if (thread == 0) fetch(0), fetch(1);
  float c[32] = {{}};
  for (int tap = 0; tap < 9; tap++) {{
    wait(&full[tap % 2], tap / 2 & 1);
    FENCE();
    for (int i = 0; i < 4; i++) {{
      unsigned char* at = image + tap % 2 * 16384 + 32 * i;
      u64 da = described(at, 16, 1024, 1), db = described(at + 8192, 16, 1024, 1);
      int s = tap > 0 || i > 0;
      {product(inner)}
    }}
    FINISH();
    __syncthreads();
    if (thread == 0 && tap + 2 < 9) fetch(tap + 2);
  }}
  for (int i = 0; i < 32; i++)
    out[(pixel + 16 * warp + lane / 4 + 8 * (i / 2 % 2)) * 64 + 8 * (i / 4) + 2 * (lane % 4) + i % 2]
        = c[i];
}}
"""


def sources() -> dict[str, str]:
    """Translation units by name."""
    half = len(GEMMS) // 2
    every = list(GEMMS.values())
    return {
        "gemms": PREAMBLE + "".join(map(gemm, every[:half])),
        "gemms2": PREAMBLE + "".join(map(gemm, every[half:])),
        "others": PREAMBLE + _attention() + _convolution(),
    }
