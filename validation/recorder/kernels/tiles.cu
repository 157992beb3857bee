// The inner loops of tiled products, without global memory: warps read shared memory and multiply,
// round after round; with `STORES` they write the next tile into shared memory as well, between
// two barriers, as products do.
typedef unsigned u32;

__device__ __forceinline__ void fill(float *shared, u32 words) {
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) shared[i] = 1.0f + (float)i * 1e-7f;
    __syncthreads();
}

// A round's stores: `N` times 16 bytes a thread.
template <int N>
__device__ __forceinline__ void next(float *shared, const float4 &v) {
#pragma unroll
    for (int i = 0; i < N; i++)
        reinterpret_cast<float4 *>(shared)[i * blockDim.x + threadIdx.x] = v;
}

enum { ROWS, COLUMNS };         // how A lies: k next to each other, or rows
enum { WIDE, STRIDED, PADDED };  // a thread's columns of B: next to each other, 16 apart, rows of 133

// 256 threads, a tile of 128 by 128, 8 by 8 a thread.
template <int BK, int A, int B, bool STORES>
__device__ void square(float *out, u32 rounds) {
    constexpr int PITCH = B == PADDED ? 133 : 128;
    __shared__ __align__(16) float a[128 * BK], b[PITCH * BK];
    fill(a, 128 * BK);
    fill(b, 128 * BK);
    u32 row = threadIdx.x / 16, column = threadIdx.x % 16;
    float sum[64] = {};
    for (u32 round = 0; round < rounds; round++) {
        if (STORES) {
            float4 v = make_float4(sum[0], sum[1], sum[2], sum[3]);
            next<BK / 8>(a, v);
            next<BK / 8>(b, v);
            __syncthreads();
        }
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float m[8], n[8];
#pragma unroll
            for (int i = 0; i < 8; i++)
                m[i] = A == ROWS ? a[(row * 8 + i) * BK + k] : a[k * 128 + row * 8 + i];
#pragma unroll
            for (int i = 0; i < 8; i++)
                n[i] = B == STRIDED ? b[k * PITCH + i * 16 + column] : b[k * PITCH + column * 8 + i];
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) sum[i * 8 + j] += m[i] * n[j];
        }
        __syncthreads();
    }
    float all = 0.0f;
#pragma unroll
    for (int i = 0; i < 64; i++) all += sum[i];
    if (all == 12345.0f) out[threadIdx.x] = all;
}

// Tiles of warps: WARPS_N of them beside each other, each of M by N pieces of 4 by 4 a thread.
template <int THREADS, int WARPS_N, int BK, int M, int N, bool STORES>
__device__ void warped(float *out, u32 rounds) {
    constexpr int BM = THREADS / 32 / WARPS_N * M * 32, BN = WARPS_N * N * 16;
    __shared__ __align__(16) float a[BM * BK], b[BN * BK];
    fill(a, BM * BK);
    fill(b, BN * BK);
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    u32 row = warp / WARPS_N * M * 32 + lane / 4 * 4, column = warp % WARPS_N * N * 16 + lane % 4 * 4;
    float sum[M * N * 16] = {};
    for (u32 round = 0; round < rounds; round++) {
        if (STORES) {
            float4 v = make_float4(sum[0], sum[1], sum[2], sum[3]);
            next<BM * BK / THREADS / 4>(a, v);
            next<BN * BK / THREADS / 4>(b, v);
            __syncthreads();
        }
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float m[M * 4], n[N * 4];
#pragma unroll
            for (int i = 0; i < M * 4; i++) m[i] = a[k * BM + row + i / 4 * 32 + i % 4];
#pragma unroll
            for (int i = 0; i < N * 4; i++) n[i] = b[k * BN + column + i / 4 * 16 + i % 4];
#pragma unroll
            for (int i = 0; i < M * 4; i++)
#pragma unroll
                for (int j = 0; j < N * 4; j++) sum[i * N * 4 + j] += m[i] * n[j];
        }
        __syncthreads();
    }
    float all = 0.0f;
#pragma unroll
    for (int i = 0; i < M * N * 16; i++) all += sum[i];
    if (all == 12345.0f) out[threadIdx.x] = all;
}

// Tensor cores: 8 warps, 2 by 4 matrices of 16 by 16 (of doubles 4 by 4 of 8 by 8) a warp, tiles of
// which the rows of shared memory are `PITCH` values apart.
template <bool STORES>
__device__ void halves(float *out, u32 rounds) {
    constexpr int PITCH = 64 + 16;
    __shared__ __align__(32) float shared[2 * 128 * PITCH / 2];
    fill(shared, 2 * 128 * PITCH / 2);
    u32 warp = threadIdx.x / 32;
    u32 base = (u32)__cvta_generic_to_shared(shared);
    u32 a = base + warp / 2 * 32 * PITCH * 2, b = base + (128 + warp % 2 * 64) * PITCH * 2;
    float sum[8][8] = {};
    for (u32 round = 0; round < rounds; round++) {
        if (STORES) {
            next<8>(shared, make_float4(sum[0][0], sum[0][1], sum[0][2], sum[0][3]));
            __syncthreads();
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            u32 m[2][8];
#pragma unroll
            for (int i = 0; i < 2; i++)
                asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%0,%1,%2,%3,%4,%5,"
                             "%6,%7}, [%8], %9;"
                             : "=r"(m[i][0]), "=r"(m[i][1]), "=r"(m[i][2]), "=r"(m[i][3]),
                               "=r"(m[i][4]), "=r"(m[i][5]), "=r"(m[i][6]), "=r"(m[i][7])
                             : "r"(a + (i * 16 * PITCH + k * 16) * 2), "r"(PITCH) : "memory");
#pragma unroll
            for (int j = 0; j < 4; j++) {
                u32 n[8];
                asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%0,%1,%2,%3,%4,%5,"
                             "%6,%7}, [%8], %9;"
                             : "=r"(n[0]), "=r"(n[1]), "=r"(n[2]), "=r"(n[3]), "=r"(n[4]),
                               "=r"(n[5]), "=r"(n[6]), "=r"(n[7])
                             : "r"(b + (j * 16 * PITCH + k * 16) * 2), "r"(PITCH) : "memory");
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    float *d = sum[i * 4 + j];
                    asm volatile(
                        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7},"
                        " {%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19,%20,%21,%22,%23},"
                        " {%0,%1,%2,%3,%4,%5,%6,%7};"
                        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                          "+f"(d[6]), "+f"(d[7])
                        : "r"(m[i][0]), "r"(m[i][1]), "r"(m[i][2]), "r"(m[i][3]), "r"(m[i][4]),
                          "r"(m[i][5]), "r"(m[i][6]), "r"(m[i][7]), "r"(n[0]), "r"(n[1]),
                          "r"(n[2]), "r"(n[3]), "r"(n[4]), "r"(n[5]), "r"(n[6]), "r"(n[7]));
                }
            }
        }
        __syncthreads();
    }
    float all = 0.0f;
#pragma unroll
    for (int i = 0; i < 64; i++) all += sum[i / 8][i % 8];
    if (all == 12345.0f) out[threadIdx.x] = all;
}

template <bool STORES>
__device__ void thirds(float *out, u32 rounds) {  // tf32
    constexpr int PITCH = 32 + 8;
    __shared__ __align__(32) float shared[2 * 128 * PITCH];
    fill(shared, 2 * 128 * PITCH);
    u32 warp = threadIdx.x / 32;
    u32 base = (u32)__cvta_generic_to_shared(shared);
    u32 a = base + warp / 2 * 32 * PITCH * 4, b = base + (128 + warp % 2 * 64) * PITCH * 4;
    float sum[8][8] = {};
    for (u32 round = 0; round < rounds; round++) {
        if (STORES) {
            next<8>(shared, make_float4(sum[0][0], sum[0][1], sum[0][2], sum[0][3]));
            __syncthreads();
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            u32 m[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++)
                asm volatile("wmma.load.a.sync.aligned.row.m16n16k8.shared.tf32 {%0,%1,%2,%3}, [%4],"
                             " %5;"
                             : "=r"(m[i][0]), "=r"(m[i][1]), "=r"(m[i][2]), "=r"(m[i][3])
                             : "r"(a + (i * 16 * PITCH + k * 8) * 4), "r"(PITCH) : "memory");
#pragma unroll
            for (int j = 0; j < 4; j++) {
                u32 n[4];
                asm volatile("wmma.load.b.sync.aligned.col.m16n16k8.shared.tf32 {%0,%1,%2,%3}, [%4],"
                             " %5;"
                             : "=r"(n[0]), "=r"(n[1]), "=r"(n[2]), "=r"(n[3])
                             : "r"(b + (j * 16 * PITCH + k * 8) * 4), "r"(PITCH) : "memory");
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    float *d = sum[i * 4 + j];
                    asm volatile(
                        "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 {%0,%1,%2,%3,%4,"
                        "%5,%6,%7}, {%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3,%4,%5,%6,%7};"
                        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                          "+f"(d[6]), "+f"(d[7])
                        : "r"(m[i][0]), "r"(m[i][1]), "r"(m[i][2]), "r"(m[i][3]), "r"(n[0]),
                          "r"(n[1]), "r"(n[2]), "r"(n[3]));
                }
            }
        }
        __syncthreads();
    }
    float all = 0.0f;
#pragma unroll
    for (int i = 0; i < 64; i++) all += sum[i / 8][i % 8];
    if (all == 12345.0f) out[threadIdx.x] = all;
}

template <bool STORES>
__device__ void doubles(float *out, u32 rounds) {
    constexpr int PITCH = 16 + 4;
    __shared__ __align__(32) double shared[2 * 64 * PITCH];
    fill(reinterpret_cast<float *>(shared), 4 * 64 * PITCH);
    u32 warp = threadIdx.x / 32;
    u32 base = (u32)__cvta_generic_to_shared(shared);
    u32 a = base + warp / 2 * 16 * PITCH * 8, b = base + (64 + warp % 2 * 32) * PITCH * 8;
    double sum[8][2] = {};
    for (u32 round = 0; round < rounds; round++) {
        if (STORES) {
            next<4>(reinterpret_cast<float *>(shared),
                    make_float4((float)sum[0][0], (float)sum[0][1], 0.0f, 1.0f));
            __syncthreads();
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            double m[2];
#pragma unroll
            for (int i = 0; i < 2; i++)
                asm volatile("wmma.load.a.sync.aligned.row.m8n8k4.shared.f64 {%0}, [%1], %2;"
                             : "=d"(m[i])
                             : "r"(a + (i * 8 * PITCH + k * 4) * 8), "r"(PITCH) : "memory");
#pragma unroll
            for (int j = 0; j < 4; j++) {
                double n;
                asm volatile("wmma.load.b.sync.aligned.col.m8n8k4.shared.f64 {%0}, [%1], %2;"
                             : "=d"(n)
                             : "r"(b + (j * 8 * PITCH + k * 4) * 8), "r"(PITCH) : "memory");
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    double *d = sum[i * 4 + j];
                    asm volatile("wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64 {%0,%1}, "
                                 "{%2}, {%3}, {%0,%1};"
                                 : "+d"(d[0]), "+d"(d[1])
                                 : "d"(m[i]), "d"(n));
                }
            }
        }
        __syncthreads();
    }
    double all = 0.0;
#pragma unroll
    for (int i = 0; i < 16; i++) all += sum[i / 2][i % 2];
    if (all == 12345.0) out[threadIdx.x] = (float)all;
}

#define TILE(NAME, BODY)                                                                         \
    extern "C" __global__ void __launch_bounds__(256) NAME(float *out, u32 rounds) {             \
        BODY<false>(out, rounds);                                                                \
    }                                                                                            \
    extern "C" __global__ void __launch_bounds__(256) NAME##_stores(float *out, u32 rounds) {    \
        BODY<true>(out, rounds);                                                                 \
    }
template <bool S> __device__ void rows8(float *o, u32 n) { square<8, ROWS, WIDE, S>(o, n); }
template <bool S> __device__ void columns8(float *o, u32 n) { square<8, COLUMNS, WIDE, S>(o, n); }
template <bool S> __device__ void columns16(float *o, u32 n) { square<16, COLUMNS, WIDE, S>(o, n); }
template <bool S> __device__ void strided8(float *o, u32 n) { square<8, COLUMNS, STRIDED, S>(o, n); }
template <bool S> __device__ void padded8(float *o, u32 n) { square<8, COLUMNS, PADDED, S>(o, n); }
template <bool S> __device__ void warped4(float *o, u32 n) { warped<128, 2, 16, 2, 4, S>(o, n); }
template <bool S> __device__ void warped1(float *o, u32 n) { warped<256, 4, 16, 1, 2, S>(o, n); }
template <bool S> __device__ void small(float *o, u32 n) { warped<256, 4, 8, 1, 1, S>(o, n); }
TILE(tile_rows8, rows8)
TILE(tile_columns8, columns8)
TILE(tile_columns16, columns16)
TILE(tile_strided8, strided8)
TILE(tile_padded8, padded8)
TILE(tile_warped4, warped4)
TILE(tile_warped1, warped1)
TILE(tile_small, small)
TILE(tile_halves, halves)
TILE(tile_thirds, thirds)
TILE(tile_doubles, doubles)
