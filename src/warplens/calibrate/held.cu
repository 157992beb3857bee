// Kernels that no constant is fitted to: their times before and after show what a calibration is worth.
typedef unsigned u32;

extern "C" __global__ void saxpy(float *y, const float *x, float a, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void strided(float *y, const float *x, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i * 2 % n];
}
extern "C" __global__ void transpose(float *to, const float *from, u32 n) {
    u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (u32 i = 0; i < 32; i += 8) to[x * n + y + i] = from[(y + i) * n + x];
}
extern "C" __global__ void transpose_tiled(float *to, const float *from, u32 n) {
    __shared__ float tile[32][33];
    u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (u32 i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = from[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (u32 i = 0; i < 32; i += 8) to[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}
extern "C" __global__ void reduce(float *out, const float *in, u32 n) {
    __shared__ float sums[256];
    float sum = 0.0f;
    for (u32 i = blockIdx.x * 512 + threadIdx.x; i < n; i += gridDim.x * 512)
        sum += in[i] + (i + 256 < n ? in[i + 256] : 0.0f);
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (u32 s = 128; s; s >>= 1) {
        if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
extern "C" __global__ void stencil(float *to, const float *from, u32 n) {
    u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1) return;
    to[y * n + x] = 0.2f * (from[y * n + x] + from[y * n + x - 1] + from[y * n + x + 1] +
                            from[(y - 1) * n + x] + from[(y + 1) * n + x]);
}
extern "C" __global__ void multiply(float *c, const float *a, const float *b, u32 n) {
    __shared__ float as[32][32], bs[32][32];
    u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    float sum = 0.0f;
    for (u32 t = 0; t < n; t += 32) {
        as[threadIdx.y][threadIdx.x] = a[y * n + t + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + x];
        __syncthreads();
        for (u32 k = 0; k < 32; k++) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
extern "C" __global__ void attract(float *out, const float4 *bodies, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = bodies[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (u32 j = 0; j < n; j++) {
        float4 other = bodies[j];
        float x = other.x - me.x, y = other.y - me.y, z = other.z - me.z;
        float r = rsqrtf(x * x + y * y + z * z + 1e-3f);
        float f = other.w * r * r * r;
        ax += f * x, ay += f * y, az += f * z;
    }
    out[i] = ax + ay + az;
}
extern "C" __global__ void gather(float *out, const float *in, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 at = i * 2654435761u;
    if (i < n) out[i] = in[at % n];
}
extern "C" __global__ void histogram(u32 *bins, const u32 *values, u32 n) {
    __shared__ u32 own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (u32 i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&own[(values[i] * 2654435761u + i) >> 24], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
