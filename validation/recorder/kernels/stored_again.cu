// What loads find in L1 of what was loaded, stored in part and loaded again; and what of local memory reaches L2.
typedef unsigned u32;
typedef unsigned long long u64;
#define ROUNDS 16

__device__ __forceinline__ u32 load(u64 at) {
    u32 word;
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
    return word;
}

// Each thread's words, 1 KiB apart: loaded, stored by those lanes of eight that `lanes` names, loaded again.
extern "C" __global__ void again_global(u32 *out, u64 data, u32 before, u32 lanes, u32 after) {
    const u64 at = data + 4 * threadIdx.x;
    u32 sum = 0;
    if (before)
        for (u32 i = 0; i < ROUNDS; i++) sum += load(at + 1024 * i);
    __syncthreads();
    if (lanes >> (threadIdx.x % 8) & 1)
        for (u32 i = 0; i < ROUNDS; i++) asm volatile("st.global.u32 [%0], %1;" :: "l"(at + 1024 * i), "r"(sum) : "memory");
    __syncthreads();
    if (after)
        for (u32 i = 0; i < ROUNDS; i++) sum += load(at + 1024 * i);
    if (sum == 12345) out[threadIdx.x] = sum;
}

// A thread's own array of T: `stores` times each element, lane l of it rotated by l * apart, then `loads` times.
template <typename T>
__device__ void local(u32 *out, u32 stores, u32 loads, u32 apart) {
    volatile T own[64];
    const u32 first = threadIdx.x % 32 * apart;
    u32 sum = 0;
#pragma unroll 1
    for (u32 j = 0; j < stores; j++)
#pragma unroll 1
        for (u32 i = 0; i < 64; i++) own[(first + i) % 64] = (T)(i + j);
#pragma unroll 1
    for (u32 j = 0; j < loads; j++)
#pragma unroll 1
        for (u32 i = 0; i < 64; i++) sum += (u32)own[(first + i) % 64];
    if (sum == 12345) out[threadIdx.x] = sum;
}
extern "C" __global__ void again_local_1(u32 *out, u32 stores, u32 loads, u32 apart) {
    local<unsigned char>(out, stores, loads, apart);
}
extern "C" __global__ void again_local_4(u32 *out, u32 stores, u32 loads, u32 apart) {
    local<u32>(out, stores, loads, apart);
}
extern "C" __global__ void again_local_8(u32 *out, u32 stores, u32 loads, u32 apart) {
    local<u64>(out, stores, loads, apart);
}
