// Sums, extrema and dot products: trees in shared memory, shuffles, last-block and atomics.

extern "C" __global__ void reduce_shared(const int* in, int* out, int n) {
    extern __shared__ int part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void reduce_shuffle(const int* in, int* out, int n) {
    __shared__ int warps[32];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
        for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

__device__ unsigned finished;

extern "C" __global__ void reduce_last_block(const int* in, int* partial, int* out, int n) {
    __shared__ int part[128];
    __shared__ bool last;
    unsigned t = threadIdx.x;
    int i = blockIdx.x * 128 + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = part[0];
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    int sum = 0;
    for (int b = t; b < gridDim.x; b += 128) sum += ((volatile int*)partial)[b];
    part[t] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) *out = part[0];
}

// Minimum and its first index packed in one 64-bit atomic.
extern "C" __global__ void reduce_argmin(const unsigned* in, unsigned long long* best, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicMin(best, ((unsigned long long)in[i] << 32) | (unsigned)i);
}

template <class T>
__device__ T tree(T value, T* part) {
    int t = threadIdx.x;
    part[t] = value;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) part[t] = part[t] + part[t + s];
        __syncthreads();
    }
    return part[0];
}

extern "C" __global__ void dot_float(const float* a, const float* b, float* out, int n) {
    __shared__ float part[64];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 64) sum = fmaf(a[i], b[i], sum);
    sum = tree(sum, part);
    if (threadIdx.x == 0) *out = sum;
}

extern "C" __global__ void dot_double(const double* a, const double* b, double* out, int n) {
    __shared__ double part[64];
    double sum = 0.0;
    for (int i = threadIdx.x; i < n; i += 64) sum += a[i] * b[i];
    sum = tree(sum, part);
    if (threadIdx.x == 0) *out = sum;
}

// Compensated summation: reordering or contraction by the compiler would show.
extern "C" __global__ void kahan_sum(const float* in, float* out, int per_thread) {
    const float* mine = in + (blockIdx.x * blockDim.x + threadIdx.x) * per_thread;
    float sum = 0.0f, carry = 0.0f;
    for (int i = 0; i < per_thread; ++i) {
        float y = __fsub_rn(mine[i], carry);
        float t = __fadd_rn(sum, y);
        carry = __fsub_rn(__fsub_rn(t, sum), y);
        sum = t;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
