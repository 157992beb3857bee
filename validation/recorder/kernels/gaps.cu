// Straight code, longer or shorter than the instruction caches, with loads whose data it waits for:
// what fetching costs at first and later, and whether code comes while warps wait.
typedef unsigned u32;

__device__ __forceinline__ u32 now() {
    u32 v;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(v)::"memory");
    return v;
}

// N multiply-adds, and behind every G of them a load that the next ones wait for.
template <int N, int G> __device__ void gaps(u32 *clocks, const float *data, u32 never, u32 turns) {
    float x[4], y = data[never + 1], z = data[never + 2];
    for (int c = 0; c < 4; c++) x[c] = data[threadIdx.x * 4 + c];
    u32 warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const float *at = data + threadIdx.x;
#pragma unroll 1
    for (u32 turn = 0; turn < turns; turn++) {
        __syncthreads();
        u32 begin = now();
#pragma unroll
        for (int k = 0; k < N / 4; k++) {
#pragma unroll
            for (int c = 0; c < 4; c++)
                asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[c]) : "f"(y), "f"(z));
            if (G && k % (G / 4) == G / 4 - 1) {
                float v;
                asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(at) : "memory");
                asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(x[0]) : "f"(y), "f"(v));
            }
        }
        u32 end = now();
        if (threadIdx.x % 32 == 0)
            clocks[(blockIdx.x * turns + turn) * warps + warp] = end - begin;
    }
    if (never) clocks[0] = (u32)(x[0] + x[1] + x[2] + x[3]);
}

#define KERNEL(N, G)                                                                            \
    extern "C" __global__ void gaps_##N##_##G(u32 *clocks, const float *data, u32 never,        \
                                              u32 turns) {                                      \
        gaps<N, G>(clocks, data, never, turns);                                                 \
    }
#define ALL(N) KERNEL(N, 0) KERNEL(N, 32) KERNEL(N, 128) KERNEL(N, 512)
ALL(1024) ALL(4096) ALL(8192) ALL(9216) ALL(12288)
KERNEL(16384, 0)
