// Structures that threads write member by member: which of a warp's stores L1 sends on together. And words that many
// warps of the chip write.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ void store(u64 at, u32 r) {
    asm volatile("st.global.u32 [%0], %1;" :: "l"(at), "r"(r) : "memory");
}
__device__ __forceinline__ void store(u64 at, uint2 r) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" :: "l"(at), "r"(r.x), "r"(r.y) : "memory");
}
__device__ __forceinline__ void store(u64 at, uint4 r) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :: "l"(at), "r"(r.x), "r"(r.y), "r"(r.z), "r"(r.w) : "memory");
}

// A thread's MEMBERS words of T, `pitch` bytes from one thread to the next, one store after another; `rounds` times.
template <typename T, int MEMBERS>
__device__ void members(u64 data, u32 pitch, u32 rounds) {
    const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    u64 at = data + ((u64)warp * rounds * 32 + lane) * pitch;
    T value = {};
#pragma unroll 1
    for (u32 i = 0; i < rounds; i++) {
#pragma unroll
        for (int j = 0; j < MEMBERS; j++) store(at + j * sizeof(T), value);
        at += 32 * pitch;
    }
}

#define KERNEL(BYTES, T, MEMBERS)                                                                          \
    extern "C" __global__ void __launch_bounds__(1024)                                                     \
    members_##BYTES##_##MEMBERS(u64 data, u32 pitch, u32 rounds) {                                         \
        members<T, MEMBERS>(data, pitch, rounds);                                                          \
    }
KERNEL(4, u32, 1)
KERNEL(4, u32, 2)
KERNEL(4, u32, 3)
KERNEL(4, u32, 4)
KERNEL(4, u32, 8)
KERNEL(8, uint2, 1)
KERNEL(8, uint2, 2)
KERNEL(8, uint2, 3)
KERNEL(8, uint2, 4)
KERNEL(16, uint4, 1)
KERNEL(16, uint4, 2)

// Each warp writes one word, `rounds` times, the words of neighbours `apart` bytes apart, `words` of them in all.
extern "C" __global__ void __launch_bounds__(1024)
    same_words(u64 data, u32 words, u32 apart, u32 rounds) {
    const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    u64 at = data + (u64)(warp % words) * apart;
    if (threadIdx.x % 32 == 0)
#pragma unroll 1
        for (u32 i = 0; i < rounds; i++) store(at, i);
}
// The same by all lanes.
extern "C" __global__ void __launch_bounds__(1024)
    same_words_all(u64 data, u32 words, u32 apart, u32 rounds) {
    const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    u64 at = data + (u64)(warp % words) * apart;
#pragma unroll 1
    for (u32 i = 0; i < rounds; i++) store(at, i);
}
