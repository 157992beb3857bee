// Stencils over lines, planes and volumes, and convolutions with constant memory.

extern "C" __global__ void stencil_line(const float* in, float* out, int n) {
    __shared__ float s[64 + 6];
    int i = blockIdx.x * 64 + threadIdx.x, t = threadIdx.x + 3;
    s[t] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < 3) {
        s[t - 3] = i >= 3 && i - 3 < n ? in[i - 3] : 0.0f;
        s[t + 64] = i + 64 < n ? in[i + 64] : 0.0f;
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0.0f;
    for (int d = -3; d <= 3; ++d) sum += s[t + d];
    out[i] = sum / 7.0f;
}

extern "C" __global__ void stencil_plane(const float* in, float* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1) {
        out[y * w + x] = in[y * w + x];
        return;
    }
    const float* p = in + y * w + x;
    out[y * w + x] = 0.25f * (((p[-1] + p[1]) + p[-w]) + p[w]);
}

extern "C" __global__ void stencil_volume(const double* in, double* out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
    long long i = ((long long)z * ny + y) * nx + x;
    double s = in[i - 1] + in[i + 1];
    s = s + in[i - nx];
    s = s + in[i + nx];
    s = s + in[i - nx * ny];
    s = s + in[i + nx * ny];
    out[i] = s - 6.0 * in[i];
}

__constant__ float weights[25] = {1, 4,  6,  4,  1, 4, 16, 24, 16, 4, 6, 24, 36,
                                  24, 6, 4, 16, 24, 16, 4, 1, 4,  6,  4,  1};

extern "C" __global__ void convolve_plane(const float* in, float* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0.0f;
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) {
            int u = min(max(x + i - 2, 0), w - 1), v = min(max(y + j - 2, 0), h - 1);
            sum = fmaf(weights[j * 5 + i], in[v * w + u], sum);
        }
    out[y * w + x] = sum * (1.0f / 256.0f);
}

extern "C" __global__ void game_of_life(const unsigned char* in, unsigned char* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int alive = 0;
    for (int j = -1; j <= 1; ++j)
        for (int i = -1; i <= 1; ++i)
            if (i || j) alive += in[(y + j + h) % h * w + (x + i + w) % w];
    out[y * w + x] = alive == 3 || (alive == 2 && in[y * w + x]);
}
