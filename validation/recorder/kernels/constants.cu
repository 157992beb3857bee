// What loads from constant memory cost whose lanes ask for different words.
typedef unsigned u32;
typedef unsigned long long u64;

__constant__ u32 table[16384];  // zeros

__device__ __forceinline__ u64 now() {
    u64 t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

// Groups of 1 << shift lanes ask for words `apart` from each other, one load after another; cycles
// of the second round, when what fits is in the caches.
extern "C" __global__ void chase(u64 *out, u32 shift, u32 apart, u32 turns) {
    u32 at = (threadIdx.x & 31) >> shift, v = 0;
    at = at * apart & 16383;
    u64 begin = 0;
    for (u32 round = 0; round < 2; round++) {
        __syncthreads();
        begin = now();
#pragma unroll 8
        for (u32 i = 0; i < turns; i++) v = table[at + v];
    }
    u64 end = now();
    if ((threadIdx.x & 31) == 0) out[threadIdx.x / 32] = end - begin + v;
}

// The same with four loads at a time that do not depend on each other.
extern "C" __global__ void four(u64 *out, u32 shift, u32 apart, u32 turns) {
    u32 at = (threadIdx.x & 31) >> shift, v[4] = {};
    at = at * apart & 16383;
    u64 begin = 0;
    for (u32 round = 0; round < 2; round++) {
        __syncthreads();
        begin = now();
#pragma unroll 2
        for (u32 i = 0; i < turns; i += 4) {
#pragma unroll
            for (int j = 0; j < 4; j++) v[j] = table[at + v[j] + j * 2048];
        }
    }
    u64 end = now();
    if ((threadIdx.x & 31) == 0) out[threadIdx.x / 32] = end - begin + v[0] + v[1] + v[2] + v[3];
}

// Two of them, then arithmetic with what they gave.
extern "C" __global__ void mixed(u64 *out, u32 shift, u32 apart, u32 turns) {
    u32 at = (threadIdx.x & 31) >> shift;
    float f = threadIdx.x, g = f;
    at = at * apart & 16383;
#pragma unroll 2
    for (u32 i = 0; i < turns; i += 2) {
        float a = __uint_as_float(table[at + i]), b = __uint_as_float(table[at + i + 2048]);
#pragma unroll
        for (int j = 0; j < 3; j++) f = f * a + g, g = g * b + f;
    }
    if (f + g == 12345.0f) out[0] = 1;
}
