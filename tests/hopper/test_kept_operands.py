"""B of a warpgroup's product, whose numbers are kept: bytes that change count at once."""

from __future__ import annotations

import numpy as np

from warplens import Device

_SOURCE = """
extern __shared__ __align__(1024) unsigned char image[];
__device__ unsigned long long of(unsigned place) {
  return place >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
extern "C" __global__ void twice(const uint4* a, const uint4* b, float* out, int forms) {
  unsigned base = __cvta_generic_to_shared(image);
  for (int i = threadIdx.x; i < 512; i += 128) ((uint4*)image)[i] = a[i];
  for (int round = 0; round < 2; round++) {
    if (threadIdx.x < 64) ((uint4*)(image + 8192))[threadIdx.x] = b[64 * round + threadIdx.x];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    for (int form = 0; form < forms; form++) {
      float c[4] = {};
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      if (form == 0)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                     "{%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "l"(of(base)), "l"(of(base + 8192)));
      else if (form == 1)  // the same bytes with the other sign
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                     "{%0, %1, %2, %3}, %4, %5, 1, 1, -1, 0, 0;"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "l"(of(base)), "l"(of(base + 8192)));
      else  // and as other numbers
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                     "{%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "l"(of(base)), "l"(of(base + 8192)));
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
      float* d = out + (round * forms + form) * 512;
      for (int n = 0; n < 4; n++) d[(row + n / 2 * 8) * 8 + column + n % 2] = c[n];
    }
    __syncthreads();
  }
}
"""


def test_bytes_signs_and_types_that_change() -> None:
    """Six products from one place: two contents, each with two signs and as two types."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((64, 64), (2, 8, 64)))
    out = np.zeros((2, 3, 64, 8), np.float32)

    def swizzled(rows: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        pieces = rows.view(np.uint8).reshape(-1, 8, 8, 16)  # groups of eight rows of 128 bytes
        row, piece = np.indices((8, 8))
        return np.ascontiguousarray(pieces[:, row, piece ^ row])

    both = np.concatenate([swizzled(one) for one in b])
    kernel = Device("H200").compile(_SOURCE, options=["-arch=sm_90a"])["twice"]
    kernel[1, 128, 0, 9216](swizzled(a).view(np.uint32), both.view(np.uint32), out, 3)

    for n in range(2):
        x, y = a[:, :16].astype(np.float64), b[n, :, :16].astype(np.float64)
        assert np.array_equal(out[n, 0], x @ y.T)
        assert np.array_equal(out[n, 1], -(x @ y.T))
        x, y = (
            (one[:, :16].copy().view(np.uint16).astype(np.uint32) << 16).view(np.float32)
            for one in (a, b[n])
        )
        x, y = x.astype(np.float64), y.astype(np.float64)
        assert np.abs(out[n, 2] - x @ y.T).max() <= 2.0**-20 * (np.abs(x) @ np.abs(y).T).max()
