// One pass over vectors: sums, strided reads, and loops of dependent arithmetic.

extern "C" __global__ void add_int(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void add_size(const float* a, const float* b, float* c, unsigned long n) {
    unsigned long i = (unsigned long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__device__ __forceinline__ float4 sum(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

extern "C" __global__ void add_wide(const float4* a, const float4* b, float4* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) c[i] = sum(a[i], b[i]);
}

// Four quads a thread, next to each other: the lanes of a warp are 64 bytes apart.
extern "C" __global__ void add_four_near(const float4* a, const float4* b, float4* c, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 < n / 4) {
        float4 x0 = a[i], x1 = a[i + 1], x2 = a[i + 2], x3 = a[i + 3];
        float4 y0 = b[i], y1 = b[i + 1], y2 = b[i + 2], y3 = b[i + 3];
        c[i] = sum(x0, y0);
        c[i + 1] = sum(x1, y1);
        c[i + 2] = sum(x2, y2);
        c[i + 3] = sum(x3, y3);
    }
}

// Four quads a thread, a whole grid apart: the lanes of a warp are next to each other.
extern "C" __global__ void add_four_far(const float4* a, const float4* b, float4* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int at = i + j * threads;
        if (at < n / 4) c[at] = sum(a[at], b[at]);
    }
}

extern "C" __global__ void copy_strided(const int* in, int* out, int n, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i * stride];
}

extern "C" __global__ void add_matrix_rows(const unsigned (*a)[1024], const unsigned (*b)[1024],
                                           unsigned (*c)[1024]) {
    size_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1024 && y < 1024) c[x][y] = a[x][y] + b[x][y];
}

extern "C" __global__ void add_matrix_columns(const unsigned (*a)[1024],
                                              const unsigned (*b)[1024], unsigned (*c)[1024]) {
    size_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1024 && y < 1024) c[y][x] = a[y][x] + b[y][x];
}

extern "C" __global__ void chain(float* out, float seed, int n) {
    float a = seed + threadIdx.x, b = seed - threadIdx.x;
    for (int i = 0; i < n; i++) a = a * b + a;
    out[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

__device__ float heavy(float x, int n) {
    volatile float v = x;
    for (int i = 0; i < n; i++) {
        v = v * v + 0.0001f;
        if (v > 1000.0f) v = x;
    }
    return v;
}

extern "C" __global__ void by_lane(float* out, int limit, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= limit) return;
    if (threadIdx.x % 2 == 0) out[i] = heavy(2.0f, n);
    else out[i] = heavy(3.0f, n);
}

extern "C" __global__ void by_warp(float* out, int limit, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= limit) return;
    if ((threadIdx.x / 32) % 2 == 0) out[i] = heavy(2.0f, n);
    else out[i] = heavy(3.0f, n);
}
