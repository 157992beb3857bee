// What blocks wait for that walk through an array in step, round after round, some of them through
// the same part of it, as tiled products do: whoever comes first has to wait for DRAM.
typedef unsigned u32;

__device__ __forceinline__ u32 ticks() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

// Blocks are the places of a table of `width` columns. In a round each of them loads a piece of
// its row's part of the array, and one of its column's, `LINES` lines of 128 bytes a warp of each,
// then works for a while. Cycles that the warps of each round waited for their loads go to `out`,
// and behind them the cycles of all rounds.
template <int ROWS, int COLUMNS>
__device__ void sharers(u32 *out, const uint4 *data, u32 width, u32 rounds, u32 work) {
    __shared__ u32 took[1024];
    __shared__ volatile u32 arrived[32];
    u32 warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x & 31;
    u32 row = blockIdx.x / width, column = blockIdx.x % width;
    const uint4 *own = data + ((size_t)row * rounds * warps + warp) * ROWS * 32 + lane;
    const uint4 *other = data + (1u << 28) / sizeof(uint4)
                       + ((size_t)column * rounds * warps + warp) * COLUMNS * 32 + lane;
    u32 start = ticks();
    for (u32 round = 0; round < rounds; round++) {
        u32 begin = ticks();
        uint4 v[ROWS + COLUMNS];
#pragma unroll
        for (int i = 0; i < ROWS; i++) v[i] = __ldcg(own + (round * warps * ROWS + i) * 32);
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            v[ROWS + i] = __ldcg(other + (round * warps * COLUMNS + i) * 32);
        u32 sum = 0;
#pragma unroll
        for (int i = 0; i < ROWS + COLUMNS; i++) sum += v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
        arrived[warp] = sum;  // in order, so what follows waits for the loads
        u32 end = ticks();
        if (lane == 0) took[round * warps + warp] = end - begin;
        __syncthreads();
        float f = __uint_as_float(sum);
        for (u32 i = 0; i < work; i++) f = f * 1.5f + 0.25f;
        arrived[warp] = __float_as_uint(f);
        __syncthreads();
    }
    u32 all = ticks() - start;
    for (u32 i = threadIdx.x; i < rounds * warps; i += blockDim.x)
        out[blockIdx.x * (rounds * warps + 1) + i] = took[i];
    if (threadIdx.x == 0) out[blockIdx.x * (rounds * warps + 1) + rounds * warps] = all;
}

#define SHARERS(R, C)                                                                       \
    extern "C" __global__ void sharers_##R##_##C(u32 *out, const uint4 *data, u32 width,    \
                                                 u32 rounds, u32 work) {                    \
        sharers<R, C>(out, data, width, rounds, work);                                      \
    }
SHARERS(1, 0)
SHARERS(2, 0)
SHARERS(4, 0)
SHARERS(1, 1)
SHARERS(2, 2)
