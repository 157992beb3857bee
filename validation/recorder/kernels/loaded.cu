// How long single loads take while the rest of the chip streams. One block an SM: its first warp
// times loads of single sectors all over memory, the others read, or copy, a stream of their own.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 now() {
    u64 t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

__device__ __forceinline__ u32 scrambled(u32 x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

// Cycles of `samples` loads a block go to `out`; `done`: quads of 16 bytes that the others moved.
template <bool COPY>
__device__ void loaded(u32 *out, const uint4 *stream, uint4 *to, const u32 *probed, u64 *done,
                       u32 samples, u32 busy, u32 pause, u32 probed_words, u32 quads, u32 seed) {
    __shared__ volatile u32 over, arrived;
    if (threadIdx.x == 0) over = 0;
    __syncthreads();
    u32 warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    if (warp == 0) {
        u64 start = now();
        while (now() < start + 100000) {}
        for (u32 i = 0; i < samples; i++) {
            u32 place = scrambled((seed * gridDim.x + blockIdx.x) * samples + i) % (probed_words / 8) * 8;
            u64 before = now();
            u32 x;
            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(probed + place) : "memory");
            arrived = x;  // in order, so what follows waits for the load
            u64 after = now();
            if (lane == 0) out[blockIdx.x * samples + i] = (u32)(after - before);
            while (now() < before + 2000) {}
        }
        if (lane == 0) over = 1;
    } else if (warp <= busy) {
        u64 moved = 0;
        u32 at = (blockIdx.x * busy + warp - 1) * 128 + lane, step = gridDim.x * busy * 128;
        uint4 sum = make_uint4(0, 0, 0, 0);
        while (!over) {
            uint4 v[4];
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] = __ldcs(stream + (at + i * 32) % quads);
            if (COPY) {
#pragma unroll
                for (int i = 0; i < 4; i++) __stcs(to + (at + i * 32) % quads, v[i]);
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++) sum.x += v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
            }
            at = (at + step) % quads;
            moved += 4;
            u64 until = now() + pause;
            while (now() < until) {}
        }
        if (sum.x == 12345) out[0] = 1;
        atomicAdd(done, moved);
    }
}

extern "C" __global__ void loaded_read(u32 *out, const uint4 *stream, uint4 *to, const u32 *probed,
                                       u64 *done, u32 samples, u32 busy, u32 pause,
                                       u32 probed_words, u32 quads, u32 seed) {
    loaded<false>(out, stream, to, probed, done, samples, busy, pause, probed_words, quads, seed);
}

extern "C" __global__ void loaded_copy(u32 *out, const uint4 *stream, uint4 *to, const u32 *probed,
                                       u64 *done, u32 samples, u32 busy, u32 pause,
                                       u32 probed_words, u32 quads, u32 seed) {
    loaded<true>(out, stream, to, probed, done, samples, busy, pause, probed_words, quads, seed);
}
