// Loads of lines that no cache has, several of a warp before it waits for them, beside a load from shared
// memory: where warps wait once L1 has no room for what is on its way.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ void load(u64 at, u32 &r) {
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(r) : "l"(at) : "memory");
}
__device__ __forceinline__ void load(u64 at, uint4 &r) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "l"(at) : "memory");
}
__device__ __forceinline__ u32 folded(u32 v) { return v; }
__device__ __forceinline__ u32 folded(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

// `rounds` times: LOADS of a warp's own rows of lines, then a word of shared memory, then what all wait for.
template <typename T, int LOADS>
__device__ void rounds_of(u32 *out, u64 data, u32 rounds) {
    extern __shared__ u32 words[];
    const u32 lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const u32 place = (u32)__cvta_generic_to_shared(words) + 4 * lane;
    u64 at = data + ((u64)warp * rounds * LOADS * 32 + lane) * sizeof(T);
    words[lane] = 0;
    u32 sum = 0;
#pragma unroll 1
    for (u32 i = 0; i < rounds; i++) {
        T r[LOADS];
        u32 word;
#pragma unroll
        for (int j = 0; j < LOADS; j++) load(at + j * 32 * sizeof(T), r[j]);
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(place) : "memory");
        sum += word;
        __syncwarp();
#pragma unroll
        for (int j = 0; j < LOADS; j++) sum ^= folded(r[j]);
        at += LOADS * 32 * sizeof(T);
    }
    if (sum == 12345) out[warp] = sum;
}

#define KERNEL(BYTES, T, LOADS)                                                       \
    extern "C" __global__ void __launch_bounds__(1024)                                \
    held_##BYTES##_##LOADS(u32 *out, u64 data, u32 rounds) {                          \
        rounds_of<T, LOADS>(out, data, rounds);                                       \
    }
KERNEL(4, u32, 1)
KERNEL(4, u32, 4)
KERNEL(4, u32, 8)
KERNEL(16, uint4, 1)
KERNEL(16, uint4, 2)
KERNEL(16, uint4, 4)
KERNEL(16, uint4, 8)
