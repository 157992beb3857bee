// A block loads an array twice, while each thread keeps some values in registers.
typedef unsigned u32;

template <int KEPT>
__device__ void load_twice(u32 *out, const u32 *a, u32 words) {
    u32 kept[KEPT], sum = 0;
#pragma unroll
    for (int k = 0; k < KEPT; k++) asm volatile("mov.u32 %0, %%clock;" : "=r"(kept[k]));
    for (int turn = 0; turn < 2; turn++) {
#pragma unroll 1
        for (u32 i = threadIdx.x; i < words; i += blockDim.x) sum += a[i];
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < KEPT; k++) sum = sum * 3 + kept[k];
    if (words == 12345) out[threadIdx.x] = sum;
}

#define KERNEL(KEPT)                                                                                    \
    extern "C" __global__ void kept_##KEPT(u32 *out, const u32 *a, u32 words) { load_twice<KEPT>(out, a, words); }
KERNEL(1)
KERNEL(32)
KERNEL(56)
KERNEL(112)
