// The reduction ladder: sums of ints, each step removing one cause of lost time.
//
// Every kernel adds its block's sum to *out with one atomic. BLOCK is the number of threads.

template <int BLOCK>
__device__ void finish(const int* part, int* out) {
    if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

// Step 1. Interleaved addressing; the modulo makes neighbouring threads diverge.
template <int BLOCK>
__global__ void interleaved_divergent(const int* in, int* out, int n) {
    __shared__ int part[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 1; s < BLOCK; s *= 2) {
        if (t % (2 * s) == 0) part[t] += part[t + s];
        __syncthreads();
    }
    finish<BLOCK>(part, out);
}

// Step 2. Interleaved addressing by dense threads; the strides cause bank conflicts.
template <int BLOCK>
__global__ void interleaved_strided(const int* in, int* out, int n) {
    __shared__ int part[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 1; s < BLOCK; s *= 2) {
        int at = 2 * s * t;
        if (at < BLOCK) part[at] += part[at + s];
        __syncthreads();
    }
    finish<BLOCK>(part, out);
}

// Step 3. Sequential addressing: no divergence inside warps, no conflicts.
template <int BLOCK>
__global__ void sequential(const int* in, int* out, int n) {
    __shared__ int part[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    finish<BLOCK>(part, out);
}

// Step 4. The first addition happens while loading: half the blocks.
template <int BLOCK>
__global__ void add_during_load(const int* in, int* out, int n) {
    __shared__ int part[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK * 2 + t;
    part[t] = (i < n ? in[i] : 0) + (i + BLOCK < n ? in[i + BLOCK] : 0);
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    finish<BLOCK>(part, out);
}

template <int BLOCK>
__device__ void last_warp(volatile int* part, int t) {
#pragma unroll
    for (int s = BLOCK < 64 ? BLOCK / 2 : 32; s > 0; s >>= 1) {
        int v = t + s < BLOCK ? part[t + s] : 0;
        __syncwarp();
        part[t] = part[t] + v;
        __syncwarp();
    }
}

// Step 5. The last warp needs no block barrier.
template <int BLOCK>
__global__ void unrolled_last_warp(const int* in, int* out, int n) {
    __shared__ int part[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK * 2 + t;
    part[t] = (i < n ? in[i] : 0) + (i + BLOCK < n ? in[i + BLOCK] : 0);
    __syncthreads();
#pragma unroll
    for (int s = BLOCK / 2; s > 32; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t < 32) last_warp<BLOCK>(part, t);
    finish<BLOCK>(part, out);
}

__device__ int warp_sum(int v) {
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}

template <int BLOCK>
__device__ void block_sum_by_shuffle(int v, int* out) {
    __shared__ int warps[BLOCK / 32];
    int t = threadIdx.x;
    v = warp_sum(v);
    if (t % 32 == 0) warps[t / 32] = v;
    __syncthreads();
    if (t < 32) {
        v = warp_sum(t < BLOCK / 32 ? warps[t] : 0);
        if (t == 0) atomicAdd(out, v);
    }
}

// Step 6. Shuffles instead of shared memory inside warps.
template <int BLOCK>
__global__ void warp_shuffle(const int* in, int* out, int n) {
    int i = blockIdx.x * BLOCK * 2 + threadIdx.x;
    block_sum_by_shuffle<BLOCK>((i < n ? in[i] : 0) + (i + BLOCK < n ? in[i + BLOCK] : 0), out);
}

__device__ int4 load4(const int* in, int i, int n) {
    if (i + 3 < n) return *(const int4*)(in + i);
    return make_int4(i < n ? in[i] : 0, i + 1 < n ? in[i + 1] : 0, i + 2 < n ? in[i + 2] : 0, 0);
}

// int4, step 1. Four ints per thread through four times the shared memory.
template <int BLOCK>
__global__ void vector_shared(const int* in, int* out, int n) {
    __shared__ int part[BLOCK * 4];
    int t = threadIdx.x;
    ((int4*)part)[t] = load4(in, (blockIdx.x * BLOCK + t) * 4, n);
    __syncthreads();
    int sum = part[4 * t] + part[4 * t + 1] + part[4 * t + 2] + part[4 * t + 3];
    __syncthreads();
    part[t] = sum;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    finish<BLOCK>(part, out);
}

// int4, step 2. The four are summed in registers.
template <int BLOCK>
__global__ void vector_registers(const int* in, int* out, int n) {
    __shared__ int part[BLOCK];
    int t = threadIdx.x;
    int4 v = load4(in, (blockIdx.x * BLOCK + t) * 4, n);
    part[t] = (v.x + v.y) + (v.z + v.w);
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    finish<BLOCK>(part, out);
}

// int4, step 3. Registers, then shuffles.
template <int BLOCK>
__global__ void vector_shuffle(const int* in, int* out, int n) {
    int4 v = load4(in, (blockIdx.x * BLOCK + threadIdx.x) * 4, n);
    block_sum_by_shuffle<BLOCK>((v.x + v.y) + (v.z + v.w), out);
}
