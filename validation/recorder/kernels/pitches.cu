// What the warps of a block wait for that load pieces of rows of two matrices, half of them those of its rows,
// half those of its columns, round after round, as tiled products do whose tiles lie in wide matrices.
typedef unsigned u32;

__device__ __forceinline__ u32 ticks() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

// LANES lanes load 16 bytes each of a row, a warp LOADS times as many rows; `pitch`: from a row to the next, in 16
// bytes. Blocks are the places of a table of `width` columns.
template <int LOADS, int LANES>
__device__ void pitches(u32 *out, const uint4 *data, const uint4 *other, u32 pitch, u32 width, u32 rounds,
                        u32 work) {
    __shared__ u32 took[1024];
    __shared__ volatile u32 arrived[32];
    const int AT_ONCE = 32 / LANES, ROWS = 4 * LOADS * AT_ONCE;
    u32 warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    u32 place = warp < 4 ? blockIdx.x / width : blockIdx.x % width;
    u32 row = place * ROWS + warp % 4 * LOADS * AT_ONCE + lane / LANES;
    const uint4 *own = (warp < 4 ? data : other) + (size_t)row * pitch + lane % LANES;
    u32 start = ticks();
    for (u32 round = 0; round < rounds; round++) {
        u32 begin = ticks();
        uint4 v[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++) v[i] = own[(size_t)i * AT_ONCE * pitch + round * LANES];
        u32 sum = 0;
#pragma unroll
        for (int i = 0; i < LOADS; i++) sum += v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
        arrived[warp] = sum;  // in order, so what follows waits for the loads
        u32 end = ticks();
        if (lane == 0) took[round * 8 + warp] = end - begin;
        __syncthreads();
        float f = __uint_as_float(sum);
        for (u32 i = 0; i < work; i++) f = f * 1.5f + 0.25f;
        arrived[warp] = __float_as_uint(f);
        __syncthreads();
    }
    u32 all = ticks() - start;
    for (u32 i = threadIdx.x; i < rounds * 8; i += blockDim.x)
        out[blockIdx.x * (rounds * 8 + 1) + i] = took[i];
    if (threadIdx.x == 0) out[blockIdx.x * (rounds * 8 + 1) + rounds * 8] = all;
}

#define PITCHES(LOADS, LANES)                                                                              \
    extern "C" __global__ void __launch_bounds__(256)                                                      \
    pitches_##LOADS##_##LANES(u32 *out, const uint4 *data, const uint4 *other, u32 pitch, u32 width,       \
                              u32 rounds, u32 work) {                                                      \
        pitches<LOADS, LANES>(out, data, other, pitch, width, rounds, work);                               \
    }
PITCHES(2, 8)
PITCHES(8, 8)
PITCHES(16, 16)
