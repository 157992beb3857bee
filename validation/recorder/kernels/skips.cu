// Straight code in segments, each of which ends with a jump over code that never runs.
typedef unsigned u32;

__device__ __forceinline__ u32 now() {
    u32 v;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(v)::"memory");
    return v;
}

template <int N> __device__ __forceinline__ void products(float (&x)[4], float y, float z) {
#pragma unroll
    for (int k = 0; k < N; k++)
        asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[k % 4]) : "f"(y), "f"(z));
}

// Each warp begins `delay` cycles behind the one before it and runs all segments `turns` times.
template <int USED, int GAP, int SEGMENTS>
__device__ void skips(u32 *clocks, const float *data, u32 turns, u32 delay, u32 never) {
    float x[4], y = data[never + 1], z = data[never + 2];
    for (int c = 0; c < 4; c++) x[c] = data[threadIdx.x * 4 + c];
    __syncthreads();
    u32 begin = now();
    while (now() - begin < delay * (threadIdx.x / 32)) {
    }
    begin = now();
#pragma unroll 1
    for (u32 turn = 0; turn < turns; turn++) {
#pragma unroll
        for (int segment = 0; segment < SEGMENTS; segment++) {
            products<USED - 1>(x, y, z);
            if (never) products<GAP>(x, z, y);
        }
    }
    const u32 end = now();
    if (threadIdx.x % 32 == 0 && blockIdx.x == 0) {
        clocks[threadIdx.x / 16] = begin;
        clocks[threadIdx.x / 16 + 1] = end;
    }
    if (never) clocks[0] = (u32)(x[0] + x[1] + x[2] + x[3]);
}

#define KERNEL(USED, GAP, SEGMENTS)                                                               \
    extern "C" __global__ void skip_##USED##_##GAP##_##SEGMENTS(                                  \
        u32 *clocks, const float *data, u32 turns, u32 delay, u32 never) {                        \
        skips<USED, GAP, SEGMENTS>(clocks, data, turns, delay, never);                            \
    }
#define KERNELS(USED, GAP)                                                                        \
    KERNEL(USED, GAP, 8)                                                                          \
    KERNEL(USED, GAP, 16) KERNEL(USED, GAP, 32) KERNEL(USED, GAP, 64) KERNEL(USED, GAP, 96)
KERNELS(32, 32)
KERNELS(32, 96)
KERNELS(16, 48)
KERNELS(8, 24)
KERNELS(48, 16)
KERNEL(16, 48, 160)
KERNEL(8, 24, 256)
