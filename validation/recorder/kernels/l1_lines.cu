// Loads that all hit L1, whose lanes read from given places: cycles of one, by how lanes are spread.
typedef unsigned u32;

__device__ __forceinline__ u32 now() {
    u32 v;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(v)::"memory");
    return v;
}

__device__ __forceinline__ void load(u32 &sum, const char *at, u32) {
    u32 v;
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    sum ^= v;
}
__device__ __forceinline__ void load(u32 &sum, const char *at, uint2) {
    u32 v, w;
    asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(v), "=r"(w) : "l"(at) : "memory");
    sum ^= v ^ w;
}
__device__ __forceinline__ void load(u32 &sum, const char *at, uint4) {
    u32 v, w, x, y;
    asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "l"(at) : "memory");
    sum ^= v ^ w ^ x ^ y;
}

// Eight loads a round, `apart` bytes from each other. `step` is 0, which the compiler does not know:
// it would take the loads out of the loop.
template <class Word> __device__ void measure(u32 *clocks, const char *data, const u32 *offsets, u32 apart,
                                              u32 step) {
    const char *at = data + offsets[threadIdx.x % 32];
    u32 sum = 0, begin = 0, end = 0;
#pragma unroll 1
    for (int time = 0; time < 2; time++) {  // the second one counts
        __syncthreads();
        begin = now();
#pragma unroll 1
        for (int round = 0; round < 32; round++) {
#pragma unroll
            for (int k = 0; k < 8; k++) load(sum, at + k * apart, Word());
            at += step;
        }
        if (sum == 12345) clocks[999] = 1;
        end = now();
    }
    if (threadIdx.x % 32 == 0) {
        clocks[threadIdx.x / 16] = begin;
        clocks[threadIdx.x / 16 + 1] = end;
    }
}

#define KERNEL(N, WORD)                                                                          \
    extern "C" __global__ void loads_##N(u32 *clocks, const char *data, const u32 *offsets, u32 apart, \
                                         u32 step) {                                             \
        measure<WORD>(clocks, data, offsets, apart, step);                                       \
    }
KERNEL(4, u32) KERNEL(8, uint2) KERNEL(16, uint4)
