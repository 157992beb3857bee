// Packed half and bfloat16 arithmetic with immediates of both halves.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void half_math(half2* a, half2* b, half* c, float* f) {
    int i = threadIdx.x;
    half2 x = a[i], y = b[i];
    x = __hfma2(x, y, __floats2half2_rn(1.5f, -2.25f));
    x = __hadd2(x, __float2half2_rn(0.333f));
    if (__hgt(c[i], __float2half(3.0f))) x = __hmul2(x, y);
    if (__hbgt2(x, y)) x = h2exp(x);
    a[i] = x;
    b[i] = __heq2(x, y);
    f[i] = __half2float(c[i + 1]) + __half2float(__high2half(x));
}

#if __CUDA_ARCH__ >= 800
__global__ void brain_math(__nv_bfloat162* a, __nv_bfloat162* b, float* f) {
    int i = threadIdx.x;
    a[i] = __hfma2(a[i], b[i], __float2bfloat162_rn(1.25f));
    b[i] = __hmul2(a[i], __float2bfloat162_rn(3e38f));
    f[i] = __bfloat162float(a[i].x);
    a[i + 1] = __floats2bfloat162_rn(f[i + 2], f[i + 3]);
}
#endif
