// Atomics on shared memory: lanes on a word, words apart.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 now() {
    u64 t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

// 1 << shift neighbouring lanes use one word, `apart` words from the next one's; all warps the same.
#define KERNEL(NAME, TYPE, ONCE)                                                            \
    extern "C" __global__ void NAME(u64 *out, u32 shift, u32 apart, u32 n, u32 one) {       \
        __shared__ TYPE words[1024];                                                        \
        for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) words[i] = 0;                  \
        __syncthreads();                                                                    \
        u32 lane = threadIdx.x % 32;                                                        \
        TYPE *at = words + (lane >> shift) * apart, sum = 0;                                \
        u64 begin = now();                                                                  \
        _Pragma("unroll 1") for (u32 i = 0; i < n; i++) {                                   \
            ONCE;                                                                           \
            ONCE;                                                                           \
            ONCE;                                                                           \
            ONCE;                                                                           \
        }                                                                                   \
        __syncthreads();                                                                    \
        u64 end = now();                                                                    \
        if (threadIdx.x == 0) {                                                             \
            out[0] = end - begin;                                                           \
            out[1] = (u64)words[0] + (u64)sum;                                              \
        }                                                                                   \
    }
KERNEL(inc, u32, atomicAdd(at, 1u))
KERNEL(add, u32, atomicAdd(at, one))
KERNEL(add_lane, u32, atomicAdd(at, lane))
KERNEL(add_returning, u32, sum += atomicAdd(at, one))
KERNEL(inc_returning, u32, sum += atomicAdd(at, 1u))
KERNEL(maximum, u32, atomicMax(at, lane))
KERNEL(add_float, float, atomicAdd(at, 1.0f))
KERNEL(exchange, u32, sum += atomicCAS(at, sum, lane))
