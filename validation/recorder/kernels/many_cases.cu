// Warps that go through cases of 2 KiB of code in orders of their own.
typedef unsigned u32;

__device__ __forceinline__ u32 drawn(u32 x) {
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
    return x;
}

// 128 products and sums in four chains, by numbers that no other case has
template <int N> __device__ __forceinline__ void products(float (&v)[4], float by) {
#pragma unroll
    for (int i = 0; i < 32; i++)
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = fmaf(v[k], by, (float)(N * 128 + i * 4 + k + 1));
}

#define ONE(N) case N: products<N>(v, by); break;
#define EIGHT(N) ONE(N) ONE(N + 1) ONE(N + 2) ONE(N + 3) ONE(N + 4) ONE(N + 5) ONE(N + 6) ONE(N + 7)

// Of a warp's `kinds` cases each round runs one; a warp's cases begin `apart` after the last one's
extern "C" __global__ void many_cases(float *out, float by, int kinds, int apart, int rounds) {
    u32 thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32;
    float v[4] = {by, by + 1, by + 2, by + 3};
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
        u32 which = (threadIdx.x / 32 * apart + drawn(warp * 4096u + i) % (u32)kinds) % 48u;
        switch (which) {
            EIGHT(0) EIGHT(8) EIGHT(16) EIGHT(24) EIGHT(32) EIGHT(40)
        }
    }
    out[thread] = v[0] + v[1] + v[2] + v[3];
}
