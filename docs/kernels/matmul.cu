// c = a * b for n x n matrices of float; n is a multiple of 64.

__global__ void one_each(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

// 16 x 16 threads share tiles of 16 x 16.
__global__ void tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float ta[16][16], tb[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        ta[ty][tx] = a[y * n + k + tx];
        tb[ty][tx] = b[(k + ty) * n + x];
        __syncthreads();
        for (int j = 0; j < 16; j++) sum += ta[ty][j] * tb[j][tx];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

// Each of 256 threads makes 4 x 4 elements of a 64 x 64 tile, in registers.
__global__ void registers(const float* a, const float* b, float* c, int n) {
    __shared__ float ta[16][68], tb[16][64];
    int t = threadIdx.x, tx = t % 16, ty = t / 16, x0 = blockIdx.x * 64, y0 = blockIdx.y * 64;
    float sum[4][4] = {};
    for (int k = 0; k < n; k += 16) {
        for (int i = t; i < 1024; i += 256) {
            ta[i % 16][i / 16] = a[(y0 + i / 16) * n + k + i % 16];
            tb[i / 64][i % 64] = b[(k + i / 64) * n + x0 + i % 64];
        }
        __syncthreads();
        for (int j = 0; j < 16; j++)
            for (int y = 0; y < 4; y++)
                for (int x = 0; x < 4; x++)
                    sum[y][x] += ta[j][ty * 4 + y] * tb[j][tx + 16 * x];
        __syncthreads();
    }
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) c[(y0 + ty * 4 + y) * n + x0 + tx + 16 * x] = sum[y][x];
}
