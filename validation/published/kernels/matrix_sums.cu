// Sums over the rows and columns of a square float matrix, one thread or one block each.

extern "C" __global__ void row_sums(const float* a, float* sums, size_t n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float total = 0.0f;
        for (size_t k = 0; k < n; k++) total += a[i * n + k];
        sums[i] = total;
    }
}

extern "C" __global__ void column_sums(const float* a, float* sums, size_t n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float total = 0.0f;
        for (size_t k = 0; k < n; k++) total += a[k * n + i];
        sums[i] = total;
    }
}

extern "C" __global__ void row_sums_block(const float* a, float* sums, size_t n) {
    __shared__ float part[256];
    int row = blockIdx.x;
    if (row < n) {
        int t = threadIdx.x;
        part[t] = 0.0f;
        for (size_t k = t; k < n; k += blockDim.x) part[t] += a[row * n + k];
        for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
            __syncthreads();
            if (t < s) part[t] += part[t + s];
        }
        if (t == 0) sums[row] = part[0];
    }
}

extern "C" __global__ void atomic_sum(const float* in, float* out, size_t n) {
    size_t i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i < n) atomicAdd(out, in[i]);
}

extern "C" __global__ void tree_sum(const float* in, float* out, size_t n) {
    __shared__ float part[256];
    int t = threadIdx.x;
    part[t] = 0.0f;
    size_t i = threadIdx.x + blockDim.x * blockIdx.x;
    while (i < n) {
        part[t] += in[i];
        i += gridDim.x * blockDim.x;
    }
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        __syncthreads();
        if (t < s) part[t] += part[t + s];
    }
    if (t == 0) atomicAdd(out, part[0]);
}

extern "C" __global__ void shuffle_sum(const float* in, float* out, int n) {
    __shared__ float part[32];
    int t = threadIdx.x;
    float value = 0.0f;
    int lane = t % warpSize;
    int warp = t / warpSize;
    for (int i = t + blockDim.x * blockIdx.x; i < n; i += gridDim.x * blockDim.x) value += in[i];
    for (int offset = warpSize / 2; offset > 0; offset >>= 1)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    if (lane == 0) part[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = t < blockDim.x / warpSize ? part[lane] : 0.0f;
        for (int offset = warpSize / 2; offset > 0; offset >>= 1)
            value += __shfl_down_sync(0xffffffffu, value, offset);
        if (t == 0) atomicAdd(out, value);
    }
}
