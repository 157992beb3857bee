// Half-precision C = A B with ldmatrix and mma.m16n8k16: one warp an output tile, or 128 x 128
// tiles; with or without swizzled or padded shared tiles.
#include <cuda_fp16.h>
typedef unsigned u32;

__device__ __forceinline__ u32 place(const void* p) {
    return static_cast<u32>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void load_four(u32 (&r)[4], const void* p) {
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(place(p)));
}

__device__ __forceinline__ void load_two_turned(u32 (&r)[2], const void* p) {
    asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0,%1}, [%2];\n"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(place(p)));
}

__device__ __forceinline__ void multiply(u32 (&c)[2], const u32 (&a)[4], const u32 (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, "
                 "{%6,%7}, {%0,%1};\n"
                 : "+r"(c[0]), "+r"(c[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The column at which column `k` (a multiple of 8) of a row of A's tile stands.
template <bool SWIZZLED>
__device__ __forceinline__ int column_of(int row, int k) {
    return SWIZZLED ? ((k / 8) ^ (row / 4 % 2)) * 8 : k;
}

#define WIDE(p) (*reinterpret_cast<float4*>(&(p)))
#define WORD(p) (*reinterpret_cast<u32*>(&(p)))

template <bool SWIZZLED>
__global__ void one_warp(half* a, half* b, half* c, int m, int n, int k) {
    __shared__ __align__(16) half tile_a[16][16];
    __shared__ __align__(16) half tile_b[16][8];
    __shared__ __align__(16) half tile_c[16][8];
    const int lane = threadIdx.x % 32, top = blockIdx.y * 16, left = blockIdx.x * 8;
    if (top >= m && left >= n) return;
    const int row = lane / 2, column = lane % 2 * 8;
    u32 sums[2] = {0, 0};
#pragma unroll
    for (int step = 0; step < (k + 15) / 16; ++step) {
        WIDE(tile_a[row][column_of<SWIZZLED>(row, column)]) =
            WIDE(a[(top + row) * k + step * 16 + column]);
        if (lane < 16) WIDE(tile_b[lane][0]) = WIDE(b[(step * 16 + lane) * n + left]);
        __syncthreads();
        u32 from_a[4], from_b[2];
        load_four(from_a, &tile_a[lane % 16][column_of<SWIZZLED>(lane % 16, lane / 16 * 8)]);
        load_two_turned(from_b, &tile_b[lane % 16][0]);
        multiply(sums, from_a, from_b);
        __syncthreads();
    }
    WORD(tile_c[lane / 4][lane % 4 * 2]) = sums[0];
    WORD(tile_c[lane / 4 + 8][lane % 4 * 2]) = sums[1];
    __syncthreads();
    if (lane < 16) WIDE(c[(top + lane) * n + left]) = WIDE(tile_c[lane][0]);
}

template <int PAD_A, int PAD_B, bool SWIZZLED>
__global__ void eight_warps(half* a, half* b, half* c, int m, int n, int k) {
    __shared__ __align__(16) half tile_a[128][16 + PAD_A];
    __shared__ __align__(16) half tile_b[16][128 + PAD_B];
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int down = warp % 2 * 64, across = warp / 2 * 32;
    const int a_row = t / 2, a_column = t % 2 * 8, b_row = t / 16, b_column = t % 16 * 8;
    const int top = blockIdx.y * 128, left = blockIdx.x * 128;
    if (top + a_row >= m || left + b_column >= n) return;
    u32 sums[4][4][2] = {};
#pragma unroll
    for (int step = 0; step < (k + 15) / 16; ++step) {
        WIDE(tile_b[b_row][b_column]) = WIDE(b[(step * 16 + b_row) * n + left + b_column]);
        WIDE(tile_a[a_row][column_of<SWIZZLED>(a_row, a_column)]) =
            WIDE(a[(top + a_row) * k + step * 16 + a_column]);
        __syncthreads();
        u32 from_a[4][4], from_b[4][2];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = down + i * 16 + lane % 16;
            load_four(from_a[i], &tile_a[row][column_of<SWIZZLED>(row, lane / 16 * 8)]);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j)
            load_two_turned(from_b[j], &tile_b[lane % 16][across + j * 8]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) multiply(sums[i][j], from_a[i], from_b[j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int row = top + down + i * 16 + lane / 4;
            const int column = left + across + j * 8 + lane % 4 * 2;
            WORD(c[row * n + column]) = sums[i][j][0];
            WORD(c[(row + 8) * n + column]) = sums[i][j][1];
        }
    }
}
