// Steps of softmax and normalisations over vectors: one value a block through a tree in shared
// memory, and the passes that apply the result.
#define LOWEST (-3.402823466e+38f)
#define NOTHING __int_as_float(0xff800000)
#define GLOBAL (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void block_max(const float* in, float* out, int n) {
    __shared__ float part[256];
    int i = GLOBAL, t = threadIdx.x;
    part[t] = (i < n) ? in[i] : NOTHING;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) part[t] = fmaxf(part[t + s], part[t]);
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void all_max(const float* in, float* out, int n) {
    extern __shared__ float shared[];
    int t = threadIdx.x, i = t;
    float best = NOTHING;
    while (i < n) {
        best = fmaxf(best, in[i]);
        i += blockDim.x;
    }
    shared[t] = best;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) shared[t] = fmaxf(shared[t], shared[t + s]);
        __syncthreads();
    }
    if (t == 0) out[0] = shared[0];
}

extern "C" __global__ void block_exp_sum(const float* in, const float* best, float* out, int n) {
    __shared__ float part[256];
    int i = GLOBAL, t = threadIdx.x;
    float m = best[0];
    part[t] = (i < n) ? expf(in[i] - m) : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void softmax_apply(const float* in, float* out, int n, const float* best,
                                         const float* total) {
    __shared__ float part[256];
    int i = GLOBAL, t = threadIdx.x;
    float m = best[0], s = total[0];
    if (i < n) part[t] = expf(in[i] - m);
    __syncthreads();
    if (i < n) out[i] = part[t] / s;
}

struct Online {
    float best, sum;
};

__device__ __forceinline__ Online join(Online a, Online b) {
    Online both;
    both.best = fmaxf(a.best, b.best);
    both.sum = a.sum * expf(a.best - both.best) + b.sum * expf(b.best - both.best);
    return both;
}

__device__ __forceinline__ Online over_warp(Online value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        float best = __shfl_down_sync(0xffffffff, value.best, offset);
        float sum = __shfl_down_sync(0xffffffff, value.sum, offset);
        value = join(value, Online{best, sum});
    }
    return value;
}

extern "C" __global__ void online_max_sum(const float* in, float* out_best, float* out_sum, int n) {
    static __shared__ float bests[32];
    static __shared__ float sums[32];
    Online mine = {LOWEST, 0.0f};
    int t = threadIdx.x, stride = blockDim.x * gridDim.x;
    for (int i = GLOBAL; i < n; i += stride) mine = join(mine, Online{in[i], 1.0f});
    mine = over_warp(mine);
    int lane = t % 32, warp = t / 32;
    if (lane == 0) {
        bests[warp] = mine.best;
        sums[warp] = mine.sum;
    }
    __syncthreads();
    Online all = {LOWEST, 0.0f};
    if (t < (blockDim.x / 32)) {
        all.best = bests[t];
        all.sum = sums[t];
    }
    if (warp == 0) {
        all = over_warp(all);
        if (t == 0) {
            out_best[blockIdx.x] = all.best;
            out_sum[blockIdx.x] = all.sum;
        }
    }
}

extern "C" __global__ void block_square_sum(const float* in, float* out, const int n) {
    extern __shared__ float shared[];
    int i = GLOBAL, t = threadIdx.x;
    if (i < n) shared[t] = in[i];
    else shared[t] = 0.0f;
    __syncthreads();
    shared[t] *= shared[t];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) shared[t] += shared[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = shared[0];
}

extern "C" __global__ void rms_apply(const float* in, const float* rms, float gamma, float beta,
                                     float* out, int n) {
    int i = GLOBAL;
    if (i < n) out[i] = gamma * (in[i] / rms[0]) + beta;
}

extern "C" __global__ void block_sum(const float* in, float* out, float n) {
    extern __shared__ float shared[];
    int i = GLOBAL, t = threadIdx.x;
    if (i < n) shared[t] = in[i];
    else shared[t] = 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) shared[t] += shared[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = shared[0];
}

extern "C" __global__ void norm_apply(const float* in, float* out, const float* mean,
                                      const float* deviation, const float gamma, const float beta,
                                      const int n) {
    int i = GLOBAL;
    if (i < n) out[i] = gamma * ((in[i] - *mean) / (*deviation)) + beta;
}

extern "C" __global__ void row_block_max(const float* in, float* out, const int d) {
    extern __shared__ float shared[];
    int i = GLOBAL, row = blockIdx.y, t = threadIdx.x;
    shared[t] = i < d ? in[row * d + i] : NOTHING;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) shared[t] = fmaxf(shared[t], shared[t + s]);
        __syncthreads();
    }
    if (t == 0) out[row * gridDim.x + blockIdx.x] = shared[0];
}

extern "C" __global__ void row_softmax_apply(const float* in, float* out, const float* best,
                                             const float* total, const int n) {
    int i = GLOBAL, row = blockIdx.y;
    if (i < n) out[row * n + i] = expf(in[row * n + i] - best[row]) / total[row];
}

extern "C" __global__ void column_mean(const float* in, float* mean, const int rows,
                                       const int columns) {
    int i = GLOBAL;
    if (i < columns) {
        float sum = 0.0f;
        for (int r = 0; r < rows; ++r) sum += in[r * columns + i];
        mean[i] = sum / rows;
    }
}

extern "C" __global__ void convolution(const float* in, const float* kernel, float* out, int n,
                                       int size) {
    int i = GLOBAL;
    if (i >= n - size + 1) return;
    float sum = 0;
    for (int k = 0; k < size; ++k) sum += in[i + k] * kernel[k];
    out[i] = sum;
}

extern "C" __global__ void convolution_staged(const float* in, const float* kernel, float* out,
                                              int n, int size) {
    const int THREADS = 1024;
    __shared__ float window[THREADS + 2048];
    __shared__ float weights[2048];
    int i = GLOBAL, t = threadIdx.x, count = n - size + 1;
    int first = blockIdx.x * blockDim.x, length = blockDim.x + size - 1;
    for (int k = t; k < length; k += blockDim.x) window[k] = first + k < n ? in[first + k] : 0.0f;
    const int each = (size + THREADS - 1) / THREADS;
    for (int j = 0; j < each && t * each + j < size; ++j)
        weights[t * each + j] = kernel[t * each + j];
    __syncthreads();
    if (i < count) {
        float sum = 0;
        for (int k = 0; k < size; ++k) sum += window[t + k] * weights[k];
        out[i] = sum;
    }
}

// C = A B / scale through 16 x 16 tiles, or A times the transpose of B.
template <bool TRANSPOSED>
__global__ void scaled_product(const float* a, const float* b, float* c, const int m, const int n,
                               const int k, const float scale) {
    const int T = 16;
    __shared__ float tile_a[T][T];
    __shared__ float tile_b[T][T];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * blockDim.x + x, row = blockIdx.y * blockDim.y + y;
    float sum = 0.0f;
    for (int i = 0; i < (k + T - 1) / T; ++i) {
        if (row < m && (i * T + x) < k) tile_a[y][x] = a[row * k + i * T + x];
        else tile_a[y][x] = 0.0f;
        if (TRANSPOSED) {
            if (blockIdx.x * T + y < n && i * T + x < k)
                tile_b[x][y] = b[(blockIdx.x * T + y) * k + i * T + x];
            else tile_b[x][y] = 0.0f;
        } else {
            if (column < n && (i * T + y) < k) tile_b[y][x] = b[(i * T + y) * n + column];
            else tile_b[y][x] = 0.0f;
        }
        __syncthreads();
        for (int j = 0; j < T; ++j) sum += tile_a[y][j] * tile_b[j][x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum / scale;
}
