// Sums of the rows of a float matrix, and softmax of rows.
#define FULL 0xffffffff

extern "C" __global__ void kahan(const float* in, float* out, int m, int n) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m) return;
    in += row * n;
    float sum = 0.0f, error = 0.0f;
    for (int i = 0; i < n; i++) {
        float item = in[i] - error;
        float next = sum + item;
        error = next - sum - item;
        sum = next;
    }
    out[row] = sum;
}

extern "C" __global__ void tree(const float* in, float* out, int m, int n) {
    const int t = threadIdx.x, threads = blockDim.x, i = blockIdx.x * threads + t;
    extern __shared__ float shared[];
    in += blockIdx.y * n;
    shared[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int s = threads / 2; s > 0; s /= 2) {
        if (t < s) shared[t] += shared[t + s];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out + blockIdx.y, shared[0]);
}

__device__ float of_thread(const float* in, int tile, int threads, int t, int end) {
    float sum = 0.0f;
    for (int i = t; i < tile; i += threads)
        if (i < end) sum += in[i];
    return sum;
}

// LAST: how the last warp adds: 0 a tree like the others, 1 volatile, 2 __syncwarp, 3 shuffles.
template <int LAST>
__global__ void coarse(const float* in, float* out, int m, int n, int tile) {
    const int t = threadIdx.x, threads = blockDim.x;
    extern __shared__ float shared[];
    in += blockIdx.y * n + blockIdx.x * tile;
    shared[t] = of_thread(in, tile, threads, t, n - blockIdx.x * tile);
    __syncthreads();
    for (int s = threads / 2; s >= (LAST ? 32 : 1); s /= 2) {
        if (t < s) shared[t] += shared[t + s];
        __syncthreads();
    }
    float sum = LAST ? 0.0f : shared[0];
    if (LAST && t < 32) {
        if (LAST == 1) {
            volatile float* words = shared;
            for (int s = 16; s > 0; s /= 2) words[t] += words[t + s];
            sum = words[t];
        } else if (LAST == 2) {
            for (int s = 16; s > 0; s /= 2) {
                shared[t] += shared[t + s];
                __syncwarp();
            }
            sum = shared[t];
        } else {
            sum = shared[t];
            for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(FULL, sum, s);
        }
    }
    if (t == 0) atomicAdd(out + blockIdx.y, sum);
}

extern "C" __global__ void wide(const float* in, float* out, int m, int n, int tile) {
    const int t = threadIdx.x, threads = blockDim.x;
    extern __shared__ float shared[];
    in += blockIdx.y * n + blockIdx.x * tile;
    float sum = 0.0f;
    for (int i = t * 4; i < tile; i += threads * 4) {
        if (i < n - blockIdx.x * tile) {
            float4 v = reinterpret_cast<const float4*>(&in[i])[0];
            sum += v.x + v.y + v.z + v.w;
        }
    }
    shared[t] = sum;
    __syncthreads();
    for (int s = threads / 2; s >= 32; s /= 2) {
        if (t < s) shared[t] += shared[t + s];
        __syncthreads();
    }
    if (t < 32) {
        sum = shared[t];
        for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(FULL, sum, s);
    }
    if (t == 0) atomicAdd(out + blockIdx.y, sum);
}

struct Pair {
    float best, sum;
};

__device__ __forceinline__ float joined(float a, float b, bool is_max) {
    return is_max ? fmaxf(a, b) : a + b;
}

// Over a block of 1024 threads, with the result in every thread.
__device__ float over_block(float value, bool is_max, float* shared) {
    const int t = threadIdx.x;
    shared[t] = value;
    for (int s = blockDim.x / 2; s >= 32; s /= 2) {
        __syncthreads();
        if (t < s) {
            value = joined(value, shared[t + s], is_max);
            shared[t] = value;
        }
    }
    if (t < 32)
        for (int s = 16; s > 0; s /= 2)
            value = joined(value, __shfl_down_sync(FULL, value, s), is_max);
    if (t == 0) shared[0] = value;
    __syncthreads();
    value = shared[0];
    __syncthreads();
    return value;
}

__device__ void write_row(const float* in, float* out, int n, float best, float total) {
    const float scale = 1.0f / total;
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        float4 v = reinterpret_cast<const float4*>(in)[i];
        v.x = expf(v.x - best) * scale;
        v.y = expf(v.y - best) * scale;
        v.z = expf(v.z - best) * scale;
        v.w = expf(v.w - best) * scale;
        reinterpret_cast<float4*>(out)[i] = v;
    }
}

extern "C" __global__ void softmax_three_passes(const float* in, float* out, int m, int n) {
    extern __shared__ float shared[];
    in += blockIdx.x * n;
    out += blockIdx.x * n;
    float best = -3.402823466e+38f;
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        float4 v = reinterpret_cast<const float4*>(in)[i];
        best = fmaxf(fmaxf(fmaxf(fmaxf(best, v.x), v.y), v.z), v.w);
    }
    best = over_block(best, true, shared);
    float total = 0.0f;
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        float4 v = reinterpret_cast<const float4*>(in)[i];
        total += expf(v.x - best);
        total += expf(v.y - best);
        total += expf(v.z - best);
        total += expf(v.w - best);
    }
    total = over_block(total, false, shared);
    write_row(in, out, n, best, total);
}

__device__ __forceinline__ Pair with(Pair a, float b) {
    float best = fmaxf(a.best, b);
    return {best, a.sum * expf(a.best - best) + expf(b - best)};
}

__device__ __forceinline__ Pair both(Pair a, Pair b) {
    float best = fmaxf(a.best, b.best);
    return {best, a.sum * expf(a.best - best) + b.sum * expf(b.best - best)};
}

extern "C" __global__ void softmax_online(const float* in, float* out, int m, int n) {
    extern __shared__ Pair pairs[];
    const int t = threadIdx.x;
    in += blockIdx.x * n;
    out += blockIdx.x * n;
    Pair mine = {-3.402823466e+38f, 1.0f};
    for (int i = t; i < n / 4; i += blockDim.x) {
        float4 v = reinterpret_cast<const float4*>(in)[i];
        mine = with(with(with(with(mine, v.x), v.y), v.z), v.w);
    }
    pairs[t] = mine;
    for (int s = blockDim.x / 2; s >= 32; s /= 2) {
        __syncthreads();
        if (t < s) {
            mine = both(mine, pairs[t + s]);
            pairs[t] = mine;
        }
    }
    if (t < 32) {
        for (int s = 16; s > 0; s /= 2) {
            float best = __shfl_down_sync(FULL, mine.best, s);
            float sum = __shfl_down_sync(FULL, mine.sum, s);
            mine = both(mine, Pair{best, sum});
        }
    }
    if (t == 0) pairs[0] = mine;
    __syncthreads();
    write_row(in, out, n, pairs[0].best, pairs[0].sum);
}

// One warp a row: a pass for maximum and sum, one to write.
extern "C" __global__ void softmax_by_warp(float* out, const float* in, int rows, int n) {
    int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    const float* x = in + (size_t)row * n;
    float* y = out + (size_t)row * n;
    float best = -3.402823466e+38f, sum = 0.0f;
    for (int i = lane; i < n; i += 32) {
        float v = x[i];
        if (v > best) {
            sum = sum * expf(best - v) + 1.0f;
            best = v;
        } else {
            sum += expf(v - best);
        }
    }
    for (int s = 16; s > 0; s /= 2) {
        __syncwarp();
        float other = __shfl_down_sync(FULL, best, s), more = __shfl_down_sync(FULL, sum, s);
        if (other > best) {
            sum = sum * expf(best - other) + more;
            best = other;
        } else {
            sum += more * expf(other - best);
        }
    }
    best = __shfl_sync(FULL, best, 0);
    sum = __shfl_sync(FULL, sum, 0);
    for (int i = lane; i < n; i += 32) y[i] = expf(x[i] - best) / sum;
}
