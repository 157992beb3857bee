// Bursts of memory accesses of a block, with rests between them that differ from block to block.
typedef unsigned u32;

__device__ __forceinline__ u32 scrambled(u32 x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

__device__ __forceinline__ float folded(float v) { return v; }
__device__ __forceinline__ float folded(float4 v) { return v.x + v.y + v.z + v.w; }

// A lane moves EACH items a burst; items are `mask` + 1 in turn; a rest is `rest` dependent additions
// on average, by 32. MOVE: 0 reads, 1 writes, 2 copies.
template <typename T, int EACH, int MOVE>
__global__ void rests(const T *in, T *out, u32 mask, int bursts, int rest) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    float sum = 0.0f, step = 1.0f + threadIdx.x;
    for (int i = 0; i < bursts; i++) {
        u32 at = (i * gridDim.x + blockIdx.x) * blockDim.x * EACH + warp * EACH * 32 + lane;
        T v[EACH] = {};
        if (MOVE != 1) {
#pragma unroll
            for (int j = 0; j < EACH; j++) v[j] = in[at + j * 32 & mask];
        }
        if (MOVE != 0) {
#pragma unroll
            for (int j = 0; j < EACH; j++) out[at + j * 32 & mask] = v[j];
        } else {
#pragma unroll
            for (int j = 0; j < EACH; j++) sum += folded(v[j]);
        }
        __syncthreads();
        int turns = rest ? rest / 2 + scrambled(i * gridDim.x + blockIdx.x) % rest : 0;
#pragma unroll 1
        for (int k = 0; k + 31 < turns; k += 32) {
#pragma unroll
            for (int j = 0; j < 32; j++) sum += step;
        }
        __syncthreads();
    }
    if (sum == 12345.0f) out[threadIdx.x] = T{};
}
