"""CUDA sources of an attention and a convolution by im2col, both with TMA and wgmma."""

from __future__ import annotations

from wgmma_kernels import Kernel, product


def attention() -> str:
    """Softmax(Q K) V by one warpgroup, two stages."""
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


def convolution() -> str:
    """A 3 x 3 convolution as a product of matrices, pixels copied by im2col."""
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
