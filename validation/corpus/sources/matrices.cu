// Products of small matrices: wmma for every shape, type and layout, and mma in PTX.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;
typedef unsigned int u32;

template <class L>
__device__ constexpr bool is_row() { return false; }
template <>
__device__ constexpr bool is_row<wmma::row_major>() { return true; }

template <int M, int N, int K, class A, class C, class LA, class LB, class S = A, class D = C>
__global__ void multiply(const S *a, const S *b, const D *c, D *d, int rounds, D factor) {
  wmma::fragment<wmma::matrix_a, M, N, K, A, LA> x;
  wmma::fragment<wmma::matrix_b, M, N, K, A, LB> y;
  wmma::fragment<wmma::accumulator, M, N, K, C> sum;
  wmma::load_matrix_sync(sum, c, N, wmma::mem_row_major);
  for (int i = 0; i < rounds; i++) {
    wmma::load_matrix_sync(x, a + i * M * K, is_row<LA>() ? K : M);
    wmma::load_matrix_sync(y, b + i * K * N, is_row<LB>() ? N : K);
    wmma::mma_sync(sum, x, y, sum);
  }
  for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] * factor;
  wmma::store_matrix_sync(d, sum, N, wmma::mem_col_major);
}

#define ONE(M, N, K, A, C, LA, LB, S) \
  template __global__ void multiply<M, N, K, A, C, wmma::LA, wmma::LB, S>(const S *, const S *, const C *, C *, int, C);
#define LAYOUTS(M, N, K, A, C, S) ONE(M, N, K, A, C, row_major, col_major, S) ONE(M, N, K, A, C, row_major, row_major, S) \
  ONE(M, N, K, A, C, col_major, col_major, S) ONE(M, N, K, A, C, col_major, row_major, S)
#define SHAPES(A, C) LAYOUTS(16, 16, 16, A, C, A) LAYOUTS(32, 8, 16, A, C, A) LAYOUTS(8, 32, 16, A, C, A)
SHAPES(__half, __half) SHAPES(__half, float)
#if __CUDA_ARCH__ >= 720 || !defined(__CUDA_ARCH__)
SHAPES(signed char, int) SHAPES(unsigned char, int)
#endif
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
SHAPES(__nv_bfloat16, float)
LAYOUTS(16, 16, 8, wmma::precision::tf32, float, float)
LAYOUTS(8, 8, 4, double, double, double)
#endif

#define MMA3(name, text, NA, NB, NC, R, D)                                                \
  __global__ void name(const u32 *a, const u32 *b, D *d) {                                   \
    u32 x[4], y[2];                                                                          \
    D s[4];                                                                                  \
    for (int i = 0; i < NA; i++) x[i] = a[threadIdx.x * NA + i];                             \
    for (int i = 0; i < NB; i++) y[i] = b[threadIdx.x * NB + i];                             \
    for (int i = 0; i < NC; i++) s[i] = d[threadIdx.x * NC + i];                             \
    R                                                                                        \
    for (int i = 0; i < NC; i++) d[threadIdx.x * NC + i] = s[i];                             \
  }
#define F421(text) asm volatile(text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
#define F211(text) asm volatile(text " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]) : "r"(x[0]), "r"(x[1]), "r"(y[0]));
#define I421(text) asm volatile(text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
#define I211(text) asm volatile(text " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3]) : "r"(x[0]), "r"(x[1]), "r"(y[0]));
#define H422(text) asm volatile(text " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};" : "+r"(s[0]), "+r"(s[1]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
#define I211S(text) asm volatile(text " {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(s[0]), "+r"(s[1]) : "r"(x[0]), "r"(y[0]));
#define MMA(name, text, NA, NB, NC, body, D) MMA3(name, text, NA, NB, NC, body(text), D)
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
MMA(mma_f16_f32, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, F421, float)
MMA(mma_b16_f32, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, 4, F421, float)
MMA(mma_f16_f16, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2, H422, u32)
MMA(mma_f16_k8, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 2, 1, 4, F211, float)
MMA(mma_b16_k8, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 2, 1, 4, F211, float)
MMA(mma_tf32_k8, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4, F421, float)
MMA(mma_tf32_k4, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 2, 1, 4, F211, float)
#define INTEGERS(kind, big, small) \
  MMA(mma_##kind##_wide, "mma.sync.aligned." big ".row.col.s32." small ".s32", 4, 2, 4, I421, u32) \
  MMA(mma_##kind##_wide_sat, "mma.sync.aligned." big ".row.col.satfinite.s32." small ".s32", 4, 2, 4, I421, u32)
INTEGERS(s8, "m16n8k32", "s8.s8") INTEGERS(u8, "m16n8k32", "u8.u8") INTEGERS(s8u8, "m16n8k32", "s8.u8")
MMA(mma_s8_k16, "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", 2, 1, 4, I211, u32)
INTEGERS(s4, "m16n8k64", "s4.s4") INTEGERS(u4, "m16n8k64", "u4.u4") INTEGERS(u4s4, "m16n8k64", "u4.s4")
MMA(mma_s4_k32, "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32", 2, 1, 4, I211, u32)
MMA(mma_b1_and, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", 4, 2, 4, I421, u32)
MMA(mma_b1_k128, "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc", 2, 1, 4, I211, u32)
__global__ void transposed_loads(const u32 *in, u32 *out) {
  __shared__ u32 tile[1024];
  for (int i = threadIdx.x; i < 1024; i += 32) tile[i] = in[i];
  __syncwarp();
  u32 at = (u32)__cvta_generic_to_shared(tile) + (threadIdx.x & 31) * 16, r[4], q[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(q[0]), "=r"(q[1]) : "r"(at));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(at) : "r"(r[3]));
  out[threadIdx.x] = r[0] + r[1] * 3 + r[2] * 5 + r[3] * 7 + q[0] * 11 + q[1] * 13 + at * 17;
}
#endif
#if __CUDA_ARCH__ >= 890 || !defined(__CUDA_ARCH__)
MMA(mma_e4m3, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 2, 4, F421, float)
MMA(mma_e5m2, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32", 4, 2, 4, F421, float)
#endif
MMA(mma_f16_k8_old, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 2, 1, 4, F211, float)
MMA(mma_s8_k16_old, "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", 1, 1, 2, I211S, u32)
MMA(mma_s4_k32_old, "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32", 1, 1, 2, I211S, u32)
