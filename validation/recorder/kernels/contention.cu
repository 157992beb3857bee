// Reductions by many SMs on few lines: what L2 takes for each.
typedef unsigned u32;
typedef unsigned long long u64;

// 1 << shift neighbouring lanes use one word, `apart` words from the next one's; a warp's words lie
// `warp_apart` words from the next warp's.
template <class Op>
__device__ void many(char *data, u32 shift, u32 apart, u32 warp_apart, u32 n) {
    u32 lane = threadIdx.x % 32, warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    char *at = data + (u64)((lane >> shift) * apart + warp * warp_apart) * 4;
#pragma unroll 1
    for (u32 i = 0; i < n; i++) Op::f(at, lane);
}

#define KERNEL(NAME, ...)                                                                  \
    struct op_##NAME {                                                                     \
        static __device__ __forceinline__ void f(char *at, u32 lane) { __VA_ARGS__; }      \
    };                                                                                     \
    extern "C" __global__ void NAME(char *data, u32 shift, u32 apart, u32 warp_apart,      \
                                    u32 n) {                                               \
        many<op_##NAME>(data, shift, apart, warp_apart, n);                                \
    }
KERNEL(red_add, asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(lane) : "memory"))
KERNEL(red_float, asm volatile("red.global.add.f32 [%0], %1;" ::"l"(at), "f"(1.0f) : "memory"))
