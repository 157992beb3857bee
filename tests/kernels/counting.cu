// Histograms, sparse products, graphs and Monte Carlo: irregular access and integer atomics.

extern "C" __global__ void histogram_global(const unsigned char* in, unsigned* bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1u);
}

extern "C" __global__ void histogram_shared(const unsigned char* in, unsigned* bins, int n) {
    __shared__ unsigned local[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (local[b]) atomicAdd(&bins[b], local[b]);
}

// One atomic per distinct value and warp.
extern "C" __global__ void histogram_match(const unsigned char* in, unsigned* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned active = __ballot_sync(0xffffffffu, i < n);
    if (i >= n) return;
    unsigned peers = __match_any_sync(active, (int)in[i]);
    if (threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(&bins[in[i]], (unsigned)__popc(peers));
}

extern "C" __global__ void spmv_scalar(const int* start, const int* column, const float* value,
                                       const float* x, float* y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0.0f;
    for (int i = start[r]; i < start[r + 1]; ++i) sum = fmaf(value[i], x[column[i]], sum);
    y[r] = sum;
}

extern "C" __global__ void spmv_vector(const int* start, const int* column, const double* value,
                                       const double* x, double* y, int rows) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= rows) return;
    double sum = 0.0;
    for (int i = start[r] + lane; i < start[r + 1]; i += 32) sum += value[i] * x[column[i]];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) y[r] = sum;
}

// Breadth-first search by one block with a queue in global memory.
extern "C" __global__ void bfs_queue(const int* start, const int* next, int* depth, int* queue,
                                     int source) {
    __shared__ int head, tail, end;
    if (threadIdx.x == 0) {
        queue[0] = source;
        depth[source] = 0;
        head = 0;
        tail = end = 1;
    }
    __syncthreads();
    while (head < end) {
        for (int q = head + threadIdx.x; q < end; q += blockDim.x) {
            int v = queue[q];
            for (int e = start[v]; e < start[v + 1]; ++e)
                if (atomicCAS(&depth[next[e]], -1, depth[v] + 1) == -1)
                    queue[atomicAdd(&tail, 1)] = next[e];
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            head = end;
            end = tail;
        }
        __syncthreads();
    }
}

__device__ unsigned find_root(volatile unsigned* parent, unsigned v) {
    while (parent[v] != v) v = parent[v];
    return v;
}
// Connected components: hooks larger roots under smaller ones.
extern "C" __global__ void components(const unsigned* from, const unsigned* to, unsigned* parent,
                                      int edges) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= edges) return;
    unsigned a = find_root(parent, from[i]), b = find_root(parent, to[i]);
    while (a != b) {
        if (a < b) {
            unsigned t = a;
            a = b;
            b = t;
        }
        unsigned old = atomicCAS(&parent[a], a, b);
        if (old == a) break;
        a = find_root(parent, old);
        b = find_root(parent, b);
    }
}
extern "C" __global__ void components_flatten(unsigned* parent, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) parent[i] = find_root(parent, i);
}

extern "C" __global__ void monte_carlo(unsigned long long* inside, int tries) {
    unsigned s = 12345u + 977u * (blockIdx.x * blockDim.x + threadIdx.x);
    unsigned hits = 0;
    for (int i = 0; i < tries; ++i) {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        unsigned x = s & 0xffff, y = s >> 16;
        unsigned long long r = (unsigned long long)x * x + (unsigned long long)y * y;
        if (r < 0x100000000ull) ++hits;
    }
    atomicAdd(inside, (unsigned long long)hits);
}

// Each thread takes items from a shared counter until there are none.
extern "C" __global__ void work_queue(int* counter, const int* work, long long* done, int items) {
    for (;;) {
        int i = atomicAdd(counter, 1);
        if (i >= items) return;
        long long v = 1;
        for (int k = 0; k < work[i]; ++k) v = v * 3 + i;
        done[i] += v;
    }
}
