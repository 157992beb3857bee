// Kernels whose hardware counters are recorded (counter_cases.py says how each is launched).
// Parameters of all: in (a[i] = i), out, and four integers.
#include <cuda_fp16.h>
#include <mma.h>

typedef unsigned u32;
typedef unsigned long long u64;
#define KERNEL(name) extern "C" __global__ void name(const u32 *in, u32 *out, u32 p, u32 q, u32 r, u32 s)
#define GID (blockIdx.x * blockDim.x + threadIdx.x)
#define UNUSED (void)in; (void)out; (void)p; (void)q; (void)r; (void)s;

// --- copies of each width ------------------------------------------------------------------------
#define COPY(name, type) KERNEL(name) { UNUSED ((type *)out)[GID] = ((const type *)in)[GID]; }
COPY(copy_u8, unsigned char)
COPY(copy_u16, unsigned short)
COPY(copy_u32, u32)
COPY(copy_u64, uint2)
COPY(copy_u128, uint4)
KERNEL(copy_offset) { UNUSED out[GID] = in[GID + p]; }
KERNEL(copy_offset_store) { UNUSED out[GID + p] = in[GID]; }
KERNEL(copy_strided) { UNUSED out[GID] = in[(u64)GID * p & q]; }
KERNEL(copy_guarded) { UNUSED if (GID < p) out[GID] = in[GID]; }

// --- one access per lane at ((lane >> p) * q ^ r) % s elements; each warp 16 KiB further -----------
#define INDEX ((((threadIdx.x & 31) >> p) * q ^ r) % s)
#define WARP (GID >> 5)
#define GLOBAL_LOAD(name, type, join) KERNEL(name) {                                               \
    const type *base = (const type *)(in + (u64)WARP * 4096); type v = base[INDEX];               \
    if (join == 0x12345) out[GID] = 1; }
GLOBAL_LOAD(load_u8, unsigned char, (v + 0x12300))
GLOBAL_LOAD(load_u16, unsigned short, (v + 0x12300))
GLOBAL_LOAD(load_u32, u32, v * 3)
GLOBAL_LOAD(load_u64, uint2, (v.x * 3 + v.y))
GLOBAL_LOAD(load_u128, uint4, (v.x * 3 + v.y * 5 + v.z + v.w * 7))
#define GLOBAL_STORE(name, type, value) KERNEL(name) { UNUSED                                      \
    type *base = (type *)(out + (u64)WARP * 4096); base[INDEX] = value; }
GLOBAL_STORE(store_u8, unsigned char, (unsigned char)threadIdx.x)
GLOBAL_STORE(store_u16, unsigned short, (unsigned short)threadIdx.x)
GLOBAL_STORE(store_u32, u32, threadIdx.x)
GLOBAL_STORE(store_u64, uint2, make_uint2(threadIdx.x, 1))
GLOBAL_STORE(store_u128, uint4, make_uint4(threadIdx.x, 1, 2, 3))
#define SHARED_LOAD(name, type, ptx) KERNEL(name) { UNUSED __shared__ type t[512]; u32 x;              \
    asm volatile("ld.volatile.shared" ptx " %0, [%1];" : "=r"(x) : "r"((u32)__cvta_generic_to_shared(&t[INDEX]))); \
    if (x == 0x12345 + s) out[GID] = 1; }
SHARED_LOAD(shared_load_u8, unsigned char, ".u8")
SHARED_LOAD(shared_load_u16, unsigned short, ".u16")
SHARED_LOAD(shared_load_u32, u32, ".b32")
KERNEL(shared_load_u64) { UNUSED __shared__ uint2 t[512]; u32 x, y;
    asm volatile("ld.volatile.shared.v2.b32 {%0,%1}, [%2];" : "=r"(x), "=r"(y) : "r"((u32)__cvta_generic_to_shared(&t[INDEX])));
    if (x + y == 0x12345 + s) out[GID] = 1; }
KERNEL(shared_load_u128) { UNUSED __shared__ uint4 t[512]; u32 x, y, z, w;
    asm volatile("ld.volatile.shared.v4.b32 {%0,%1,%2,%3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"((u32)__cvta_generic_to_shared(&t[INDEX])));
    if (x + y + z + w == 0x12345 + s) out[GID] = 1; }
#define SHARED_STORE(name, type, value) KERNEL(name) { UNUSED __shared__ type t[512];              \
    t[INDEX] = value; asm volatile("" : : "r"((u32)__cvta_generic_to_shared(t)) : "memory"); }
SHARED_STORE(shared_store_u8, unsigned char, (unsigned char)threadIdx.x)
SHARED_STORE(shared_store_u16, unsigned short, (unsigned short)threadIdx.x)
SHARED_STORE(shared_store_u32, u32, threadIdx.x)
SHARED_STORE(shared_store_u64, uint2, make_uint2(threadIdx.x, 1))
SHARED_STORE(shared_store_u128, uint4, make_uint4(threadIdx.x, 1, 2, 3))

// --- partly active warps ---------------------------------------------------------------------------
KERNEL(masked_load) { UNUSED if (p >> (threadIdx.x & 31) & 1) { u32 v = in[GID]; if (v == 0xffffffff) out[GID] = v; } }
KERNEL(masked_store) { UNUSED if (p >> (threadIdx.x & 31) & 1) out[GID] = GID; }

// --- atomics ------------------------------------------------------------------------------------------
KERNEL(atomic_red) { UNUSED atomicAdd(&out[((GID & q) >> p) * r], 1 + (s ? GID & 1 : 0)); }
KERNEL(atomic_return) { UNUSED u32 v = atomicAdd(&out[((GID & q) >> p) * r], GID); if (v == 0xffffffff) out[0] = 1; }
KERNEL(atomic_float) { UNUSED atomicAdd((float *)&out[((GID & q) >> p) * r], 1.0f + (GID & s)); }
KERNEL(atomic_cas) { UNUSED u32 v = atomicCAS(&out[((GID & q) >> p) * r], GID, 7); if (v == 0xffffffff) out[0] = 1; }
KERNEL(atomic_max64) { UNUSED atomicMax((u64 *)out + ((GID & q) >> p) * r, (u64)GID); }
KERNEL(atomic_shared) { UNUSED __shared__ u32 t[1024]; t[threadIdx.x] = 0; __syncthreads();
    atomicAdd(&t[((threadIdx.x & q) >> p) * r & 1023], GID & s ? 1u : 2u); __syncthreads(); out[GID] = t[threadIdx.x]; }
KERNEL(atomic_shared_return) { UNUSED __shared__ u32 t[1024]; t[threadIdx.x] = 0; __syncthreads();
    u32 v = atomicAdd(&t[((threadIdx.x & q) >> p) * r & 1023], GID); __syncthreads(); out[GID] = t[threadIdx.x] + v; }
KERNEL(atomic_shared_float) { UNUSED __shared__ float t[1024]; t[threadIdx.x] = 0; __syncthreads();
    atomicAdd(&t[((threadIdx.x & q) >> p) * r & 1023], 1.0f); __syncthreads(); out[GID] = (u32)t[threadIdx.x]; }
KERNEL(atomic_shared_cas) { UNUSED __shared__ u32 t[1024]; t[threadIdx.x] = 0; __syncthreads();
    u32 v = atomicCAS(&t[((threadIdx.x & q) >> p) * r & 1023], 0u, GID); __syncthreads(); out[GID] = t[threadIdx.x] + v; }
KERNEL(histogram) { UNUSED __shared__ u32 t[256]; t[threadIdx.x] = 0; __syncthreads();
    for (u32 i = GID; i < p; i += gridDim.x * blockDim.x) atomicAdd(&t[in[i] * 2654435761u >> 24], 1u);
    __syncthreads(); atomicAdd(&out[threadIdx.x], t[threadIdx.x]); }

// --- constant and local memory -------------------------------------------------------------------------
__constant__ u32 table[1024];
KERNEL(constant_uniform) { UNUSED u32 v = 0; for (u32 i = 0; i < p; i++) v += table[i & 1023]; out[GID] = v; }
KERNEL(constant_divergent) { UNUSED out[GID] = table[((threadIdx.x & 31) >> p) * q & 1023]; }
KERNEL(local_array) { UNUSED u32 t[32]; for (u32 i = 0; i < 32; i++) t[i] = in[GID] + i * p;
    u32 v = 0; for (u32 i = 0; i < q; i++) v += t[(GID * (i + 1) + v) & 31]; out[GID] = v; }

// --- reductions -------------------------------------------------------------------------------------------
#define REDUCE(name, body) KERNEL(name) { UNUSED extern __shared__ u32 t[]; u32 tid = threadIdx.x; body }
REDUCE(reduce_divergent, t[tid] = in[GID]; __syncthreads();
    for (u32 k = 1; k < blockDim.x; k *= 2) { if (tid % (2 * k) == 0) t[tid] += t[tid + k]; __syncthreads(); }
    if (tid == 0) out[blockIdx.x] = t[0];)
REDUCE(reduce_bank_conflicts, t[tid] = in[GID]; __syncthreads();
    for (u32 k = 1; k < blockDim.x; k *= 2) { u32 j = 2 * k * tid; if (j < blockDim.x) t[j] += t[j + k]; __syncthreads(); }
    if (tid == 0) out[blockIdx.x] = t[0];)
REDUCE(reduce_sequential, t[tid] = in[GID]; __syncthreads();
    for (u32 k = blockDim.x / 2; k > 0; k >>= 1) { if (tid < k) t[tid] += t[tid + k]; __syncthreads(); }
    if (tid == 0) out[blockIdx.x] = t[0];)
REDUCE(reduce_two_loads, u32 i = blockIdx.x * blockDim.x * 2 + tid; t[tid] = in[i] + in[i + blockDim.x]; __syncthreads();
    for (u32 k = blockDim.x / 2; k > 0; k >>= 1) { if (tid < k) t[tid] += t[tid + k]; __syncthreads(); }
    if (tid == 0) out[blockIdx.x] = t[0];)
REDUCE(reduce_shuffle, u32 v = in[GID];
    for (u32 k = 16; k > 0; k >>= 1) v += __shfl_down_sync(0xffffffff, v, k);
    if ((tid & 31) == 0) t[tid >> 5] = v; __syncthreads();
    if (tid < 32) { v = tid < blockDim.x >> 5 ? t[tid] : 0; for (u32 k = 16; k > 0; k >>= 1) v += __shfl_down_sync(0xffffffff, v, k); }
    if (tid == 0) out[blockIdx.x] = v;)
REDUCE(reduce_redux_atomic, u32 v = __reduce_add_sync(0xffffffff, in[GID]); if ((tid & 31) == 0) atomicAdd(out, v);)
REDUCE(reduce_grid_stride, u32 v = 0; for (u32 i = GID; i < p; i += gridDim.x * blockDim.x) v += in[i];
    for (u32 k = 16; k > 0; k >>= 1) v += __shfl_xor_sync(0xffffffff, v, k);
    if ((tid & 31) == 0) atomicAdd(out, v);)
KERNEL(scan_block) { UNUSED __shared__ u32 t[2][256]; u32 tid = threadIdx.x, k = 0; t[0][tid] = in[GID]; __syncthreads();
    for (u32 d = 1; d < 256; d *= 2) { t[1 - k][tid] = t[k][tid] + (tid >= d ? t[k][tid - d] : 0); k = 1 - k; __syncthreads(); }
    out[GID] = t[k][tid]; }

// --- transposes of p x p words, 32 x 8 threads a block ---------------------------------------------------------
#define XY u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y; (void)x; (void)y;
KERNEL(transpose_read) { UNUSED XY for (u32 j = 0; j < 32; j += 8) out[(u64)x * p + y + j] = in[(u64)(y + j) * p + x]; }
KERNEL(transpose_write) { UNUSED XY for (u32 j = 0; j < 32; j += 8) out[(u64)(y + j) * p + x] = in[(u64)x * p + y + j]; }
#define TRANSPOSE(name, pad) KERNEL(name) { UNUSED __shared__ u32 t[32][32 + pad]; XY                          \
    for (u32 j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = in[(u64)(y + j) * p + x];                  \
    __syncthreads(); x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;                        \
    for (u32 j = 0; j < 32; j += 8) out[(u64)(y + j) * p + x] = t[threadIdx.x][threadIdx.y + j]; }
TRANSPOSE(transpose_shared, 0)
TRANSPOSE(transpose_padded, 1)

// --- arithmetic of each pipe ----------------------------------------------------------------------------------------
#define LOOP(name, type, start, step) KERNEL(name) { UNUSED type v0 = start(1), v1 = start(2), v2 = start(3), v3 = start(4); \
    for (u32 i = 0; i < p; i++) { _Pragma("unroll") for (int k = 0; k < 8; k++) { v0 = step(v0); v1 = step(v1); v2 = step(v2); v3 = step(v3); } } \
    if (v0 + v1 + v2 + v3 == (type)123.25) out[GID] = 1; }
#define FSTART(k) (1.0f + GID * 1e-9f + k)
#define FSTEP(v) __fmaf_rn(v, 0.999f, 0.5f)
LOOP(pipe_ffma, float, FSTART, FSTEP)
#define FADDSTEP(v) __fadd_rn(v, 0.25f)
LOOP(pipe_fadd, float, FSTART, FADDSTEP)
#define DSTART(k) (1.0 + GID * 1e-9 + k)
#define DSTEP(v) __fma_rn(v, 0.999, 0.5)
LOOP(pipe_dfma, double, DSTART, DSTEP)
#define ISTART(k) (GID + k)
#define IMADSTEP(v) (v * 0x1234567u + 0x89u)
LOOP(pipe_imad, u32, ISTART, IMADSTEP)
#define LOPSTEP(v) __funnelshift_l(v ^ 0x5555u, v, 7)
LOOP(pipe_alu, u32, ISTART, LOPSTEP)
#define POPSTEP(v) (u32)__popc(v)
LOOP(pipe_popc, u32, ISTART, POPSTEP)
#define MUFUSTEP(v) __expf(v) * 0.125f
LOOP(pipe_mufu, float, FSTART, MUFUSTEP)
#define CVTSTEP(v) (float)(int)(v * 3.0f)
LOOP(pipe_convert, float, FSTART, CVTSTEP)
KERNEL(pipe_hfma2) { UNUSED __half2 v = __floats2half2_rn(GID, 1.0f), w = v, m = __floats2half2_rn(0.99f, 0.9f);
    for (u32 i = 0; i < p; i++) { _Pragma("unroll") for (int k = 0; k < 16; k++) { v = __hfma2(v, m, w); w = __hfma2(w, m, v); } }
    if (__low2float(v) + __high2float(w) == 123.25f) out[GID] = 1; }
KERNEL(pipe_shuffle) { UNUSED u32 v = GID; for (u32 i = 0; i < p; i++) { _Pragma("unroll") for (int k = 0; k < 16; k++) v += __shfl_xor_sync(0xffffffff, v, k + 1); } out[GID] = v; }
KERNEL(pipe_vote) { UNUSED u32 v = GID; for (u32 i = 0; i < p; i++) { _Pragma("unroll") for (int k = 0; k < 16; k++) v += __ballot_sync(0xffffffff, v & (1 << k)); } out[GID] = v; }
KERNEL(pipe_hmma) { UNUSED using namespace nvcuda; wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b; wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::load_matrix_sync(a, (const __half *)in, 16); wmma::load_matrix_sync(b, (const __half *)in + 256, 16); wmma::fill_fragment(c, 0.0f);
    for (u32 i = 0; i < p; i++) wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync((float *)out + WARP * 256, c, 16, wmma::mem_row_major); }

// --- control flow -------------------------------------------------------------------------------------------------------
KERNEL(branch_lane_loop) { UNUSED u32 v = GID; for (u32 i = 0; i < (threadIdx.x & 31) * p; i++) v = v * 3 + (v >> 5); out[GID] = v; }
KERNEL(branch_half) { UNUSED u32 v = GID; if (threadIdx.x & 1) { for (u32 i = 0; i < p; i++) v = v * v + 1; } else { for (u32 i = 0; i < p; i++) v = v * 5 ^ v >> 3; } out[GID] = v; }
KERNEL(branch_warp) { UNUSED u32 v = GID; if (threadIdx.x & 32) { for (u32 i = 0; i < p; i++) v = v * v + 1; } else { for (u32 i = 0; i < p; i++) v = v * 5 ^ v >> 3; } out[GID] = v; }
KERNEL(branch_switch) { UNUSED u32 v = GID; switch (threadIdx.x & 7) { case 0: v = v * 3; break; case 1: v = v / 7; break; case 2: v = __popc(v); break;
    case 3: v = __brev(v); break; case 4: v = v % 11; break; case 5: v = v << 3 | 1; break; case 6: v = __float_as_uint(sqrtf((float)v)); break; default: v = ~v; } out[GID] = v; }
KERNEL(early_exit) { UNUSED if (GID >= p) return; out[GID] = in[GID] + 1; }
KERNEL(barriers) { UNUSED __shared__ u32 t[1024]; u32 v = GID; for (u32 i = 0; i < p; i++) { t[threadIdx.x] = v; __syncthreads(); v += t[(threadIdx.x + 1) % blockDim.x]; __syncthreads(); } out[GID] = v; }
KERNEL(mandelbrot) { UNUSED float cx = (float)(GID % 256) / 128.0f - 1.5f, cy = (float)(GID / 256) / 128.0f - 1.0f, x = 0, y = 0; u32 n = 0;
    while (x * x + y * y < 4.0f && n < p) { float k = x * x - y * y + cx; y = 2 * x * y + cy; x = k; n++; } out[GID] = n; }
KERNEL(empty) { UNUSED }

// --- applications ---------------------------------------------------------------------------------------------------------
KERNEL(saxpy) { UNUSED float *y = (float *)out; const float *x = (const float *)in; y[GID] = 2.0f * x[GID] + y[GID]; }
KERNEL(daxpy) { UNUSED double *y = (double *)out; const double *x = (const double *)in; y[GID] = 2.0 * x[GID] + y[GID]; }
KERNEL(stencil5) { UNUSED u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y; if (x > 0 && y > 0 && x < p - 1 && y < p - 1)
    out[y * p + x] = in[y * p + x] * 4 - in[y * p + x - 1] - in[y * p + x + 1] - in[(y - 1) * p + x] - in[(y + 1) * p + x]; }
KERNEL(sgemm_naive) { UNUSED const float *a = (const float *)in; float v = 0; u32 x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (u32 k = 0; k < p; k++) v += a[y * p + k] * a[k * p + x]; ((float *)out)[y * p + x] = v; }
KERNEL(sgemm_tiled) { UNUSED __shared__ float ta[16][16], tb[16][16]; const float *a = (const float *)in; float v = 0;
    u32 x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (u32 k = 0; k < p; k += 16) { ta[threadIdx.y][threadIdx.x] = a[y * p + k + threadIdx.x]; tb[threadIdx.y][threadIdx.x] = a[(k + threadIdx.y) * p + x]; __syncthreads();
        for (u32 j = 0; j < 16; j++) v += ta[threadIdx.y][j] * tb[j][threadIdx.x]; __syncthreads(); }
    ((float *)out)[y * p + x] = v; }
KERNEL(softmax_row) { UNUSED __shared__ float t[32]; const u32 *row = in + (u64)blockIdx.x * p; float m = -1e30f, z = 0; u32 tid = threadIdx.x;
    for (u32 i = tid; i < p; i += blockDim.x) m = fmaxf(m, (float)(row[i] & 255) * 0.01f);
    for (u32 k = 16; k > 0; k >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, k)); if ((tid & 31) == 0) t[tid >> 5] = m; __syncthreads();
    m = t[0]; for (u32 k = 1; k < blockDim.x / 32; k++) m = fmaxf(m, t[k]); __syncthreads();
    for (u32 i = tid; i < p; i += blockDim.x) z += expf((float)(row[i] & 255) * 0.01f - m);
    for (u32 k = 16; k > 0; k >>= 1) z += __shfl_xor_sync(0xffffffff, z, k); if ((tid & 31) == 0) t[tid >> 5] = z; __syncthreads();
    z = 0; for (u32 k = 0; k < blockDim.x / 32; k++) z += t[k];
    for (u32 i = tid; i < p; i += blockDim.x) ((float *)out)[(u64)blockIdx.x * p + i] = expf((float)(row[i] & 255) * 0.01f - m) / z; }
KERNEL(spmv_gather) { UNUSED u32 v = 0; for (u32 i = 0; i < p; i++) v += in[(GID * 2654435761u + i * 40503u) & q]; out[GID] = v; }
KERNEL(async_copy) { UNUSED __shared__ uint4 t[256]; asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;"
    :: "r"((u32)__cvta_generic_to_shared(&t[threadIdx.x])), "l"((const uint4 *)in + GID) : "memory"); __syncthreads(); ((uint4 *)out)[GID] = t[255 - threadIdx.x]; }
KERNEL(async_copy_bypass) { UNUSED __shared__ uint4 t[256]; asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;"
    :: "r"((u32)__cvta_generic_to_shared(&t[threadIdx.x])), "l"((const uint4 *)in + GID) : "memory"); __syncthreads(); ((uint4 *)out)[GID] = t[255 - threadIdx.x]; }
KERNEL(load_matrix) { UNUSED __shared__ __align__(16) u32 t[1024]; for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) t[i] = in[i]; __syncthreads();
    u32 x, y, z, w; asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
    : "r"((u32)__cvta_generic_to_shared(&t[(threadIdx.x & 31) * p & 1023]))); out[GID] = x + y + z + w; }
KERNEL(load_twice) { UNUSED u32 v = *(const volatile u32 *)&in[GID]; __syncthreads(); v += *(const volatile u32 *)&in[GID]; out[GID] = v; }
KERNEL(load_cached) { UNUSED u32 v = 0; for (u32 i = 0; i < p; i++) v += in[(GID + i * 32) & q]; out[GID] = v; }
KERNEL(load_readonly) { UNUSED out[GID] = __ldg(&in[GID]) + __ldg(&in[GID ^ 32]); }
KERNEL(divide_float) { UNUSED out[GID] = __float_as_uint((float)in[GID] / (float)(GID + 1) + sqrtf((float)GID)); }
KERNEL(divide_int) { UNUSED out[GID] = in[GID] / (p + (GID & 7)) + in[GID] % (q + (GID & 3)); }
KERNEL(fence) { UNUSED out[GID] = 1; __threadfence(); out[GID + gridDim.x * blockDim.x] = 2; }
KERNEL(registers_many) { UNUSED u32 v[64]; _Pragma("unroll") for (int i = 0; i < 64; i++) v[i] = in[GID + i * 32];
    for (u32 k = 0; k < p; k++) { _Pragma("unroll") for (int i = 0; i < 64; i++) v[i] = v[i] * v[(i + 1) & 63] + k; }
    u32 t = 0; _Pragma("unroll") for (int i = 0; i < 64; i++) t ^= v[i]; out[GID] = t; }
