// Warps that walk through constants time after time, each a while behind the one before it.
typedef unsigned u32;

__constant__ float table[16384];  // zeros

__device__ __forceinline__ u32 now() {
    u32 v;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(v)::"memory");
    return v;
}

template <int WORK> __device__ __forceinline__ float work(float x, float y, float a, float b) {
    const float p = x * y - a, q = y * y - b;
    x = p * p + q * q;
#pragma unroll
    for (int k = 0; k < WORK; k++)
        asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(y));
    return x;
}

// `steps` steps of so many words; all lanes have one address, and only for IS_UNIFORM does the
// compiler know. A block is a warp.
template <bool IS_UNIFORM, int STEP, int WORK>
__device__ void walks(float *out, u32 turns, u32 steps, u32 delay) {
    float x = threadIdx.x, y = blockIdx.x;
    const u32 first = IS_UNIFORM ? 0 : threadIdx.x / 32, begin = now();
    while (now() - begin < blockIdx.x / 132 * delay) {
    }
#pragma unroll 1
    for (u32 turn = 0; turn < turns; turn++) {
        u32 at = first;
#pragma unroll 1
        for (u32 left = steps; left != 0; left--) {
            x = work<WORK>(x, y, table[at], table[at + 1]);
            at += STEP;
        }
    }
    if (x == 12345.0f) out[0] = x;
}

#define KERNEL(KIND, IS_UNIFORM, STEP, WORK)                                                      \
    extern "C" __global__ void KIND##_##STEP##_##WORK(float *out, u32 turns, u32 steps, u32 delay) { \
        walks<IS_UNIFORM, STEP, WORK>(out, turns, steps, delay);                                  \
    }
#define KERNELS(KIND, IS_UNIFORM)                                                                 \
    KERNEL(KIND, IS_UNIFORM, 4, 0)                                                                \
    KERNEL(KIND, IS_UNIFORM, 4, 8)                                                                \
    KERNEL(KIND, IS_UNIFORM, 4, 32)                                                               \
    KERNEL(KIND, IS_UNIFORM, 16, 0)                                                               \
    KERNEL(KIND, IS_UNIFORM, 16, 8)                                                               \
    KERNEL(KIND, IS_UNIFORM, 16, 32)
KERNELS(uniform, true)
KERNELS(loaded, false)
