// What L1 keeps of rows that blocks go through again and again, as a softmax does: each block loads
// its row of one array, loads it again, mostly to store its row of another, and goes through that.
typedef unsigned u32;

// `words` of a row; `steps`: how many of the walks are done.
#define WALK(UNROLL)                                                                       \
    const float *x = a + (u64)blockIdx.x * words;                                          \
    float *y = b + (u64)blockIdx.x * words;                                                \
    float sum = 0;                                                                         \
    _Pragma(UNROLL) for (u32 i = threadIdx.x; i < words; i += blockDim.x) sum += x[i];     \
    __syncthreads();                                                                       \
    if (steps == 1) { out[blockIdx.x * blockDim.x + threadIdx.x] = sum; return; }

typedef unsigned long long u64;

// load, load again
extern "C" __global__ void rows_loaded(float *out, const float *a, float *b, u32 words, u32 steps) {
    WALK("unroll 4")
    float more = 0;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) more = more * sum + x[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = more;
}

// load, load and store another, load that, load and store that
extern "C" __global__ void rows_stored(float *out, const float *a, float *b, u32 words, u32 steps) {
    WALK("unroll 4")
#pragma unroll 4
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) y[i] = x[i] - sum;
    __syncthreads();
    if (steps == 2) return;
    float more = 0;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) more += y[i];
    __syncthreads();
    if (steps == 3) { out[blockIdx.x * blockDim.x + threadIdx.x] = more; return; }
#pragma unroll 4
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) y[i] /= more;
}

// the same, stores evict-first
extern "C" __global__ void rows_streamed(float *out, const float *a, float *b, u32 words,
                                         u32 steps) {
    WALK("unroll 4")
#pragma unroll 4
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) __stcs(y + i, x[i] - sum);
}

// load, then load back to front
extern "C" __global__ void rows_back(float *out, const float *a, float *b, u32 words, u32 steps) {
    WALK("unroll 4")
    float more = 0;
#pragma unroll 4
    for (u32 i = words - blockDim.x + threadIdx.x; i < words; i -= blockDim.x)
        more = more * sum + x[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = more;
}
