// When warps of a streaming kernel begin, have their data and end: whether an SM's data come one by
// one or many together.
typedef unsigned u32;

__device__ __forceinline__ u32 ticks() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

// A warp reads LOADS times 512 bytes, calculates `steps` times with every word and writes as much
// or nothing; it notes its SM and the clock at its begin, with its data, and behind the stores.
template <int LOADS, int WRITES>
__device__ void arrivals(uint4 *notes, const float4 *from, float4 *to, u32 mask, u32 steps,
                         u32 rounds, u32 barrier) {
    __shared__ volatile float known[32];
    u32 warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x & 31, sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    for (u32 round = 0; round < rounds; round++) {
        u32 piece = (round * gridDim.x + blockIdx.x) * warps + warp;
        u32 begin = ticks();
        const float4 *p = from + (piece * (LOADS * 32) & mask) + lane;
        float4 v[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++) v[i] = __ldcs(p + i * 32);
        float sum = 0.f;
#pragma unroll
        for (int i = 0; i < LOADS; i++) sum += v[i].x + v[i].y + v[i].z + v[i].w;
        known[warp] = sum;  // in order, so what follows waits for the loads
        u32 all = ticks();
        if (barrier) __syncthreads();
        for (u32 s = 0; s < steps; s++) {
#pragma unroll
            for (int i = 0; i < LOADS; i++) {
                v[i].x = fmaf(v[i].x, 1.01f, sum), v[i].y = fmaf(v[i].y, 1.01f, sum);
                v[i].z = fmaf(v[i].z, 1.01f, sum), v[i].w = fmaf(v[i].w, 1.01f, sum);
            }
        }
        float4 *q = to + (piece * (LOADS * 32) & mask) + lane;
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            if (WRITES || v[i].x + v[i].y + v[i].z + v[i].w == 1.2345f) __stcs(q + i * 32, v[i]);
        u32 end = ticks();
        if (lane == 0) notes[piece] = make_uint4(sm, begin, all, end);
    }
}

#define ARRIVALS(L, W)                                                                           \
    extern "C" __global__ void arrivals_##L##_##W(uint4 *notes, const float4 *from, float4 *to, \
                                                  u32 mask, u32 steps, u32 rounds,              \
                                                  u32 barrier) {                                \
        arrivals<L, W>(notes, from, to, mask, steps, rounds, barrier);                          \
    }
ARRIVALS(1, 0)
ARRIVALS(2, 0)
ARRIVALS(4, 0)
ARRIVALS(1, 1)
ARRIVALS(2, 1)
ARRIVALS(4, 1)
