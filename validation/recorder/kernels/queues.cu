// How many memory instructions a sub-partition takes before its warps have to wait: every warp
// issues sixteen of them and reads the clock before each and after the last. And when one behind
// eight others has its data.
typedef unsigned u32;
typedef unsigned long long u64;
enum { LOAD_SHARED, STORE_SHARED, LOAD_GLOBAL, STORE_GLOBAL };
const int COUNT = 16;  // instructions of a warp
const int STEP = 32;   // bytes from one to the next

__device__ __forceinline__ u32 now() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t));
    return t;
}

#define MOVES(KIND, LETTER, SPACE)                                                            \
    __device__ __forceinline__ void load(KIND at, u32 &r) {                                   \
        asm volatile("ld." #SPACE ".u32 %0, [%1];" : "=r"(r) : LETTER(at));                   \
    }                                                                                         \
    __device__ __forceinline__ void load(KIND at, uint4 &r) {                                 \
        asm volatile("ld." #SPACE ".v4.u32 {%0, %1, %2, %3}, [%4];"                           \
                     : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : LETTER(at));              \
    }                                                                                         \
    __device__ __forceinline__ void store(KIND at, u32) {                                     \
        asm volatile("st." #SPACE ".u32 [%0], %1;" ::LETTER(at), "r"(0));                     \
    }                                                                                         \
    __device__ __forceinline__ void store(KIND at, uint4) {                                   \
        asm volatile("st." #SPACE ".v4.u32 [%0], {%1, %1, %1, %1};" ::LETTER(at), "r"(0));    \
    }
MOVES(u32, "r", shared)
MOVES(u64, "l", global)

template <int KIND, typename T>
__device__ __forceinline__ void touch(u32 shared, u64 global, T &r) {
    if (KIND == LOAD_SHARED) load(shared, r);
    if (KIND == STORE_SHARED) store(shared, r);
    if (KIND == LOAD_GLOBAL) load(global, r);
    if (KIND == STORE_GLOBAL) store(global, r);
}
__device__ __forceinline__ u32 folded(u32 v) { return v; }
__device__ __forceinline__ u32 folded(uint4 v) { return v.x + v.y + v.z + v.w; }

// Lanes lie `apart` bytes from each other: 4 to 128, for one to 32 banks' passes or lines.
template <int KIND, typename T>
__device__ void issue(u32 *clocks, char *data, u32 apart) {
    __shared__ u32 words[32 * 32 + COUNT * STEP / 4];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    for (u32 i = threadIdx.x; i < 32 * 32 + COUNT * STEP / 4; i += blockDim.x) words[i] = 0;
    u32 shared = (u32)__cvta_generic_to_shared(words) + lane * apart;
    u64 global = (u64)data + warp * 8192 + lane * apart;
    u32 t[COUNT + 1], sum = 0;
    for (int i = 0; KIND == LOAD_GLOBAL && i <= COUNT; i += 4) {  // brings the lines to L1
        u32 r;
        load(global + STEP * i, r);
        sum += r;
    }
    if (sum == 12345) return;
    __syncthreads();
    T r[COUNT] = {};
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        t[i] = now();
        touch<KIND, T>(shared + STEP * i, global + STEP * i, r[i]);
    }
    t[COUNT] = now();
#pragma unroll
    for (int i = 0; i < COUNT; i++) sum += folded(r[i]);
    if (lane == 0 && sum != 12345)
        for (int i = 0; i <= COUNT; i++) clocks[warp * (COUNT + 1) + i] = t[i];
}

#define ISSUE(NAME, KIND)                                                             \
    extern "C" __global__ void NAME##_4(u32 *clocks, char *data, u32 apart) {         \
        issue<KIND, u32>(clocks, data, apart);                                        \
    }                                                                                 \
    extern "C" __global__ void NAME##_16(u32 *clocks, char *data, u32 apart) {        \
        issue<KIND, uint4>(clocks, data, apart);                                      \
    }

ISSUE(load_shared, LOAD_SHARED)
ISSUE(store_shared, STORE_SHARED)
ISSUE(load_global, LOAD_GLOBAL)
ISSUE(store_global, STORE_GLOBAL)

// Eight accesses, then one to shared memory or to a line of L1: clocks before, after the issue of the
// eight, with the last one's data, with all data.
template <int FIRST, int THEN>
__device__ void follow(u32 *clocks, char *data, u32 apart) {
    __shared__ u32 words[32 * 32 + COUNT * STEP / 4];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    for (u32 i = threadIdx.x; i < 32 * 32 + COUNT * STEP / 4; i += blockDim.x) words[i] = 0;
    u32 shared = (u32)__cvta_generic_to_shared(words);
    u64 global = (u64)data + warp * 8192 + lane * apart, other = (u64)data + 33 * 8192 + lane * 4;
    u32 sum = 0, r[8] = {}, last = 0;
    for (int i = 0; i <= 8; i += 4) {  // brings the lines to L1
        load(global + STEP * i, last);
        sum += last;
    }
    load(other, last);
    if (sum + last == 12345) return;
    __syncthreads();
    u32 begin = now();
#pragma unroll
    for (int i = 0; i < 8; i++)
        touch<FIRST, u32>(shared + lane * apart + STEP * i, global + STEP * i, r[i]);
    __syncwarp();  // keeps the compiler from changing the order
    u32 issued = now();
    __syncwarp();
    touch<THEN, u32>(shared + 4 * lane, other, last);
    if (last == 12345) return;
    u32 there = now();
#pragma unroll
    for (int i = 0; i < 8; i++) sum += r[i];
    if (sum == 12345) return;
    u32 all = now();
    if (lane == 0) {
        u32 *to = clocks + 4 * warp;
        to[0] = begin, to[1] = issued, to[2] = there, to[3] = all;
    }
}

#define FOLLOW(NAME, FIRST, THEN)                                                     \
    extern "C" __global__ void NAME(u32 *clocks, char *data, u32 apart) {             \
        follow<FIRST, THEN>(clocks, data, apart);                                     \
    }

FOLLOW(load_shared_then_shared, LOAD_SHARED, LOAD_SHARED)
FOLLOW(load_shared_then_global, LOAD_SHARED, LOAD_GLOBAL)
FOLLOW(load_global_then_shared, LOAD_GLOBAL, LOAD_SHARED)
FOLLOW(load_global_then_global, LOAD_GLOBAL, LOAD_GLOBAL)
FOLLOW(store_global_then_shared, STORE_GLOBAL, LOAD_SHARED)
FOLLOW(store_global_then_global, STORE_GLOBAL, LOAD_GLOBAL)
