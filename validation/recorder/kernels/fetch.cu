// Loops of straight code of many lengths: what fetching instructions costs.
typedef unsigned u32;

__device__ __forceinline__ u32 now() {
    u32 v;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(v)::"memory");
    return v;
}

template <int N> __device__ void loop(u32 *clocks, const float *data, u32 never) {
    float x[4], y = data[never + 1], z = data[never + 2];
    for (int c = 0; c < 4; c++) x[c] = data[threadIdx.x * 4 + c];
    u32 begin = 0, end = 0;
#pragma unroll 1
    for (int time = 0; time < 2; time++) {  // the second one counts
        __syncthreads();
        __syncthreads();
        begin = now();
#pragma unroll 1
        for (int turn = 0; turn < 8; turn++)
#pragma unroll
            for (int k = 0; k < N / 4; k++)
#pragma unroll
                for (int c = 0; c < 4; c++)
                    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[c]) : "f"(y), "f"(z));
        end = now();
    }
    if (threadIdx.x % 32 == 0) {
        clocks[threadIdx.x / 16] = begin;
        clocks[threadIdx.x / 16 + 1] = end;
    }
    if (never) clocks[0] = (u32)(x[0] + x[1] + x[2] + x[3]);
}

#define KERNEL(N)                                                                          \
    extern "C" __global__ void loop_##N(u32 *clocks, const float *data, u32 never) {       \
        loop<N>(clocks, data, never);                                                      \
    }
KERNEL(256) KERNEL(512) KERNEL(1024) KERNEL(1536) KERNEL(2048) KERNEL(3072) KERNEL(4096) KERNEL(8192)
KERNEL(8704) KERNEL(9216) KERNEL(10240) KERNEL(12288) KERNEL(16384)
