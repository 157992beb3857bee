// The kernels of benchmarks/user.py: one of each kind that users write, as short as they can be.
#include <cuda_fp16.h>
#include <mma.h>

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

__device__ unsigned mixed(unsigned k) {
    k ^= k >> 16;
    k *= 0x85ebca6bu;
    k ^= k >> 13;
    k *= 0xc2b2ae35u;
    return k ^ (k >> 16);
}

// --- arithmetic ---------------------------------------------------------------------------------

extern "C" __global__ void polynomial(const float* in, float* out, int n, int terms) {
    float x = in[INDEX], y = 0.5f, z = 0.25f;
    for (int i = 0; i < terms; ++i) {
        y = fmaf(y, x, 0.3f);
        z = fmaf(z, y, 0.1f);
    }
    out[INDEX] = y + z;
}

extern "C" __global__ void blackscholes(const float* s, const float* k, float* call, int n) {
    int i = INDEX;
    float d = (logf(s[i] / k[i]) + 0.06f) / 0.2f, e = d - 0.2f;
    call[i] = s[i] * normcdff(d) - k[i] * expf(-0.02f) * normcdff(e);
}

extern "C" __global__ void xorshift(unsigned* out, int rounds) {
    unsigned x = INDEX * 2654435761u + 1u, sum = 0;
    for (int i = 0; i < rounds; ++i) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        sum += x >> 7;
    }
    out[INDEX] = sum;
}

extern "C" __global__ void doubles(const double* in, double* out, int terms) {
    double x = in[INDEX], y = 0.5;
    for (int i = 0; i < terms; ++i) y = fma(y, x, 0.3) * 0.999;
    out[INDEX] = y;
}

extern "C" __global__ void halves(const __half2* in, __half2* out, int terms) {
    __half2 x = in[INDEX], y = x;
    for (int i = 0; i < terms; ++i) y = __hfma2(y, x, __hmul2(x, x));
    out[INDEX] = y;
}

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
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int r = 0; r < 8; ++r)
#pragma unroll
                for (int s = 0; s < 8; ++s)
                    sum[r][s] = fmaf(as[i][ty * 8 + r], bs[i][tx * 8 + s], sum[r][s]);
        __syncthreads();
    }
    for (int r = 0; r < 8; ++r)
        for (int s = 0; s < 8; ++s) c[(y0 + ty * 8 + r) * n + x0 + tx * 8 + s] = sum[r][s];
}

extern "C" __global__ void naive_product(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum = fmaf(a[y * n + k], b[k * n + x], sum);
    c[y * n + x] = sum;
}

extern "C" __global__ void tensor_product(const __half* a, const __half* b, float* c, int n) {
    using namespace nvcuda::wmma;
    int warp = threadIdx.x / 32, x = (blockIdx.x * 4 + warp) * 16, y = blockIdx.y * 16;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, row_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    fill_fragment(fc, 0.0f);
    for (int k = 0; k < n; k += 16) {
        load_matrix_sync(fa, a + y * n + k, n);
        load_matrix_sync(fb, b + k * n + x, n);
        mma_sync(fc, fa, fb, fc);
    }
    store_matrix_sync(c + y * n + x, fc, n, mem_row_major);
}

// --- memory -------------------------------------------------------------------------------------

extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
    if (INDEX < n) y[INDEX] = fmaf(a, x[INDEX], y[INDEX]);
}

extern "C" __global__ void copy_wide(const float4* in, float4* out, int n) {
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
}

extern "C" __global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) out[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void stencil(const float* in, float* out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1, w = n + 2;
    const float* p = in + y * w + x;
    out[y * w + x] = 0.2f * (p[0] + p[1] + p[-1] + p[w] + p[-w]);
}

extern "C" __global__ void gather(const float* in, const int* index, float* out, int n) {
    if (INDEX < n) out[INDEX] = in[index[INDEX]];
}

extern "C" __global__ void scatter(const float* in, const int* index, float* out, int n) {
    if (INDEX < n) out[index[INDEX]] = in[INDEX];
}

extern "C" __global__ void spmv(const int* start, const int* column, const float* value,
                                const float* x, float* y, int rows) {
    int r = INDEX;
    if (r >= rows) return;
    float sum = 0.0f;
    for (int i = start[r]; i < start[r + 1]; ++i) sum = fmaf(value[i], x[column[i]], sum);
    y[r] = sum;
}

extern "C" __global__ void grey(const uchar3* in, unsigned char* out, int n) {
    int i = INDEX;
    if (i < n) out[i] = (in[i].x * 77 + in[i].y * 150 + in[i].z * 29) >> 8;
}

extern "C" __global__ void search(const char* text, const char* word, int length, int n,
                                  int* found) {
    int i = INDEX, k = 0;
    if (i + length > n) return;
    while (k < length && text[i + k] == word[k]) ++k;
    if (k == length) atomicAdd(found, 1);
}

extern "C" __global__ void samples(const short* in, short* out, int n) {
    int i = INDEX;
    if (i > 0 && i + 1 < n) out[i] = (in[i - 1] + 2 * in[i] + in[i + 1]) / 4;
}

__constant__ float filter[17];
extern "C" __global__ void convolution(const float* in, float* out, int n) {
    __shared__ float part[256 + 16];
    int t = threadIdx.x, i = INDEX;
    part[t] = in[i];
    if (t < 16) part[256 + t] = in[i + 256];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 17; ++k) sum = fmaf(filter[k], part[t + k], sum);
    out[i] = sum;
}

// --- shared memory and atomics ------------------------------------------------------------------

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
    int t = threadIdx.x;
    part[t] = INDEX < n ? in[INDEX] : 0;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, part[0]);
}

extern "C" __global__ void scan(const int* in, int* out) {
    __shared__ int part[2][256];
    int t = threadIdx.x, from = 0;
    part[0][t] = in[INDEX];
    for (int d = 1; d < 256; d *= 2, from = 1 - from) {
        __syncthreads();
        part[1 - from][t] = part[from][t] + (t >= d ? part[from][t - d] : 0);
    }
    out[INDEX] = part[from][t];
}

extern "C" __global__ void bitonic(int* data) {
    __shared__ int s[512];
    int t = threadIdx.x, base = blockIdx.x * 512;
    s[t] = data[base + t];
    s[t + 256] = data[base + t + 256];
    for (int k = 2; k <= 512; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            int i = 2 * t - (t & (j - 1)), a = s[i], b = s[i + j];
            if ((a > b) == ((i & k) == 0)) s[i] = b, s[i + j] = a;
        }
    __syncthreads();
    data[base + t] = s[t];
    data[base + t + 256] = s[t + 256];
}

extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = INDEX; i < n; i += gridDim.x * 256) atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void global_histogram(const unsigned* in, unsigned* bins, int n) {
    if (INDEX < n) atomicAdd(&bins[in[INDEX] & 4095], 1u);
}

extern "C" __global__ void hashing(const unsigned* keys, unsigned* table, unsigned mask, int n) {
    int i = INDEX;
    if (i >= n) return;
    unsigned key = keys[i], slot = mixed(key) & mask;
    for (;;) {
        unsigned old = atomicCAS(&table[slot], 0u, key);
        if (old == 0 || old == key) return;
        slot = (slot + 1) & mask;
    }
}

extern "C" __global__ void compaction(const int* in, int* out, int* count, int n) {
    int i = INDEX, lane = threadIdx.x % 32, base = 0;
    bool keep = i < n && in[i] > 0;
    unsigned who = __ballot_sync(~0u, keep);
    if (lane == 0) base = atomicAdd(count, __popc(who));
    base = __shfl_sync(~0u, base, 0);
    if (keep) out[base + __popc(who & ((1u << lane) - 1))] = in[i];
}

// --- divergence ---------------------------------------------------------------------------------

extern "C" __global__ void mandelbrot(unsigned short* out, int w, int h, int limit) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y;
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

extern "C" __global__ void collatz(unsigned* out) {
    unsigned x = INDEX + 1, steps = 0;
    while (x != 1) {
        x = x % 2 ? 3 * x + 1 : x / 2;
        ++steps;
    }
    out[INDEX] = steps;
}

extern "C" __global__ void bisection(const int* sorted, const int* keys, int* out, int n) {
    int low = 0, high = n, key = keys[INDEX];
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < key) low = middle + 1;
        else high = middle;
    }
    out[INDEX] = low;
}
