// Loads of lines that are on their way to L1, beside lines that are there: cycles by what lanes read, by how
// many loads of how many warps ask for a line, and by where it comes from. Where the lanes of each of a warp's
// loads read is told at run time: ptxas makes one of loads that it knows to be the same.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 now() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}
__device__ __forceinline__ void load(u64 at, u32 &r) {
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(r) : "l"(at) : "memory");
}
__device__ __forceinline__ void load(u64 at, uint2 &r) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(r.x), "=r"(r.y) : "l"(at) : "memory");
}
__device__ __forceinline__ void load(u64 at, uint4 &r) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "l"(at) : "memory");
}
__device__ __forceinline__ u32 folded(u32 v) { return v; }
__device__ __forceinline__ u32 folded(uint2 v) { return v.x ^ v.y; }
__device__ __forceinline__ u32 folded(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

// Once: each warp loads `SAME` times, then a word of shared memory, which goes the same way behind them. The
// first time round brings the code and the page; `apart` bytes further is the place that counts (0: it is
// there by then). Clocks of a warp: before, issued, shared word there, all there.
template <typename T, int SAME>
__device__ void once(u32 *clocks, u64 data, const u32 *offsets, u32 of_a_warp, u32 apart) {
    __shared__ u32 words[32];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (warp == 0) words[lane] = 0;
    const u32 shared = (u32)__cvta_generic_to_shared(words) + 4 * lane;
    u64 at[SAME];
    for (int i = 0; i < SAME; i++) at[i] = data + offsets[32 * i + lane] + warp * of_a_warp;
    u32 t[4] = {};
#pragma unroll 1
    for (int time = 0; time < 2; time++) {
        T r[SAME];
        u32 sum = 0, word;
        __syncthreads();
        t[0] = now();
#pragma unroll
        for (int i = 0; i < SAME; i++) load(at[i], r[i]);
        __syncwarp();  // keeps the compiler from changing the order
        t[1] = now();
        __syncwarp();
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(shared) : "memory");
        if (word == 12345) return;
        t[2] = now();
#pragma unroll
        for (int i = 0; i < SAME; i++) sum ^= folded(r[i]);
        if (sum == 12345) return;
        t[3] = now();
#pragma unroll
        for (int i = 0; i < SAME; i++) at[i] += apart;
    }
    if (lane == 0)
        for (int i = 0; i < 4; i++) clocks[4 * warp + i] = t[i];
}

// On and on: each warp loads `SAME` times from each of eight lines, `STEP` bytes apart, and goes on to the next
// eight, `step` bytes further (0: the same ones); `MORE` loads from shared memory behind those of each line
// give it the time to come. Clocks of a warp: before and behind all.
template <typename T, int SAME, int STEP, int MORE>
__device__ void rounds(u32 *clocks, u64 data, const u32 *offsets, u64 of_a_block, u32 of_a_warp, u32 step,
                       u32 count) {
    __shared__ u32 words[32 * (MORE + 1)];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (u32 i = threadIdx.x; i < 32 * (MORE + 1); i += blockDim.x) words[i] = 0;
    const u32 shared = (u32)__cvta_generic_to_shared(words) + 4 * lane;
    u64 at[SAME];
    for (int i = 0; i < SAME; i++)
        at[i] = data + offsets[32 * i + lane] + blockIdx.x * of_a_block + warp * of_a_warp;
    u32 sum = 0, clock = 0, page[2];
    load(at[0] >> 21 << 21, page[0]);  // the pages are known before the first clock
    load(at[0] + count * step >> 21 << 21, page[1]);
    if (page[0] + page[1] == 12345) return;
    __syncthreads();
    const u32 begin = now();
#pragma unroll 1
    for (u32 k = 0; k < count; k++) {
#pragma unroll
        for (int line = 0; line < 8; line++) {
            T r[SAME];
            u32 more[MORE + 1];
#pragma unroll
            for (int i = 0; i < SAME; i++) load(at[i] + line * STEP, r[i]);
#pragma unroll
            for (int i = 0; i < MORE; i++)
                asm volatile("ld.shared.u32 %0, [%1];" : "=r"(more[i]) : "r"(shared + 128 * i) : "memory");
            __syncwarp();
            clock ^= now();  // keeps the compiler from waiting for some before all are issued
            __syncwarp();
#pragma unroll
            for (int i = 0; i < MORE; i++) sum ^= more[i];
#pragma unroll
            for (int i = 0; i < SAME; i++) sum ^= folded(r[i]);
            if (sum == 12345) return;  // keeps the compiler from mixing lines
        }
#pragma unroll
        for (int i = 0; i < SAME; i++) at[i] += step;
    }
    const u32 end = now(), place = 2 * (blockIdx.x * blockDim.x / 32 + warp);
    if (lane == 0) clocks[place] = begin, clocks[place + 1] = end;
    if (clock == 12345) clocks[0] = clock;
}

#define ONCE(BYTES, T, SAME)                                                                              \
    extern "C" __global__ void __launch_bounds__(1024)                                                    \
    once_##BYTES##_##SAME(u32 *clocks, u64 data, const u32 *offsets, u32 of_a_warp, u32 apart) {          \
        once<T, SAME>(clocks, data, offsets, of_a_warp, apart);                                           \
    }
#define ROUNDS(BYTES, T, SAME, STEP, MORE)                                                                \
    extern "C" __global__ void __launch_bounds__(1024)                                                    \
    rounds_##BYTES##_##SAME##_##STEP##_##MORE(u32 *clocks, u64 data, const u32 *offsets, u64 of_a_block,  \
                                              u32 of_a_warp, u32 step, u32 count) {                       \
        rounds<T, SAME, STEP, MORE>(clocks, data, offsets, of_a_block, of_a_warp, step, count);           \
    }
ONCE(4, u32, 1) ONCE(4, u32, 2) ONCE(4, u32, 4) ONCE(4, u32, 8) ONCE(4, u32, 16)
ONCE(8, uint2, 2) ONCE(8, uint2, 8) ONCE(16, uint4, 2) ONCE(16, uint4, 8)
ROUNDS(4, u32, 4, 256, 0) ROUNDS(4, u32, 16, 256, 0) ROUNDS(4, u32, 8, 256, 0) ROUNDS(4, u32, 8, 256, 24)
ROUNDS(8, uint2, 8, 256, 0) ROUNDS(16, uint4, 4, 512, 0)
// Lanes that read lines that are there beside others: of the step before
ROUNDS(4, u32, 16, 128, 0) ROUNDS(4, u32, 8, 128, 24) ROUNDS(4, u32, 16, 2048, 0)
