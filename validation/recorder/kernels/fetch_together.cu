// Loops of straight code of many lengths by blocks of many SMs: what they cost each other. A block
// tells the cycles of its first turn and those of the later ones.
typedef unsigned u32;

__device__ __forceinline__ u32 now() {
    u32 v;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(v)::"memory");
    return v;
}

// Sixteen instructions in one statement: of one each, NVRTC compiles this file for a minute.
#define ROUND                                                                                     \
    "fma.rn.f32 %0, %0, %4, %5;\n\tfma.rn.f32 %1, %1, %4, %5;\n\t"                                \
    "fma.rn.f32 %2, %2, %4, %5;\n\tfma.rn.f32 %3, %3, %4, %5;\n\t"

template <int N> __device__ void loop(u32 *clocks, const float *data, u32 turns, u32 delay, u32 never) {
    extern __shared__ u32 alone[];
    float x[4], y = data[never + 1], z = data[never + 2];
    for (int c = 0; c < 4; c++) x[c] = data[threadIdx.x * 4 + c];
    u32 first = 0, later = 0, start = now();
    while (now() - start < 2000 + blockIdx.x * delay) {
    }
    __syncthreads();
#pragma unroll 1
    for (u32 turn = 0; turn < turns; turn++) {
        u32 begin = now();
#pragma unroll
        for (int k = 0; k < N / 16; k++)
            asm volatile(ROUND ROUND ROUND ROUND
                         : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : "f"(y), "f"(z));
        u32 end = now();
        if (turn == 0) first = end - begin; else later += end - begin;
    }
    if (threadIdx.x % 32 == 0) {
        u32 at = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 2;
        clocks[at] = first;
        clocks[at + 1] = later;
    }
    if (never) clocks[0] = (u32)(x[0] + x[1] + x[2] + x[3]);
}

#define KERNEL(N)                                                                                 \
    extern "C" __global__ void loop_##N(u32 *clocks, const float *data, u32 turns, u32 delay,     \
                                        u32 never) {                                              \
        loop<N>(clocks, data, turns, delay, never);                                               \
    }
KERNEL(256) KERNEL(1024) KERNEL(2048) KERNEL(4096) KERNEL(8192) KERNEL(9216) KERNEL(12288) KERNEL(16384)
