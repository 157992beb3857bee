// Mandelbrot, n-body, FFT, softmax, layer norm and other floating-point work.

#include <cuda_fp16.h>

extern "C" __global__ void mandelbrot(unsigned short* out, int w, int h, int limit) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= w || py >= h) return;
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

extern "C" __global__ void julia_double(int* out, int w, int h) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y;
    if (px >= w) return;
    double x = 3.0 * px / w - 1.5, y = 2.0 * py / h - 1.0;
    int i = 0;
    for (; i < 60; ++i) {
        double x2 = x * x, y2 = y * y;
        if (x2 + y2 > 4.0) break;
        y = 2.0 * x * y + 0.27015;
        x = x2 - y2 - 0.7;
    }
    out[py * w + px] = i;
}

extern "C" __global__ void nbody_step(const float4* body, float4* force, int n) {
    __shared__ float4 tile[32];
    int i = blockIdx.x * 32 + threadIdx.x;
    float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int t = 0; t < n; t += 32) {
        tile[threadIdx.x] = t + threadIdx.x < n ? body[t + threadIdx.x] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int j = 0; j < 32; ++j) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float r2 = fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, 0.01f)));
            float r = sqrtf(r2), s = tile[j].w / (r2 * r);
            ax = fmaf(dx, s, ax);
            ay = fmaf(dy, s, ay);
            az = fmaf(dz, s, az);
        }
        __syncthreads();
    }
    if (i < n) force[i] = make_float4(ax, ay, az, 0.0f);
}

// Radix-2 with twiddles from memory, 64 points per block of 32 threads.
extern "C" __global__ void fft_block(const float2* in, float2* out, const float2* twiddle) {
    __shared__ float2 s[64];
    int t = threadIdx.x;
    const float2* src = in + blockIdx.x * 64;
    s[__brev(t) >> 26] = src[t];
    s[__brev(t + 32) >> 26] = src[t + 32];
    for (int half = 1; half < 64; half *= 2) {
        __syncthreads();
        int k = t & (half - 1), i = 2 * (t - k) + k, j = i + half;
        float2 w = twiddle[k * (32 / half)], a = s[i], b = s[j];
        float re = w.x * b.x - w.y * b.y, im = w.x * b.y + w.y * b.x;
        s[i] = make_float2(a.x + re, a.y + im);
        s[j] = make_float2(a.x - re, a.y - im);
    }
    __syncthreads();
    out[blockIdx.x * 64 + t] = s[t];
    out[blockIdx.x * 64 + t + 32] = s[t + 32];
}

extern "C" __global__ void walsh_hadamard(int* data) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = data[blockIdx.x * 128 + t];
    for (int h = 1; h < 128; h *= 2) {
        __syncthreads();
        int a = s[t & ~h], b = s[t | h];
        __syncthreads();
        s[t] = t & h ? a - b : a + b;
    }
    data[blockIdx.x * 128 + t] = s[t];
}

extern "C" __global__ void softmax_rows(const float* in, float* out, int n) {
    const float* row = in + blockIdx.x * n;
    int lane = threadIdx.x;
    float top = __int_as_float(0xff800000);
    for (int i = lane; i < n; i += 32) top = fmaxf(top, row[i]);
    for (int d = 16; d; d /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    float sum = 0.0f;
    for (int i = lane; i < n; i += 32) sum += expf(row[i] - top);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    for (int i = lane; i < n; i += 32) out[blockIdx.x * n + i] = expf(row[i] - top) / sum;
}

extern "C" __global__ void layer_norm(const float* in, const float* gain, float* out, int n) {
    __shared__ float s[64];
    const float* row = in + blockIdx.x * n;
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < n; i += 64) sum += row[i];
    s[t] = sum;
    __syncthreads();
    for (int h = 32; h; h /= 2) {
        if (t < h) s[t] += s[t + h];
        __syncthreads();
    }
    float mean = s[0] / (float)n;
    __syncthreads();
    sum = 0.0f;
    for (int i = t; i < n; i += 64) sum += (row[i] - mean) * (row[i] - mean);
    s[t] = sum;
    __syncthreads();
    for (int h = 32; h; h /= 2) {
        if (t < h) s[t] += s[t + h];
        __syncthreads();
    }
    float scale = 1.0f / sqrtf(s[0] / (float)n + 1e-5f);
    for (int i = t; i < n; i += 64) out[blockIdx.x * n + i] = (row[i] - mean) * scale * gain[i];
}

extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

extern "C" __global__ void horner_double(const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i], p = 1.0 / 3628800.0;
    for (int k = 9; k >= 0; --k) {
        double c = 1.0;
        for (int f = 2; f <= k; ++f) c *= f;
        p = p * v + 1.0 / c;
    }
    y[i] = p;
}

extern "C" __global__ void newton_roots(const double* in, double* out, int* steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a = in[i], x = a > 1.0 ? a : 1.0;
    int count = 0;
    for (;;) {
        double next = 0.5 * (x + a / x);
        ++count;
        if (next >= x || count > 100) break;
        x = next;
    }
    out[i] = x;
    steps[i] = count;
}

extern "C" __global__ void gaussian_blur_rows(const uchar4* in, uchar4* out, int w) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x >= w) return;
    uchar4 l = in[y * w + max(x - 1, 0)], c = in[y * w + x], r = in[y * w + min(x + 1, w - 1)];
    out[y * w + x] = make_uchar4((l.x + 2 * c.x + r.x + 2) >> 2, (l.y + 2 * c.y + r.y + 2) >> 2,
                                 (l.z + 2 * c.z + r.z + 2) >> 2, c.w);
}

extern "C" __global__ void half_chain(const __half2* in, unsigned* last, unsigned* between,
                                      int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 x = in[i], y = in[n + i];
    for (int k = 0; k < 3; ++k) {
        y = __hadd2_rn(__hmul2_rn(x, y), x);
        y = __hmul2_rn(y, __hadd2_rn(y, x));
        between[i] = between[i] * 3 + *reinterpret_cast<unsigned*>(&y);
        y = __hadd2_rn(y, in[2 * n + i]);
    }
    last[i] = *reinterpret_cast<unsigned*>(&y);
}
