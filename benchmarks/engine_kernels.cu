// The kernels of benchmarks/engine.py. Sums wrap; floating point keeps its order.

extern "C" __global__ void ladder(const int* in, int* out, int n) {
    __shared__ int warps[8];
    int t = threadIdx.x, i = (blockIdx.x * 256 + t) * 4, v = 0;
    if (i + 3 < n) {
        int4 q = *(const int4*)(in + i);
        v = (q.x + q.y) + (q.z + q.w);
    }
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
    if (t % 32 == 0) warps[t / 32] = v;
    __syncthreads();
    if (t < 32) {
        v = t < 8 ? warps[t] : 0;
        for (int d = 4; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
        if (t == 0) atomicAdd(out, v);
    }
}

extern "C" __global__ void sequential(const int* in, int* out, int n) {
    __shared__ int part[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, part[0]);
}

extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void spmv(const int* start, const int* column, const float* value,
                                const float* x, float* y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0.0f;
    for (int i = start[r]; i < start[r + 1]; ++i) sum = fmaf(value[i], x[column[i]], sum);
    y[r] = sum;
}

// One warp per row: values and columns of a row are read side by side.
extern "C" __global__ void spmv_vector(const int* start, const int* column, const float* value,
                                       const float* x, float* y, int rows) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= rows) return;
    float sum = 0.0f;
    for (int i = start[r] + lane, end = start[r + 1]; i < end; i += 32)
        sum = fmaf(value[i], x[column[i]], sum);
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) y[r] = sum;
}

__device__ unsigned mix(unsigned k) {
    k ^= k >> 16;
    k *= 0x85ebca6bu;
    k ^= k >> 13;
    k *= 0xc2b2ae35u;
    return k ^ (k >> 16);
}
extern "C" __global__ void hashing(const unsigned* keys, unsigned* table, unsigned mask, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = keys[i], slot = mix(key) & mask;
    for (;;) {
        unsigned old = atomicCAS(&table[slot], 0u, key);
        if (old == 0 || old == key) return;
        slot = (slot + 1) & mask;
    }
}

// 64 x 64 outputs per block of 64 threads, 8 x 8 in the registers of each.
extern "C" __global__ void __launch_bounds__(64) sgemm(const float* a, const float* b, float* c,
                                                       int n) {
    __shared__ float as[8][64], bs[8][64];
    int t = threadIdx.x, tx = t % 8, ty = t / 8, x0 = blockIdx.x * 64, y0 = blockIdx.y * 64;
    float sum[8][8] = {};
    for (int k = 0; k < n; k += 8) {
        for (int i = t; i < 512; i += 64) {
            as[i % 8][i / 8] = a[(y0 + i / 8) * n + k + i % 8];
            bs[i / 64][i % 64] = b[(k + i / 64) * n + x0 + i % 64];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float u[8], v[8];
#pragma unroll
            for (int r = 0; r < 8; r += 4) {
                *(float4*)&u[r] = *(const float4*)&as[i][ty * 8 + r];
                *(float4*)&v[r] = *(const float4*)&bs[i][tx * 8 + r];
            }
#pragma unroll
            for (int r = 0; r < 8; ++r)
#pragma unroll
                for (int s = 0; s < 8; ++s) sum[r][s] = fmaf(u[r], v[s], sum[r][s]);
        }
        __syncthreads();
    }
    for (int r = 0; r < 8; ++r)
        for (int s = 0; s < 8; ++s) c[(y0 + ty * 8 + r) * n + x0 + tx * 8 + s] = sum[r][s];
}

extern "C" __global__ void nbody(const float4* body, float4* force, int n) {
    __shared__ float4 tile[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float4 me = body[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int t = 0; t < n; t += 128) {
        tile[threadIdx.x] = body[t + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 128; ++j) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float r2 = fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, 0.01f)));
            float r = rsqrtf(r2), s = tile[j].w * (r * r * r);
            ax = fmaf(dx, s, ax);
            ay = fmaf(dy, s, ay);
            az = fmaf(dz, s, az);
        }
        __syncthreads();
    }
    force[i] = make_float4(ax, ay, az, 0.0f);
}

extern "C" __global__ void mandelbrot(unsigned short* out, int w, int h, int limit) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y;
    if (px >= w) return;
    float cx = -2.0f + 3.0f * (float)px / (float)w, cy = -1.2f + 2.4f * (float)py / (float)h;
    float x = 0.0f, y = 0.0f;
    int i = 0;
    while (i < limit && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        ++i;
    }
    out[py * w + px] = i;
}
