// Loads whose address space the compiler does not know, beside those of shared and global memory that it
// does: eight in a row whose results a warp waits for together, by how their lanes are spread.
typedef unsigned u32;

#define FUNCTIONS(SPACE, NAME)                                                                            \
    __device__ __forceinline__ void NAME(u32 &sum, size_t at, u32) {                                      \
        u32 v;                                                                                            \
        asm volatile("ld" SPACE ".b32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");                         \
        sum ^= v;                                                                                         \
    }                                                                                                     \
    __device__ __forceinline__ void NAME(u32 &sum, size_t at, uint2) {                                    \
        u32 v, w;                                                                                         \
        asm volatile("ld" SPACE ".v2.b32 {%0, %1}, [%2];" : "=r"(v), "=r"(w) : "l"(at) : "memory");       \
        sum ^= v ^ w;                                                                                     \
    }                                                                                                     \
    __device__ __forceinline__ void NAME(u32 &sum, size_t at, uint4) {                                    \
        u32 v, w, x, y;                                                                                   \
        asm volatile("ld" SPACE ".v4.b32 {%0, %1, %2, %3}, [%4];"                                         \
                     : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "l"(at) : "memory");                          \
        sum ^= v ^ w ^ x ^ y;                                                                             \
    }
FUNCTIONS("", generic) FUNCTIONS(".shared", shared) FUNCTIONS(".global", global)

__shared__ uint4 kept[2048];

#define LOADS(NAME, N, WORD, BASE)                                                                        \
    extern "C" __global__ void NAME##_##N(u32 *out, const char *data, const u32 *offsets, u32 rounds) {   \
        for (u32 i = threadIdx.x; i < 2048; i += blockDim.x) kept[i] = uint4{0, 0, 0, 0};                 \
        __syncthreads();                                                                                  \
        size_t at = BASE + offsets[threadIdx.x % 32];                                                     \
        u32 sum = 0;                                                                                      \
        _Pragma("unroll 1") for (u32 round = 0; round < rounds; round++) {                                \
            _Pragma("unroll") for (int k = 0; k < 8; k++) NAME(sum, at + k * 32, WORD());                 \
            if (sum == 12345) out[round] = 1;                                                             \
        }                                                                                                 \
    }
#define IN_SHARED (size_t)__cvta_generic_to_shared(kept)
// Which of the two it is the compiler does not see.
#define UNKNOWN (rounds >> 30 ? (size_t)data : (size_t)kept)
LOADS(generic, 4, u32, UNKNOWN) LOADS(generic, 8, uint2, UNKNOWN) LOADS(generic, 16, uint4, UNKNOWN)
LOADS(shared, 4, u32, IN_SHARED) LOADS(shared, 8, uint2, IN_SHARED) LOADS(shared, 16, uint4, IN_SHARED)
LOADS(global, 4, u32, (size_t)data) LOADS(global, 8, uint2, (size_t)data) LOADS(global, 16, uint4, (size_t)data)

#define STORES(NAME, SPACE, N, TEXT, BASE)                                                                \
    extern "C" __global__ void NAME##_##N(u32 *out, const char *data, const u32 *offsets, u32 rounds) {   \
        size_t at = BASE + offsets[threadIdx.x % 32];                                                     \
        _Pragma("unroll 1") for (u32 round = 0; round < rounds; round++) {                                \
            _Pragma("unroll") for (int k = 0; k < 8; k++)                                                 \
                asm volatile("st" SPACE TEXT ::"l"(at + k * 32), "r"(round) : "memory");                  \
        }                                                                                                 \
    }
STORES(store_generic, "", 4, ".b32 [%0], %1;", UNKNOWN)
STORES(store_generic, "", 16, ".v4.b32 [%0], {%1, %1, %1, %1};", UNKNOWN)
STORES(store_shared, ".shared", 4, ".b32 [%0], %1;", IN_SHARED)
STORES(store_shared, ".shared", 16, ".v4.b32 [%0], {%1, %1, %1, %1};", IN_SHARED)

// A chain of loads: each lane's word says where it reads next.
#define CHAIN(NAME, SPACE, BASE)                                                                          \
    extern "C" __global__ void NAME##_4(u32 *out, const char *data, const u32 *offsets, u32 rounds) {     \
        for (u32 i = threadIdx.x; i < 2048; i += blockDim.x) kept[i] = uint4{0, 0, 0, 0};                 \
        __syncthreads();                                                                                  \
        size_t base = BASE + offsets[threadIdx.x % 32];                                                   \
        u32 v = 0;                                                                                        \
        _Pragma("unroll 1") for (u32 round = 0; round < rounds * 8; round++)                              \
            asm volatile("ld" SPACE ".b32 %0, [%1];" : "=r"(v) : "l"(base + v) : "memory");               \
        if (v == 12345) out[0] = 1;                                                                       \
    }
CHAIN(chain_generic, "", UNKNOWN) CHAIN(chain_shared, ".shared", IN_SHARED)
CHAIN(chain_global, ".global", (size_t)data)
