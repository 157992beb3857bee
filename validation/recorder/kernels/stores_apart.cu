// Two stores of a warp to the same sectors, some time apart: which of them L1 sends on together.
typedef unsigned u32;
typedef unsigned short u16;
typedef unsigned long long u64;

__device__ __forceinline__ void store(u64 at, u16 r) {
    asm volatile("st.global.u16 [%0], %1;" :: "l"(at), "h"(r) : "memory");
}
__device__ __forceinline__ void store(u64 at, u32 r) {
    asm volatile("st.global.u32 [%0], %1;" :: "l"(at), "r"(r) : "memory");
}
__device__ __forceinline__ void store(u64 at, uint4 r) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :: "l"(at), "r"(r.x), "r"(r.y), "r"(r.z), "r"(r.w) : "memory");
}

// A warp waits for itself: no store passes that, and it takes a cycle or some.
__device__ __forceinline__ void pause() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

__device__ __forceinline__ void pauses(u32 count) {
#pragma unroll 1
    for (u32 i = 0; i < count; i++) pause();
}

__device__ __forceinline__ u32 cycles() {
    u32 now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now) :: "memory");
    return now;
}

__device__ __forceinline__ void load(u32 *out, u64 at, u32 loads, u32 rest) {
    u32 sum = 0;
#pragma unroll 1
    for (u32 i = 0; i < loads; i++, at += 2048) {
        uint4 got[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(got[j].x), "=r"(got[j].y), "=r"(got[j].z), "=r"(got[j].w) : "l"(at + 512 * j) : "memory");
#pragma unroll
        for (int j = 0; j < 4; j++) sum += got[j].x;
        pauses(rest);
    }
    if (sum == 12345) out[threadIdx.x] = sum;
}

// A warp stores a T to each lane's place, waits for itself some times, stores to the next place; rests; and so on.
// `out`: cycles from before the first store to behind the second. The block's warps from `storing` on load meanwhile,
// four times 16 bytes a lane, rest, and so on.
template <typename T, int STEPS>
__device__ void apart(u32 *out, u64 data, u32 pitch, u32 rounds, u32 rest, u32 storing, u32 loads, u32 load_rest) {
    const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (threadIdx.x / 32 >= storing) {
        load(out, data + 2048 * (u64)(warp % 64) * loads + 16 * lane, loads, load_rest);
        return;
    }
    u64 at = data + ((u64)warp * rounds * 32 + lane) * pitch;
    u32 between = 0;
    pauses(threadIdx.x / 32 * 37 % 64);
    T stored = {};
#pragma unroll 1
    for (u32 i = 0; i < rounds; i++, at += 32 * pitch) {
        const u32 begun = cycles();
        store(at, stored);
#pragma unroll
        for (int j = 0; j < STEPS; j++) pause();
        store(at + sizeof(T), stored);
        between += cycles() - begun;
        pauses(rest);
    }
    if (lane == 0) out[warp] = between;
}

#define KERNEL(BYTES, T, STEPS)                                                                             \
    extern "C" __global__ void __launch_bounds__(1024)                                                      \
    apart_##BYTES##_##STEPS(u32 *out, u64 data, u32 pitch, u32 rounds, u32 rest, u32 storing, u32 loads,    \
                            u32 load_rest) {                                                                \
        apart<T, STEPS>(out, data, pitch, rounds, rest, storing, loads, load_rest);                         \
    }
#define KERNELS(BYTES, T)                                                                                  \
    KERNEL(BYTES, T, 0)                                                                                    \
    KERNEL(BYTES, T, 1)                                                                                    \
    KERNEL(BYTES, T, 2)                                                                                    \
    KERNEL(BYTES, T, 4)                                                                                    \
    KERNEL(BYTES, T, 8)                                                                                    \
    KERNEL(BYTES, T, 12)                                                                                   \
    KERNEL(BYTES, T, 16)                                                                                   \
    KERNEL(BYTES, T, 24)                                                                                   \
    KERNEL(BYTES, T, 32)                                                                                   \
    KERNEL(BYTES, T, 48)                                                                                   \
    KERNEL(BYTES, T, 64)                                                                                   \
    KERNEL(BYTES, T, 96)                                                                                   \
    KERNEL(BYTES, T, 128)
KERNELS(2, u16)
KERNELS(4, u32)
KERNELS(16, uint4)
