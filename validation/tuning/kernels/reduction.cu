// The sum of n floats. A thread adds EACH vectors of VECTOR words, a block apart (FAR: a grid
// apart); the block's sum by shuffles, or in shared memory; blocks add theirs by an atomic.
template <int N> struct Words { float w[N]; };
template <> struct __align__(8) Words<2> { float w[2]; };
template <> struct __align__(16) Words<4> { float w[4]; };

extern "C" __global__ void __launch_bounds__(BLOCK)
reduction(const Words<VECTOR>* __restrict__ in, float* __restrict__ out) {
    const int tid = threadIdx.x;
    const size_t step = FAR ? (size_t)gridDim.x * BLOCK : BLOCK;
    size_t at = FAR ? (size_t)blockIdx.x * BLOCK + tid : (size_t)blockIdx.x * BLOCK * EACH + tid;
    float sum = 0;
#pragma unroll 8
    for (int i = 0; i < EACH; i++, at += step) {
        const Words<VECTOR> v = in[at];
#pragma unroll
        for (int j = 0; j < VECTOR; j++) sum += v.w[j];
    }
#if FINISH == 0
    __shared__ float part[BLOCK];
    part[tid] = sum;
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        __syncthreads();
        if (tid < s) part[tid] += part[tid + s];
    }
    if (tid == 0) atomicAdd(out, part[0]);
#elif FINISH == 1
    __shared__ float part[32];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
    if (tid % 32 == 0) part[tid / 32] = sum;
    __syncthreads();
    if (tid < 32) {
        sum = tid < BLOCK / 32 ? part[tid] : 0;
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
        if (tid == 0) atomicAdd(out, sum);
    }
#else
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
    if (tid % 32 == 0) atomicAdd(out, sum);
#endif
}
