// Half precision and bfloat16: each kernel for both types, scalar and packed.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

#define BOTH(T, T2, N)                                                                            \
KERNEL sums_##N(const T *a, const T *b, T *o) {                                                   \
    int n = gridDim.x * blockDim.x, i = I;                                                        \
    o[i] = __hadd(a[i], b[i]); o[i + n] = __hsub(a[i], b[i]);                                     \
}                                                                                                 \
KERNEL products_##N(const T *a, const T *b, T *o) {                                               \
    int n = gridDim.x * blockDim.x, i = I;                                                        \
    o[i] = __hmul(a[i], b[i]); o[i + n] = __hneg(__hmul(a[i], __habs(b[i])));                     \
}                                                                                                 \
KERNEL fma_##N(const T *a, const T *b, const T *c, T *o) { o[I] = __hfma(a[I], b[I], c[I]); }     \
KERNEL fma_pairs_##N(const T2 *a, const T2 *b, const T2 *c, T2 *o) {                              \
    o[I] = __hfma2(a[I], __lowhigh2highlow_##N(b[I]), __hneg2(c[I]));                             \
}                                                                                                 \
KERNEL sum_pairs_##N(const T2 *a, const T2 *b, T2 *o) {                                           \
    int n = gridDim.x * blockDim.x, i = I;                                                        \
    o[i] = __hadd2(a[i], __low2_##N(b[i])); o[i + n] = __hsub2(__habs2(a[i]), b[i]);              \
    o[i + 2 * n] = __hmul2(a[i], __high2_##N(b[i]));                                              \
}                                                                                                 \
KERNEL saturated_##N(const T *a, const T *b, const T *c, T *o) {                                  \
    int n = gridDim.x * blockDim.x, i = I;                                                        \
    o[i] = __hadd_sat(a[i], b[i]); o[i + n] = __hmul_sat(a[i], b[i]);                             \
    o[i + 2 * n] = __hfma_sat(a[i], b[i], c[i]);                                                  \
}                                                                                                 \
KERNEL extremes_##N(const T *a, const T *b, T *o) {                                               \
    int n = gridDim.x * blockDim.x, i = I;                                                        \
    o[i] = __hmin(a[i], b[i]); o[i + n] = __hmax(a[i], b[i]);                                     \
    o[i + 2 * n] = __hmin_nan(a[i], b[i]); o[i + 3 * n] = __hmax_nan(a[i], b[i]);                 \
}                                                                                                 \
KERNEL extreme_pairs_##N(const T2 *a, const T2 *b, T2 *o) {                                       \
    int n = gridDim.x * blockDim.x, i = I;                                                        \
    o[i] = __hmin2(a[i], b[i]); o[i + n] = __hmax2(a[i], b[i]);                                   \
    o[i + 2 * n] = __hmin2_nan(a[i], b[i]); o[i + 3 * n] = __hmax2_nan(a[i], b[i]);               \
}                                                                                                 \
KERNEL comparisons_##N(const T *a, const T *b, unsigned *o) {                                     \
    T x = a[I], y = b[I];                                                                         \
    o[I] = __heq(x, y) | __hne(x, y) << 1 | __hlt(x, y) << 2 | __hle(x, y) << 3 |                 \
           __hgt(x, y) << 4 | __hge(x, y) << 5 | __hequ(x, y) << 6 | __hneu(x, y) << 7 |          \
           __hltu(x, y) << 8 | __hleu(x, y) << 9 | __hgtu(x, y) << 10 | __hgeu(x, y) << 11 |      \
           __hisnan(x) << 12;                                                                     \
}                                                                                                 \
KERNEL compare_pairs_##N(const T2 *a, const T2 *b, unsigned *o) {                                 \
    T2 x = a[I], y = b[I];                                                                        \
    unsigned n = gridDim.x * blockDim.x, i = I;                                                   \
    T2 lt = __hlt2(x, y), geu = __hgeu2(x, y);                                                    \
    o[i] = *(unsigned *)&lt; o[i + n] = *(unsigned *)&geu;                                        \
    o[i + 2 * n] = __hbeq2(x, y) | __hblt2(x, y) << 1 | __hbneu2(x, y) << 2 | __hbge2(x, y) << 3; \
    o[i + 3 * n] = __hle2_mask(x, y); o[i + 4 * n] = __hneu2_mask(x, y);                          \
}                                                                                                 \
KERNEL rounding_##N(const T *a, T *o) {                                                           \
    int n = gridDim.x * blockDim.x, i = I;                                                        \
    o[i] = hfloor(a[i]); o[i + n] = hceil(a[i]); o[i + 2 * n] = htrunc(a[i]);                     \
    o[i + 3 * n] = hrint(a[i]);                                                                   \
}                                                                                                 \
KERNEL quotients_##N(const T *a, const T *b, T *o) { o[I] = __hdiv(a[I], b[I]); }                 \
KERNEL dot_##N(const T2 *a, const T2 *b, float *o) {                                              \
    float s = 0;                                                                                  \
    for (int k = 0; k < 8; k++) {                                                                 \
        T2 p = __hmul2(a[8 * I + k], b[8 * I + k]);                                               \
        s += __low2float(p); s += __high2float(p);                                                \
    }                                                                                             \
    o[I] = s;                                                                                     \
}

static __device__ __half2 __lowhigh2highlow_f16(__half2 v) { return __lowhigh2highlow(v); }
static __device__ __nv_bfloat162 __lowhigh2highlow_bf16(__nv_bfloat162 v) {
    return __lowhigh2highlow(v);
}
static __device__ __half2 __low2_f16(__half2 v) { return __low2half2(v); }
static __device__ __half2 __high2_f16(__half2 v) { return __high2half2(v); }
static __device__ __nv_bfloat162 __low2_bf16(__nv_bfloat162 v) { return __low2bfloat162(v); }
static __device__ __nv_bfloat162 __high2_bf16(__nv_bfloat162 v) { return __high2bfloat162(v); }

BOTH(__half, __half2, f16)
#if __CUDA_ARCH__ >= 800
BOTH(__nv_bfloat16, __nv_bfloat162, bf16)
#endif

KERNEL complex_f16(const __half2 *a, const __half2 *b, const __half2 *c, __half2 *o) {
    o[I] = __hcmadd(a[I], b[I], c[I]);
}
#if __CUDA_ARCH__ >= 800
KERNEL relu_f16(const __half *a, const __half *b, const __half *c, __half *o) {
    o[I] = __hfma_relu(a[I], b[I], c[I]);
}
KERNEL relu_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, const __nv_bfloat16 *c,
                 __nv_bfloat16 *o) {
    o[I] = __hfma_relu(a[I], b[I], c[I]);
}

#endif

// Conversions.
KERNEL from_float_f16(const float *a, __half *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __float2half_rn(a[i]); o[i + n] = __float2half_rz(a[i]);
    o[i + 2 * n] = __float2half_rd(a[i]); o[i + 3 * n] = __float2half_ru(a[i]);
}
KERNEL from_float_bf16(const float *a, __nv_bfloat16 *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __float2bfloat16_rn(a[i]); o[i + n] = __float2bfloat16_rz(a[i]);
    o[i + 2 * n] = __float2bfloat16_rd(a[i]); o[i + 3 * n] = __float2bfloat16_ru(a[i]);
}
KERNEL from_pairs_f16(const float2 *a, __half2 *o) { o[I] = __float22half2_rn(a[I]); }
KERNEL from_pairs_bf16(const float2 *a, __nv_bfloat162 *o) { o[I] = __float22bfloat162_rn(a[I]); }
KERNEL to_float_f16(const __half *a, float *o) { o[I] = __half2float(a[I]); }
KERNEL to_float_bf16(const __nv_bfloat16 *a, float *o) { o[I] = __bfloat162float(a[I]); }
KERNEL from_double_f16(const double *a, __half *o) { o[I] = __double2half(a[I]); }
KERNEL from_double_bf16(const double *a, __nv_bfloat16 *o) { o[I] = __double2bfloat16(a[I]); }
KERNEL to_integers_f16(const __half *a, int *o, long long *p) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __half2int_rn(a[i]); o[i + n] = __half2int_rz(a[i]); o[i + 2 * n] = __half2int_rd(a[i]);
    o[i + 3 * n] = __half2int_ru(a[i]); o[i + 4 * n] = __half2uint_rn(a[i]);
    o[i + 5 * n] = __half2short_rn(a[i]); o[i + 6 * n] = __half2ushort_rz(a[i]);
    p[i] = __half2ll_rn(a[i]);
}
KERNEL to_integers_bf16(const __nv_bfloat16 *a, int *o, long long *p) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __bfloat162int_rn(a[i]); o[i + n] = __bfloat162int_rz(a[i]);
    o[i + 2 * n] = __bfloat162int_rd(a[i]); o[i + 3 * n] = __bfloat162int_ru(a[i]);
    o[i + 4 * n] = __bfloat162uint_rn(a[i]);
    o[i + 5 * n] = __bfloat162short_rn(a[i]); o[i + 6 * n] = __bfloat162ushort_rz(a[i]);
    p[i] = __bfloat162ll_rn(a[i]);
}
KERNEL from_integers_f16(const int *a, const long long *b, __half *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __int2half_rn(a[i]); o[i + n] = __uint2half_rn(a[i]);
    o[i + 2 * n] = __short2half_rn((short)a[i]); o[i + 3 * n] = __ushort2half_rn((unsigned short)a[i]);
    o[i + 4 * n] = __ll2half_rn(b[i]); o[i + 5 * n] = __int2half_rz(a[i]);
}
KERNEL from_integers_bf16(const int *a, const long long *b, __nv_bfloat16 *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __int2bfloat16_rn(a[i]); o[i + n] = __uint2bfloat16_rn(a[i]);
    o[i + 2 * n] = __short2bfloat16_rn((short)a[i]);
    o[i + 3 * n] = __ushort2bfloat16_rn((unsigned short)a[i]);
    o[i + 4 * n] = __ll2bfloat16_rn(b[i]); o[i + 5 * n] = __int2bfloat16_rz(a[i]);
}

// Atomics on halves.
KERNEL atomic_pairs_f16(__half2 *o, const __half2 *a) { atomicAdd(o + (I & 3), a[I]); }
KERNEL atomic_one_f16(__half *o, const __half *a) { atomicAdd(o + (I & 7), a[I]); }
KERNEL atomic_pairs_bf16(__nv_bfloat162 *o, const __nv_bfloat162 *a) { atomicAdd(o + (I & 3), a[I]); }
KERNEL atomic_one_bf16(__nv_bfloat16 *o, const __nv_bfloat16 *a) { atomicAdd(o + (I & 7), a[I]); }
KERNEL atomic_shared_f16(__half2 *o, const __half2 *a) {
    __shared__ __half2 s[4];
    if (threadIdx.x < 4) s[threadIdx.x] = __floats2half2_rn(0, 0);
    __syncthreads();
    atomicAdd(s + (threadIdx.x & 3), a[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x < 4) o[threadIdx.x] = s[threadIdx.x];
}

// Functions built on the special-function unit: references allow an error.
KERNEL functions_f16(const __half *a, __half *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = hsqrt(a[i]); o[i + n] = hrcp(a[i]); o[i + 2 * n] = hrsqrt(a[i]);
    o[i + 3 * n] = hexp(a[i]); o[i + 4 * n] = hlog(a[i]); o[i + 5 * n] = hexp2(a[i]);
    o[i + 6 * n] = hlog2(a[i]); o[i + 7 * n] = hsin(a[i]); o[i + 8 * n] = hcos(a[i]);
    o[i + 9 * n] = htanh(a[i]);
}
#if __CUDA_ARCH__ >= 800
KERNEL functions_bf16(const __nv_bfloat16 *a, __nv_bfloat16 *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = hsqrt(a[i]); o[i + n] = hrcp(a[i]); o[i + 2 * n] = hrsqrt(a[i]);
    o[i + 3 * n] = hexp(a[i]); o[i + 4 * n] = hlog(a[i]); o[i + 5 * n] = hexp2(a[i]);
    o[i + 6 * n] = hlog2(a[i]); o[i + 7 * n] = hsin(a[i]); o[i + 8 * n] = hcos(a[i]);
    o[i + 9 * n] = htanh(a[i]);
}
#endif
