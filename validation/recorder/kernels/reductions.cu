// Atomics on global memory by the warps of one SM, each on 64 KiB of its own: how lanes that use the
// same words, sectors or lines take turns.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 now() {
    u32 v;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(v)::"memory");
    return v;
}

// 1 << shift neighbouring lanes use one word, `apart` words from the next one's.
template <class Op>
__device__ void many(u32 *clocks, char *data, u32 shift, u32 apart, u32 never) {
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, x = 0, begin = 0, end = 0;
    char *at = data + (u64)warp * 65536 + (u64)(lane >> shift) * apart * Op::bytes;
#pragma unroll 1
    for (int time = 0; time < 2; time++) {  // the second one counts
        __syncthreads();
        __syncthreads();
        begin = now();
#pragma unroll 1
        for (int i = 0; i < 16; i++) x = Op::f(at + (x & never), lane, i);
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        end = now();
    }
    if (lane == 0) {
        clocks[warp * 2] = begin;
        clocks[warp * 2 + 1] = end;
    }
}

#define KERNEL(NAME, BYTES, ...)                                                           \
    struct op_##NAME {                                                                     \
        static const int bytes = BYTES;                                                    \
        static __device__ __forceinline__ u32 f(char *at, u32 lane, u32 i) {               \
            u32 x = 0;                                                                     \
            __VA_ARGS__;                                                                   \
            return x;                                                                      \
        }                                                                                  \
    };                                                                                     \
    extern "C" __global__ void NAME(u32 *clocks, char *data, u32 shift, u32 apart,         \
                                    u32 never) {                                           \
        many<op_##NAME>(clocks, data, shift, apart, never);                                \
    }
KERNEL(red_add, 4, asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(lane) : "memory"))
KERNEL(red_float, 4, asm volatile("red.global.add.f32 [%0], %1;" ::"l"(at), "f"(1.0f) : "memory"))
KERNEL(red_max64, 8, asm volatile("red.global.max.u64 [%0], %1;" ::"l"(at), "l"((u64)(lane + 64 * i)) : "memory"))
KERNEL(atom_add, 4, asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(x) : "l"(at), "r"(lane) : "memory"))
KERNEL(atom_exch, 4, asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(x) : "l"(at), "r"(lane) : "memory"))
KERNEL(atom_cas, 4, asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(x) : "l"(at), "r"(lane), "r"(7) : "memory"))

// The latency of an atomic, each on the result of the one before.
extern "C" __global__ void latency(u32 *clocks, char *data, u32 shift, u32 apart, u32 never) {
    u32 x = 0, begin = 0, end = 0;
#pragma unroll 1
    for (int time = 0; time < 2; time++) {
        begin = now();
#pragma unroll 1
        for (int i = 0; i < 16; i++) x = op_atom_add::f(data + threadIdx.x * 4 + (x & never), 1, i);
        if (x == 12345) clocks[0] = x;
        end = now();
    }
    if (threadIdx.x == 0) {
        clocks[0] = begin;
        clocks[1] = end;
    }
}
