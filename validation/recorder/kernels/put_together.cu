// Which requests of SMs for the same lines L2 serves at once: each block goes through rows, a load
// of `lines` lines at a time, the same ones as `sharers` blocks that lie `stride` from each other in
// the grid, each `apart` cycles behind the one before.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ void wait_for(u32 cycles) {
    u64 begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

// `kept`: whether a step waits for the data of the one before.
#define WALK(KEPT)                                                                            \
    u32 behind = blockIdx.x / stride % sharers;                                               \
    u32 group = blockIdx.x / (stride * sharers) * stride + blockIdx.x % stride;               \
    const u32 *mine = a + (u64)group * steps * lines * 32 * (blockDim.x / 32);                \
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = 0;                            \
    wait_for(2000 + behind * apart);                                                          \
    for (u32 i = 0; i < steps; i++) {                                                         \
        const u32 *row = mine + (u64)(i * (blockDim.x / 32) + warp) * lines * 32;             \
        u32 place = lane * lines % 32 + lane * lines / 32 * 32;                               \
        sum += row[(place + (KEPT ? sum : 0)) % (lines * 32)];                                \
    }                                                                                         \
    if (sum == 12345) out[threadIdx.x] = sum;

extern "C" __global__ void together_waiting(u32 *out, const u32 *a, u32 steps, u32 lines,
                                            u32 sharers, u32 apart,
                                            u32 stride) {
    WALK(1)
}

extern "C" __global__ void together_ahead(u32 *out, const u32 *a, u32 steps, u32 lines,
                                          u32 sharers, u32 apart,
                                          u32 stride) {
    WALK(0)
}
