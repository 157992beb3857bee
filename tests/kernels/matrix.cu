// Transposes, matrix products and matrix times vector.

extern "C" __global__ void transpose_naive(const float* in, float* out, int w, int h) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < w && y < h) out[x * h + y] = in[y * w + x];
}

template <int PADDING>
__device__ void transpose_tile(const int* in, int* out, int w, int h) {
    __shared__ int tile[32][32 + PADDING];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int r = 0; r < 32; r += 8)
        if (x < w && y + r < h) tile[threadIdx.y + r][threadIdx.x] = in[(y + r) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int r = 0; r < 32; r += 8)
        if (x < h && y + r < w) out[(y + r) * h + x] = tile[threadIdx.x][threadIdx.y + r];
}
extern "C" __global__ void transpose_shared(const int* in, int* out, int w, int h) {
    transpose_tile<0>(in, out, w, h);
}
extern "C" __global__ void transpose_padded(const int* in, int* out, int w, int h) {
    transpose_tile<1>(in, out, w, h);
}

extern "C" __global__ void sgemm_naive(const float* a, const float* b, float* c, int m, int n,
                                       int k) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= m) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum = fmaf(a[y * k + i], b[i * n + x], sum);
    c[y * n + x] = sum;
}

extern "C" __global__ void sgemm_tiled(const float* a, const float* b, float* c, int m, int n,
                                       int k) {
    __shared__ float as[16][16], bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0.0f;
    for (int t = 0; t < k; t += 16) {
        as[ty][tx] = y < m && t + tx < k ? a[y * k + t + tx] : 0.0f;
        bs[ty][tx] = x < n && t + ty < k ? b[(t + ty) * n + x] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum = fmaf(as[ty][i], bs[i][tx], sum);
        __syncthreads();
    }
    if (x < n && y < m) c[y * n + x] = sum;
}

// 32 x 32 outputs per block of 64 threads, 4 x 4 in the registers of each; sizes are multiples.
extern "C" __global__ void sgemm_registers(const float* a, const float* b, float* c, int n, int k) {
    __shared__ float as[8][32], bs[8][32];
    int t = threadIdx.x, tx = t % 8, ty = t / 8, x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;
    float sum[4][4] = {};
    for (int step = 0; step < k; step += 8) {
        for (int i = t; i < 256; i += 64) {
            as[i % 8][i / 8] = a[(y0 + i / 8) * k + step + i % 8];
            bs[i / 32][i % 32] = b[(step + i / 32) * n + x0 + i % 32];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float4 p = *(const float4*)&as[i][ty * 4], q = *(const float4*)&bs[i][tx * 4];
            float u[4] = {p.x, p.y, p.z, p.w}, v[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
            for (int r = 0; r < 4; ++r)
#pragma unroll
                for (int s = 0; s < 4; ++s) sum[r][s] = fmaf(u[r], v[s], sum[r][s]);
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r)
        *(float4*)&c[(y0 + ty * 4 + r) * n + x0 + tx * 4] =
            make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
}

extern "C" __global__ void igemm_dp4a(const int* a, const int* b, int* c, int n, int k4) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= n) return;
    int sum = 0;
    for (int i = 0; i < k4; ++i) sum = __dp4a(a[y * k4 + i], b[x * k4 + i], sum);
    c[y * n + x] = sum;
}

extern "C" __global__ void matvec_warp(const float* a, const float* x, float* y, int rows,
                                       int columns) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32) sum = fmaf(a[row * columns + i], x[i], sum);
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) y[row] = sum;
}

extern "C" __global__ void dgemm_naive(const double* a, const double* b, double* c, int n) {
    int x = threadIdx.x, y = threadIdx.y;
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum = sum + a[y * n + i] * b[i * n + x];
    c[y * n + x] = sum;
}

// In-place LU without pivoting by one block; every division is IEEE.
extern "C" __global__ void lu_factor(double* a, int n) {
    int t = threadIdx.x;
    for (int k = 0; k < n - 1; ++k) {
        if (t > k && t < n) a[t * n + k] = a[t * n + k] / a[k * n + k];
        __syncthreads();
        if (t > k && t < n)
            for (int j = k + 1; j < n; ++j) a[t * n + j] = a[t * n + j] - a[t * n + k] * a[k * n + j];
        __syncthreads();
    }
}
