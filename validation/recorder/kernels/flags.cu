// Words that most threads of a grid store to, or of which they all seek the least.
typedef unsigned char u8;
typedef unsigned u32;
typedef unsigned long long u64;

// As many steps of arithmetic as `work` says, whose result is 0 and nobody can know.
__device__ __forceinline__ u32 calculate(u32 seed, u32 work) {
    float x = __uint_as_float(0x3f800000u | seed >> 9);
#pragma unroll 1
    for (u32 i = 0; i < work; i++) x = fmaf(x, 0.5f, 0.75f);
    return x > 4.0f;
}

// A thread looks at its byte of `mask`; those of every `every`th warp then write a byte each into OWN arrays, and all of
// them the same byte.
template <int OWN>
__device__ void flag(const u8* mask, u8* own, u8* all, u32 every, u32 work) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    const u32 more = calculate(i, work);
    if (mask[i] + more && i / 32 % every == 0) {
#pragma unroll
        for (int j = 0; j < OWN; j++) own[(u64)j * n + i] = 1;
        *all = 1;
    }
}
#define FLAG(OWN)                                                                        \
    extern "C" __global__ void flag_##OWN(const u8* mask, u8* own, u8* all, u32 every, u32 work) { \
        flag<OWN>(mask, own, all, every, work);                                          \
    }
FLAG(0)
FLAG(1)
FLAG(3)

__device__ __forceinline__ float number_of(u32 i) {
    i = (i ^ i >> 16) * 0x7feb352du;
    i = (i ^ i >> 15) * 0x846ca68bu;
    return -(float)((i ^ i >> 16) >> 8) - 1.0f;
}

// The least number of all threads whose warps share a word, in loops of compare and exchange; and how often each tries.
extern "C" __global__ void least(float* words, u32* tries, u32 n_words, u32 work) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    const float mine = number_of(i) - (float)calculate(i, work);
    u32* const at = (u32*)words + i / 32 % n_words * 32;
    u32 seen = *at, count = 0;
    while (mine < __uint_as_float(seen)) {
        const u32 before = seen;
        count++;
        seen = atomicCAS(at, before, __float_as_uint(mine));
        if (seen == before) break;
    }
    tries[i] = count;
}
