// Matrix instructions: wmma in every shape and type, mma.sync, ldmatrix, stmatrix, movmatrix.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

#define KERNEL extern "C" __global__ void
typedef unsigned u32;

template <class L> constexpr bool is_row = false;
template <> constexpr bool is_row<wmma::row_major> = true;

// C (m x n) = A (m x k) * B (k x n) + C with tiles of 16 x 16 x 16 and its two relatives.
template <int M, int N, int K, class T, class Acc, class LA, class LB>
__device__ void tile(const T *a, const T *b, Acc *c, int k, int lda, int ldb, int n) {
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Acc> fc;
    wmma::load_matrix_sync(fc, c, n, wmma::mem_row_major);
    for (int i = 0; i < k; i += K) {
        wmma::load_matrix_sync(fa, a + (is_row<LA> ? i : i * lda), lda);
        wmma::load_matrix_sync(fb, b + (is_row<LB> ? i * ldb : i), ldb);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c, fc, n, wmma::mem_row_major);
}
using R = wmma::row_major;
using C = wmma::col_major;
KERNEL wmma_f32_16(const __half *a, const __half *b, float *c) { tile<16, 16, 16, __half, float, R, R>(a, b, c, 32, 32, 16, 16); }
KERNEL wmma_f32_32(const __half *a, const __half *b, float *c) { tile<32, 8, 16, __half, float, R, C>(a, b, c, 32, 32, 32, 8); }
KERNEL wmma_f32_8(const __half *a, const __half *b, float *c) { tile<8, 32, 16, __half, float, C, R>(a, b, c, 32, 8, 32, 32); }
KERNEL wmma_f16_16(const __half *a, const __half *b, __half *c) { tile<16, 16, 16, __half, __half, R, C>(a, b, c, 32, 32, 32, 16); }
KERNEL wmma_s8_16(const signed char *a, const signed char *b, int *c) { tile<16, 16, 16, signed char, int, R, C>(a, b, c, 32, 32, 32, 16); }
KERNEL wmma_s8_32(const signed char *a, const signed char *b, int *c) { tile<32, 8, 16, signed char, int, R, C>(a, b, c, 32, 32, 32, 8); }
KERNEL wmma_u8_8(const unsigned char *a, const unsigned char *b, int *c) { tile<8, 32, 16, unsigned char, int, R, C>(a, b, c, 32, 32, 32, 32); }
KERNEL wmma_s4(const u32 *a, const u32 *b, int *c) {
    wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, R> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::s4, C> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> fc;
    wmma::fill_fragment(fc, 0);
    wmma::load_matrix_sync(fa, a, 32); wmma::load_matrix_sync(fb, b, 32);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 8, wmma::mem_row_major);
}
KERNEL wmma_b1(const u32 *a, const u32 *b, int *c) {
    wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, R> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, C> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> fc;
    wmma::fill_fragment(fc, 0);
    wmma::load_matrix_sync(fa, a, 128); wmma::load_matrix_sync(fb, b, 128);
    wmma::bmma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 8, wmma::mem_row_major);
}

#define A4 "r"(a[4 * t]), "r"(a[4 * t + 1]), "r"(a[4 * t + 2]), "r"(a[4 * t + 3])
#define A2 "r"(a[2 * t]), "r"(a[2 * t + 1])
#define B2 "r"(b[2 * t]), "r"(b[2 * t + 1])
#define C4 "+f"(c[4 * t]), "+f"(c[4 * t + 1]), "+f"(c[4 * t + 2]), "+f"(c[4 * t + 3])
#define I4 "+r"(c[4 * t]), "+r"(c[4 * t + 1]), "+r"(c[4 * t + 2]), "+r"(c[4 * t + 3])
#define MMA_4_2_4(text) asm(text " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" : C4 : A4, B2)
#define MMA_2_1_4(text) asm(text " {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};" : C4 : A2, "r"(b[t]))
#define IMMA_4_2_4(text) asm(text " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" : I4 : A4, B2)
#define IMMA_2_1_4(text) asm(text " {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};" : I4 : A2, "r"(b[t]))

// Fragments stand in memory, one lane after the other.
KERNEL mma_1688_f16(const u32 *a, const u32 *b, float *c) { int t = threadIdx.x; MMA_2_1_4("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"); }
KERNEL mma_8816_s8(const int *a, const int *b, int *c) {
    int t = threadIdx.x;
    asm("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32 {%0,%1},{%2},{%3},{%0,%1};"
        : "+r"(c[2 * t]), "+r"(c[2 * t + 1]) : "r"(a[t]), "r"(b[t]));
}
// Transposes the fragment of an 8x8 matrix in registers.
KERNEL movmatrix(const u32 *a, u32 *o) {
    u32 d; asm("movmatrix.sync.aligned.m8n8.trans.b16 %0,%1;" : "=r"(d) : "r"(a[threadIdx.x]));
    o[threadIdx.x] = d;
}
#define LDMATRIX(name, count, trans, out)                                                         \
KERNEL name(const uint4 *a, u32 *o) {                                                             \
    __shared__ uint4 s[32];                                                                       \
    s[threadIdx.x] = a[threadIdx.x];                                                              \
    __syncthreads();                                                                              \
    u32 r[4] = {0, 0, 0, 0};                                                                      \
    u32 where = (u32)__cvta_generic_to_shared(s + (threadIdx.x * 5 & 31));                        \
    out;                                                                                          \
    for (int i = 0; i < count; i++) o[i * 32 + threadIdx.x] = r[i];                               \
}
LDMATRIX(ldmatrix_1, 1, , asm("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0},[%1];" : "=r"(r[0]) : "r"(where) : "memory"))
LDMATRIX(ldmatrix_2, 2, , asm("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1},[%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(where) : "memory"))
LDMATRIX(ldmatrix_4, 4, , asm("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(where) : "memory"))
LDMATRIX(ldmatrix_2t, 2, .trans, asm("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1},[%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(where) : "memory"))
LDMATRIX(ldmatrix_4t, 4, .trans, asm("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(where) : "memory"))

#if __CUDA_ARCH__ >= 800
KERNEL wmma_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c) { tile<16, 16, 16, __nv_bfloat16, float, R, C>(a, b, c, 32, 32, 32, 16); }
KERNEL wmma_tf32(const float *a, const float *b, float *c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, R> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, C> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
    wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
    wmma::load_matrix_sync(fa, a, 8); wmma::load_matrix_sync(fb, b, 8);
    for (int i = 0; i < fa.num_elements; i++) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
    for (int i = 0; i < fb.num_elements; i++) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
KERNEL wmma_f64(const double *a, const double *b, double *c) { tile<8, 8, 4, double, double, R, C>(a, b, c, 8, 8, 8, 8); }
KERNEL mma_16816_f16(const u32 *a, const u32 *b, float *c) { int t = threadIdx.x; MMA_4_2_4("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"); }
KERNEL mma_16816_bf16(const u32 *a, const u32 *b, float *c) { int t = threadIdx.x; MMA_4_2_4("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"); }
KERNEL mma_1688_tf32(const u32 *a, const u32 *b, float *c) { int t = threadIdx.x; MMA_4_2_4("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"); }
KERNEL mma_1684_tf32(const u32 *a, const u32 *b, float *c) { int t = threadIdx.x; MMA_2_1_4("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32"); }
KERNEL mma_1688_bf16(const u32 *a, const u32 *b, float *c) { int t = threadIdx.x; MMA_2_1_4("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"); }
KERNEL mma_16816_s8(const u32 *a, const u32 *b, int *c) { int t = threadIdx.x; IMMA_2_1_4("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32"); }
KERNEL mma_16832_u8(const u32 *a, const u32 *b, int *c) { int t = threadIdx.x; IMMA_4_2_4("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32"); }
KERNEL mma_16864_s4(const u32 *a, const u32 *b, int *c) { int t = threadIdx.x; IMMA_4_2_4("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"); }
KERNEL mma_168256_b1(const u32 *a, const u32 *b, int *c) { int t = threadIdx.x; IMMA_4_2_4("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc"); }
KERNEL mma_168128_b1(const u32 *a, const u32 *b, int *c) { int t = threadIdx.x; IMMA_2_1_4("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc"); }
KERNEL mma_884_f64(const double *a, const double *b, double *c) {
    int t = threadIdx.x;
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
        : "+d"(c[2 * t]), "+d"(c[2 * t + 1]) : "d"(a[t]), "d"(b[t]));
}
#endif

#if __CUDA_ARCH__ >= 890
KERNEL mma_16832_e4m3(const u32 *a, const u32 *b, float *c) { int t = threadIdx.x; MMA_4_2_4("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"); }
#endif

#if __CUDA_ARCH__ >= 900
KERNEL mma_1684_f64(const double *a, const double *b, double *c) {
    int t = threadIdx.x;
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
        : "+d"(c[4 * t]), "+d"(c[4 * t + 1]), "+d"(c[4 * t + 2]), "+d"(c[4 * t + 3])
        : "d"(a[2 * t]), "d"(a[2 * t + 1]), "d"(b[t]));
}
#define STMATRIX(name, statement)                                                                 \
KERNEL name(const u32 *a, uint4 *o) {                                                             \
    __shared__ uint4 s[32];                                                                       \
    s[threadIdx.x] = make_uint4(0, 0, 0, 0);                                                      \
    __syncthreads();                                                                              \
    const u32 *r = a + 4 * threadIdx.x;                                                           \
    u32 where = (u32)__cvta_generic_to_shared(s + (threadIdx.x * 5 & 31));                        \
    statement;                                                                                    \
    __syncthreads();                                                                              \
    o[threadIdx.x] = s[threadIdx.x];                                                              \
}
STMATRIX(stmatrix_1, asm("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0],{%1};" : : "r"(where), "r"(r[0]) : "memory"))
STMATRIX(stmatrix_4, asm("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0],{%1,%2,%3,%4};" : : "r"(where), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory"))
STMATRIX(stmatrix_2t, asm("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0],{%1,%2};" : : "r"(where), "r"(r[0]), "r"(r[1]) : "memory"))
#endif
