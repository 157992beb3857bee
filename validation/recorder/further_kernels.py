"""CUDA sources of further whole Hopper kernels: attention by producer and consumers in turn, mixed
types, transposed operands, tensor copies of every rank, bulk copies, clusters, texture filters.

`further_cases.py` says what they are given.
"""

from __future__ import annotations

from gemm_preamble import PREAMBLE
from wgmma_kernels import Kernel, product

_HALVES = ", 1, 1, 0, 0"
_PRODUCT_QK = Kernel(name="", a="f16", b="f16", sums="f32", columns=128, depth=16, rest=_HALVES)
_PRODUCT_PV = Kernel(name="", a="f16", b="f16", sums="f32", columns=64, depth=16,
                     rest=", 1, 1, 1", from_registers=True)  # fmt: skip
_PRODUCT_MIXED = Kernel(name="", a="f16", b="f16", sums="f32", columns=128, depth=16,
                        rest=", 1, 1, 0", from_registers=True)  # fmt: skip
_PRODUCT_NN = Kernel(name="", a="f16", b="f16", sums="f32", columns=64, depth=16,
                     rest=", 1, 1, 0, 1")  # fmt: skip


def _attention() -> str:
    """128 queries of a block, 128 keys at a time; two consumers that multiply in turn."""
    return f"""
extern "C" __global__ void __launch_bounds__(384, 1) attention_special(
    const __grid_constant__ Map mq, const __grid_constant__ Map mk, const __grid_constant__ Map mv,
    int blocks, float scale, float* out) {{
  __shared__ alignas(8) u64 full_k[2], full_v[2], empty_k[2], empty_v[2], start;
  unsigned char* q = image;
  auto K = [&](int s) {{ return image + 16384 + s * 32768; }};
  auto V = [&](int s) {{ return image + 32768 + s * 32768; }};
  if (threadIdx.x == 0) {{
    for (int s = 0; s < 2; s++)
      make(&full_k[s], 1), make(&full_v[s], 1), make(&empty_k[s], 2), make(&empty_v[s], 2);
    make(&start, 1);
  }}
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x < 128) {{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == 0) {{
      expect(&start, 16384);
      load(q, &mq, &start, 0, blockIdx.x * 128);
      for (int j = 0; j < blocks; j++) {{
        int s = j % 2, turn = j / 2 & 1 ^ 1;
        wait(&empty_k[s], turn);
        expect(&full_k[s], 16384);
        load(K(s), &mk, &full_k[s], 0, j * 128);
        wait(&empty_v[s], turn);
        expect(&full_v[s], 16384);
        load(V(s), &mv, &full_v[s], 0, j * 128);
      }}
    }}
    return;
  }}
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  const int part = threadIdx.x / 128 - 1, thread = threadIdx.x % 128;
  const int warp = thread / 32, lane = thread % 32;
  if (part == 1) asm volatile("bar.arrive 1, 256;" ::: "memory");
  float o[32] = {{}}, most[2] = {{-1e30f, -1e30f}}, sum[2] = {{0, 0}};
  wait(&start, 0);
  for (int j = 0; j < blocks; j++) {{
    const int s2 = j % 2, phase = j / 2 & 1;
    float p[64];
    wait(&full_k[s2], phase);
    asm volatile("bar.sync %0, 256;" :: "r"(1 + part) : "memory");
    {{
      auto& c = p;
      FENCE();
      for (int i = 0; i < 4; i++) {{
        u64 da = described(q + 8192 * part + 32 * i, 16, 1024, 1);
        u64 db = described(K(s2) + 32 * i, 16, 1024, 1);
        int s = i > 0;
        {product(_PRODUCT_QK)}
      }}
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    }}
    if (part == 0 || j + 1 < blocks)
      asm volatile("bar.arrive %0, 256;" :: "r"(2 - part) : "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 64; i++) asm volatile("" : "+f"(p[i]) :: "memory");
    if (thread == 0) arrive(&empty_k[s2]);
    for (int r = 0; r < 2; r++) {{
      float top = most[r];
      for (int i = 0; i < 64; i++) if (i / 2 % 2 == r) top = fmaxf(top, p[i]);
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
      float less = exp2f((most[r] - top) * scale);
      sum[r] *= less;
      for (int i = 0; i < 64; i++)
        if (i / 2 % 2 == r) {{
          p[i] = exp2f((p[i] - top) * scale);
          sum[r] += p[i];
        }}
      for (int i = 0; i < 32; i++) if (i / 2 % 2 == r) o[i] *= less;
      most[r] = top;
    }}
    unsigned all[32];
    for (int h = 0; h < 32; h++)
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(all[h]) : "f"(p[2 * h + 1]), "f"(p[2 * h]));
    wait(&full_v[s2], phase);
    FENCE();
    for (int i = 0; i < 8; i++) {{
      unsigned* a = all + 4 * i;
      u64 db = described(V(s2) + 2048 * i, 1024, 1024, 1);
      int s = 1;
      auto& c = o;
      {product(_PRODUCT_PV)}
    }}
    FINISH();
    if (thread == 0) arrive(&empty_v[s2]);
  }}
  for (int r = 0; r < 2; r++) {{
    sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
    sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
  }}
  int row = blockIdx.x * 128 + 64 * part + 16 * warp + lane / 4;
  for (int i = 0; i < 32; i++)
    out[(row + 8 * (i / 2 % 2)) * 64 + 8 * (i / 4) + 2 * (lane % 4) + i % 2]
        = o[i] / sum[i / 2 % 2];
}}
"""


def _ring(name: str, parameters: str, stages: int, bytes_a: int, bytes_b: int, fetch: str,
          multiply: str, columns: int) -> str:  # fmt: skip
    """A product by one warpgroup that asks for stages ahead; tiles of 64 rows."""
    return f"""
extern "C" __global__ void __launch_bounds__(128) {name}(
    const __grid_constant__ Map ma, const __grid_constant__ Map mb, int steps, int across,
    float* out, int ld{parameters}) {{
  __shared__ alignas(8) u64 full[{stages}];
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  auto A = [&](int s) {{ return image + s * {bytes_a + bytes_b}; }};
  auto B = [&](int s) {{ return image + s * {bytes_a + bytes_b} + {bytes_a}; }};
  if (thread == 0) for (int s = 0; s < {stages}; s++) make(&full[s], 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  __syncthreads();
  int row0 = blockIdx.x / across * 64, col0 = blockIdx.x % across * {columns};
  auto fetch = [&](int k) {{
    int s = k % {stages};
    expect(&full[s], {bytes_a + bytes_b});
    {fetch}
  }};
  if (thread == 0) for (int k = 0; k < steps && k < {stages}; k++) fetch(k);
  float c[{columns // 2}] = {{}};
  for (int k = 0; k < steps; k++) {{
    wait(&full[k % {stages}], k / {stages} & 1);
    {multiply}
    __syncthreads();
    if (thread == 0 && k + {stages} < steps) fetch(k + {stages});
  }}
  for (int i = 0; i < {columns // 2}; i++)
    out[(row0 + 16 * warp + lane / 4 + 8 * (i / 2 % 2)) * ld + col0 + 8 * (i / 4)
        + 2 * (lane % 4) + i % 2] = c[i];
}}
"""


def _mixed() -> str:
    """Whole numbers of 8 bits times halves; the first operand is converted in registers."""
    return _ring(
        "gemm_mixed", "", 4, 64 * 64, 128 * 128,
        "load(A(s), &ma, &full[s], k * 64, row0); load(B(s), &mb, &full[s], k * 64, col0);",
        f"""
    const signed char* bytes = (const signed char*)A(k % 4) + (16 * warp + lane / 4) * 64;
    unsigned all[16];
    for (int h = 0; h < 16; h++) {{
      const signed char* at
          = bytes + 512 * (h % 2) + 16 * (h / 4) + 8 * (h / 2 % 2) + 2 * (lane % 4);
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(all[h]) : "f"((float)at[1]), "f"((float)at[0]));
    }}
    FENCE();
    for (int i = 0; i < 4; i++) {{
      unsigned* a = all + 4 * i;
      u64 db = described(B(k % 4) + 32 * i, 16, 1024, 1);
      int s = 1;
      {product(_PRODUCT_MIXED)}
    }}
    FINISH();""", 128,
    )  # fmt: skip


def _transposed() -> str:
    """B lies with its columns side by side; the unit transposes it."""
    return _ring(
        "gemm_transposed", "", 3, 64 * 128, 64 * 128,
        "load(A(s), &ma, &full[s], k * 64, row0); load(B(s), &mb, &full[s], col0, k * 64);",
        f"""
    FENCE();
    for (int i = 0; i < 4; i++) {{
      u64 da = described(A(k % 3) + 32 * i, 16, 1024, 1);
      u64 db = described(B(k % 3) + 2048 * i, 1024, 1024, 1);
      int s = 1;
      {product(_PRODUCT_NN)}
    }}
    FINISH();""", 64,
    )  # fmt: skip


def _boxes(rank: int, action: str) -> str:
    """Boxes of a tensor of some rank, loaded and stored (or added) by the unit, two at a time."""
    name = f"copy_rank{rank}" if action == "store" else f"reduce_rank{rank}"
    at = ", ".join(f"%{2 + i}" for i in range(rank))
    places = ", ".join(f'"r"(at[{i}])' for i in range(rank))
    out = {"store": "cp.async.bulk.tensor", "add": "cp.reduce.async.bulk.tensor"}[action]
    kind = "" if action == "store" else ".add"
    return f"""
extern "C" __global__ void {name}(
    const __grid_constant__ Map from, const __grid_constant__ Map to, int bytes, int total,
    int n0, int n1, int n2, int n3, int b0, int b1, int b2, int b3, int b4, int shift) {{
  __shared__ alignas(8) u64 full[2];
  if (threadIdx.x) return;
  make(&full[0], 1), make(&full[1], 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  auto place = [&](int box, int* at, int by) {{
    at[0] = box % n0 * b0 + by, at[1] = box / n0 % n1 * b1, at[2] = box / (n0 * n1) % n2 * b2;
    at[3] = box / (n0 * n1 * n2) % n3 * b3, at[4] = box / (n0 * n1 * n2 * n3) * b4;
  }};
  auto room = [&](int s) {{ return image + s * ((bytes + 1023) / 1024 * 1024); }};
  auto fetch = [&](int box, int s) {{
    int at[5];
    place(box, at, 0);
    expect(&full[s], bytes);
    asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {{{at}}}], [%{2 + rank}];"
                 :: "r"(near(room(s))), "l"(&from), {places}, "r"(near(&full[s])) : "memory");
  }};
  int turn = 0;
  if (blockIdx.x < total) fetch(blockIdx.x, 0);
  for (int box = blockIdx.x; box < total; box += gridDim.x, turn++) {{
    int s = turn % 2, next = box + gridDim.x, at[5];
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    if (next < total) fetch(next, 1 - s);
    wait(&full[s], turn / 2 & 1);
    place(box, at, shift);
    asm volatile("{out}.{rank}d.global.shared::cta{kind}.tile.bulk_group [%0, {{{at}}}], [%1];\\n"
                 "cp.async.bulk.commit_group;"
                 :: "l"(&to), "r"(near(room(s))), {places} : "memory");
  }}
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}}
"""


_BULK = """
extern "C" __global__ void __launch_bounds__(256) bulk_scale(
    const float* x, float* y, float factor, int pieces) {
  __shared__ alignas(8) u64 full[4];
  __shared__ alignas(128) float in[4][1024], result[2][1024];
  if (threadIdx.x == 0) for (int s = 0; s < 4; s++) make(&full[s], 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  __syncthreads();
  auto fetch = [&](int k) {
    expect(&full[k % 4], 4096);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], 4096, [%2];" :: "r"(near(in[k % 4])),
                 "l"(x + ((long long)k * gridDim.x + blockIdx.x) * 1024), "r"(near(&full[k % 4]))
                 : "memory");
  };
  if (threadIdx.x == 0) for (int k = 0; k < 4 && k < pieces; k++) fetch(k);
  for (int k = 0; k < pieces; k++) {
    wait(&full[k % 4], k / 4 & 1);
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += 256) result[k % 2][i] = factor * in[k % 4][i] + 1.0f;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 4096;\\n"
                   "cp.async.bulk.commit_group;"
                   :: "l"(y + ((long long)k * gridDim.x + blockIdx.x) * 1024),
                   "r"(near(result[k % 2])) : "memory");
      if (k + 4 < pieces) fetch(k + 4);
    }
  }
  if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
"""

_CLUSTER = """
__device__ float of_all(float* mine, float value, bool is_sum) {
  for (int by = 16; by; by /= 2) {
    float other = __shfl_xor_sync(~0u, value, by);
    value = is_sum ? value + other : fmaxf(value, other);
  }
  __shared__ float warps[8];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    value = warps[0];
    for (int i = 1; i < 8; i++) value = is_sum ? value + warps[i] : fmaxf(value, warps[i]);
    *mine = value;
  }
  cluster_sync();
  value = is_sum ? 0.0f : -1e30f;
  for (int r = 0; r < 8; r++) {
    float other;
    asm volatile("{ .reg .b32 p; mapa.shared::cluster.u32 p, %1, %2;"
                 " ld.shared::cluster.f32 %0, [p]; }" : "=f"(other) : "r"(near(mine)), "r"(r)
                 : "memory");
    value = is_sum ? value + other : fmaxf(value, other);
  }
  return value;
}
extern "C" __global__ void __cluster_dims__(8) __launch_bounds__(256) softmax_cluster(
    const float* x, float* y, int columns) {
  __shared__ float most, total;
  const int row = blockIdx.x / 8, rank = blockIdx.x % 8, each = columns / 8;
  const float* from = x + (long long)row * columns + rank * each;
  float* to = y + (long long)row * columns + rank * each;
  float v[16], top = -1e30f, sum = 0;
  for (int i = 0; i < 16; i++) {
    int at = i * 256 + threadIdx.x;
    v[i] = at < each ? from[at] : -1e30f;
    top = fmaxf(top, v[i]);
  }
  top = of_all(&most, top, false);
  for (int i = 0; i < 16; i++) {
    v[i] = exp2f((v[i] - top) * 1.44269504f);
    if (i * 256 + threadIdx.x < each) sum += v[i];
  }
  sum = of_all(&total, sum, true);
  for (int i = 0; i < 16; i++) {
    int at = i * 256 + threadIdx.x;
    if (at < each) to[at] = v[i] / sum;
  }
  cluster_sync();
}
"""

_TEXTURES = """
typedef unsigned long long Object;
extern "C" __global__ void texture_bilinear(Object object, float* out, int width, int height) {
  int x = blockIdx.x * 32 + threadIdx.x % 32, y = blockIdx.y * 8 + threadIdx.x / 32;
  if (x >= width || y >= height) return;
  float u = (x + 0.5f) / width, v = (y + 0.5f) / height, r, g, b, a;
  asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
               : "=f"(r), "=f"(g), "=f"(b), "=f"(a) : "l"(object), "f"(u), "f"(v));
  out[y * width + x] = r;
}
extern "C" __global__ void texture_bytes(Object object, float* out, int width, int height) {
  int x = blockIdx.x * 32 + threadIdx.x % 32, y = blockIdx.y * 8 + threadIdx.x / 32;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      float r, g, b, a;
      asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
                   : "=f"(r), "=f"(g), "=f"(b), "=f"(a) : "l"(object), "f"(x + dx + 0.5f),
                   "f"(y + dy + 0.5f));
      sum += (0.3f * r + 0.6f * g + 0.1f * b) * (dx == 0 && dy == 0 ? 8.0f : -1.0f);
    }
  out[y * width + x] = sum;
}
"""


def sources() -> dict[str, str]:
    """Translation units by name."""
    boxes = "".join(_boxes(rank, "store") for rank in range(1, 6)) + _boxes(3, "add")
    return {
        "further": PREAMBLE + _attention() + _mixed() + _transposed() + boxes + _BULK + _CLUSTER,
        "filters": _TEXTURES,
    }
