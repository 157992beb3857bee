// Ten kernels as one would write them: nothing to advise but what the problem itself demands.

__global__ void copy4(const float4* in, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

__global__ void saxpy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i] + y[i];
}

__global__ void gelu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = v / (1.0f + __expf(-1.702f * v));
}

__global__ void polynomial(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], p = 1.0f;
    for (int k = 0; k < 64; k++) p = fmaf(p, v, 0.5f);
    y[i] = p;
}

__global__ void dot(const float* x, float* y, int n) {
    __shared__ float part[8];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum = fmaf(x[i], x[i], sum);
    for (int s = 16; s; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 8) {
        sum = part[threadIdx.x];
        for (int s = 4; s; s /= 2) sum += __shfl_xor_sync(0xff, sum, s);
        if (threadIdx.x == 0) atomicAdd(y, sum);
    }
}

__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) out[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}

__global__ void stencil(const float* in, float* out, int n) {
    __shared__ float tile[256 + 8];
    int i = blockIdx.x * 256 + threadIdx.x;
    tile[threadIdx.x + 4] = in[i];
    if (threadIdx.x < 4) tile[threadIdx.x] = i >= 4 ? in[i - 4] : 0;
    else if (threadIdx.x >= 252) tile[threadIdx.x + 8] = i + 4 < n ? in[i + 4] : 0;
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 9; k++) sum = fmaf(tile[threadIdx.x + k], 0.125f, sum);
    out[i] = sum;
}

// Each thread makes 4 x 4 elements of a 64 x 64 tile.
__global__ void matmul(const float* in, float* out, int n) {
    __shared__ float a[16][64], b[16][64];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    int row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k = 0; k < n; k += 16) {
        for (int i = threadIdx.x; i < 16 * 64; i += 256) {
            a[i / 64][i % 64] = in[(k + i / 64) * n + row + i % 64];
            b[i / 64][i % 64] = in[(k + i / 64) * n + column + i % 64];
        }
        __syncthreads();
        for (int j = 0; j < 16; j++)
            for (int y = 0; y < 4; y++)
                for (int x = 0; x < 4; x++)
                    sum[y][x] = fmaf(a[j][ty + 16 * y], b[j][tx + 16 * x], sum[y][x]);
        __syncthreads();
    }
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            out[(row + ty + 16 * y) * n + column + tx + 16 * x] = sum[y][x];
}

// A warp per row of 128.
__global__ void softmax(const float4* in, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = in[i];
    float top = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
    for (int s = 16; s; s /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, s));
    v.x = __expf(v.x - top), v.y = __expf(v.y - top);
    v.z = __expf(v.z - top), v.w = __expf(v.w - top);
    float sum = v.x + v.y + v.z + v.w;
    for (int s = 16; s; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
    float scale = 1.0f / sum;
    out[i] = make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
}

__global__ void histogram(const int* in, int* out, int n) {
    __shared__ int part[256];
    part[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&part[in[i] & 255], 1);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], part[threadIdx.x]);
}
