// What the warps of a block wait for that load a piece of an array together, round after round, as
// tiled products do: each waits for its own loads, and then for the slowest warp.
typedef unsigned u32;

__device__ __forceinline__ u32 ticks() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

// Each load is of 512 bytes in a row, or of `apart` lines from one line to the next. `alike` blocks
// load the same. Cycles of every round and warp go to `out`.
template <int LOADS>
__device__ void chunks(u32 *out, const uint4 *data, u32 lines, u32 apart, u32 alike, u32 rounds,
                       u32 pause) {
    __shared__ volatile u32 arrived[32];
    __shared__ u32 took[1024];
    u32 warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x & 31;
    u32 groups = (gridDim.x + alike - 1) / alike, group = blockIdx.x / alike;
    for (u32 round = 0; round < rounds; round++) {
        u32 first = ((round * groups + group) * warps + warp) * LOADS * 4 + lane / 8;
        __syncthreads();
        u32 begin = ticks();
        uint4 v[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            v[i] = __ldcg(data + (size_t)((first + i * 4) * apart % lines) * 8 + lane % 8);
        u32 sum = 0;
#pragma unroll
        for (int i = 0; i < LOADS; i++) sum += v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
        arrived[warp] = sum;  // in order, so what follows waits for the loads
        u32 end = ticks();
        if (lane == 0) took[round * warps + warp] = end - begin;
        __syncthreads();
        u32 rest = pause ? pause + (round * 7919u + blockIdx.x * 104729u) % pause : 0;
        while (ticks() - end < rest) {}
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < rounds * warps; i += blockDim.x)
        out[blockIdx.x * rounds * warps + i] = took[i];
}

#define CHUNKS(N)                                                                              \
    extern "C" __global__ void chunks_##N(u32 *out, const uint4 *data, u32 lines, u32 apart,    \
                                          u32 alike, u32 rounds, u32 pause) {                   \
        chunks<N>(out, data, lines, apart, alike, rounds, pause);                               \
    }
CHUNKS(1)
CHUNKS(2)
CHUNKS(4)
CHUNKS(8)
