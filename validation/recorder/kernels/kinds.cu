// Small kernels of many kinds: histograms, triangles, scans, products, rows, local arrays, launches.
typedef unsigned u32;
#include <mma.h>
using namespace nvcuda;
extern "C" {
__global__ void shared_hist_f(const u32* x, float* o, int n, int bins) {
    extern __shared__ float h[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x) h[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&h[x[i] % bins], 1.5f);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd(o + i, h[i]);
}
__global__ void shared_hist_i(const u32* x, int* o, int n, int bins) {
    extern __shared__ int hi[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x) hi[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&hi[x[i] % bins], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd(o + i, hi[i]);
}
__global__ void global_hist(const u32* x, int* o, int n, int bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(o + x[i] % bins, 1);
}
__global__ void global_hist_f(const u32* x, float* o, int n, int bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(o + x[i] % bins, 1.5f);
}
__global__ void skewed_f(const u32* x, float* o, int n, int bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float u = (x[i] >> 8) * (1.f / 16777216.f);
        atomicAdd(o + (int)(u * u * u * bins), u);
    }
}
__global__ void sum_atomic(const float* x, float* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = i < n ? x[i] : 0;
    for (int k = 16; k; k /= 2) s += __shfl_down_sync(~0u, s, k);
    if ((threadIdx.x & 31) == 0) atomicAdd(o, s);
}
__global__ void bfs_like(const u32* flags, const u32* edges, u32* o, int n, int degree) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (flags[i] % 500 == 0) {
        for (int k = 0; k < degree; k++) {
            u32 e = edges[(i * degree + k) % n] % n;
            o[e] = flags[e];
        }
    }
}
__global__ void local_array(const float* x, float* o, int n) {
    float a[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 64; k++) a[k] = x[(i + k * 1024) % n];
    float s = 0;
    for (int k = 0; k < 64; k++) {
        int j = ((int)(a[k] * 1000.f)) & 63;
        a[j] += a[k];
        s += a[(k * 7 + i) & 63];
    }
    o[i] = s;
}
__global__ void bytes(const unsigned char* x, unsigned char* o, int w, int h) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 2 || r < 2 || c >= w - 2 || r >= h - 2) return;
    int s = 0;
    for (int a = -2; a <= 2; a++)
        for (int b = -2; b <= 2; b++) s += x[(r + a) * w + c + b];
    o[r * w + c] = s / 25;
}
__global__ void naive_mm(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}
__global__ void naive_mm_swapped(const float* a, const float* b, float* c, int n) {
    int y = blockIdx.x * blockDim.x + threadIdx.x, x = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}
__global__ void tri_mm(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (blockIdx.x > blockIdx.y) return;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[x * n + k];
    c[y * n + x] = s;
}
__global__ void tri_rows(const float* a, float* c, int n) {
    int y = blockIdx.x;
    float s = 0;
    for (int k = threadIdx.x; k <= y; k += blockDim.x) s += expf(a[(size_t)y * n + k]);
    __shared__ float r[32];
    for (int k = 16; k; k /= 2) s += __shfl_down_sync(~0u, s, k);
    if ((threadIdx.x & 31) == 0) r[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = threadIdx.x < blockDim.x / 32 ? r[threadIdx.x] : 0;
        for (int k = 16; k; k /= 2) s += __shfl_down_sync(~0u, s, k);
        if (!threadIdx.x) r[0] = s;
    }
    __syncthreads();
    s = 1 / r[0];
    for (int k = threadIdx.x; k <= y; k += blockDim.x)
        c[(size_t)y * n + k] = expf(a[(size_t)y * n + k]) * s;
}
__global__ void causal(const float* q, const float* k, float* o, int T) {
    int h = blockIdx.y, t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= T) return;
    float m = -1e9f, l = 0, acc = 0;
    const float* qq = q + (h * T + t) * 16;
    float r[16];
    for (int d = 0; d < 16; d++) r[d] = qq[d];
    for (int s = 0; s <= t; s++) {
        const float* kk = k + (h * T + s) * 16;
        float z = 0;
        for (int d = 0; d < 16; d++) z += r[d] * kk[d];
        float mm = fmaxf(m, z);
        l = l * expf(m - mm) + expf(z - mm);
        m = mm;
        acc += z;
    }
    o[h * T + t] = l + acc;
}
__global__ void softmax_warp(const float* x, float* o, int rows, int c) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, l = threadIdx.x & 31;
    if (row >= rows) return;
    x += (size_t)row * c;
    o += (size_t)row * c;
    float m = -1e30f;
    for (int i = l; i < c; i += 32) m = fmaxf(m, x[i]);
    for (int k = 16; k; k /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
    float s = 0;
    for (int i = l; i < c; i += 32) s += expf(x[i] - m);
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    s = 1 / s;
    for (int i = l; i < c; i += 32) o[i] = expf(x[i] - m) * s;
}
__global__ void layernorm_block(const float* x, const float* w, const float* b, float* o, int c) {
    const float* p = x + (size_t)blockIdx.x * c;
    float s = 0, t = 0;
    for (int i = threadIdx.x; i < c; i += blockDim.x) {
        float v = p[i];
        s += v;
        t += v * v;
    }
    __shared__ float r[64];
    for (int k = 16; k; k /= 2) {
        s += __shfl_xor_sync(~0u, s, k);
        t += __shfl_xor_sync(~0u, t, k);
    }
    if (!(threadIdx.x & 31)) {
        r[threadIdx.x / 32] = s;
        r[32 + threadIdx.x / 32] = t;
    }
    __syncthreads();
    s = t = 0;
    for (int i = 0; i < blockDim.x / 32; i++) {
        s += r[i];
        t += r[32 + i];
    }
    float m = s / c, v = rsqrtf(t / c - m * m + 1e-5f);
    for (int i = threadIdx.x; i < c; i += blockDim.x)
        o[(size_t)blockIdx.x * c + i] = (p[i] - m) * v * w[i] + b[i];
}
__global__ void column_store(const float* x, float* o, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    o[c * n + r] = x[r * n + c];
}
__global__ void axpby(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void axpby4(const float4* x, float4* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 u = x[i], v = y[i];
        v.x += a * u.x;
        v.y += a * u.y;
        v.z += a * u.z;
        v.w += a * u.w;
        y[i] = v;
    }
}
__global__ void stride_loop(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i] * 2;
}
__global__ void nothing(float* x, int n) {
    if (n == 12345) x[0] = 1;
}
__global__ void optimizer(float* p, const float* g, float* m, float* v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = g[i], b = m[i] * 0.9f + a * 0.1f, c = v[i] * 0.999f + a * a * 0.001f;
    m[i] = b;
    v[i] = c;
    p[i] -= 0.01f * b / (sqrtf(c) + 1e-8f);
}
__global__ void scan_block(const float* x, float* o) {
    __shared__ float s[2048];
    int t = threadIdx.x;
    size_t g = (size_t)blockIdx.x * 2048;
    s[t] = x[g + t];
    s[t + 1024] = x[g + t + 1024];
    int off = 1;
    for (int d = 1024; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int a = off * (2 * t + 1) - 1, b = off * (2 * t + 2) - 1;
            s[b] += s[a];
        }
        off *= 2;
    }
    if (!t) s[2047] = 0;
    for (int d = 1; d < 2048; d *= 2) {
        off >>= 1;
        __syncthreads();
        if (t < d) {
            int a = off * (2 * t + 1) - 1, b = off * (2 * t + 2) - 1;
            float u = s[a];
            s[a] = s[b];
            s[b] += u;
        }
    }
    __syncthreads();
    o[g + t] = s[t];
    o[g + t + 1024] = s[t + 1024];
}
__global__ void dct8(const float* x, float* o, int w) {
    __shared__ float s[8][8 * 8 + 1];
    int tx = threadIdx.x, ty = threadIdx.y, b = threadIdx.z;
    int c = (blockIdx.x * 8 + b) * 8 + tx, r = blockIdx.y * 8 + ty;
    s[ty][b * 8 + tx] = x[r * w + c];
    __syncthreads();
    float v = 0;
    for (int k = 0; k < 8; k++) v += s[ty][b * 8 + k] * cosf((2 * k + 1) * tx * 0.19634954f);
    __syncthreads();
    s[ty][b * 8 + tx] = v;
    __syncthreads();
    v = 0;
    for (int k = 0; k < 8; k++) v += s[k][b * 8 + tx] * cosf((2 * k + 1) * ty * 0.19634954f);
    o[r * w + c] = v;
}
__global__ void nbody(const float4* p, float4* o, int n) {
    __shared__ float4 s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 me = p[i];
    float ax = 0, ay = 0, az = 0;
    for (int t = 0; t < n; t += 256) {
        s[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
#pragma unroll 16
        for (int j = 0; j < 256; j++) {
            float4 q = s[j];
            float dx = q.x - me.x, dy = q.y - me.y, dz = q.z - me.z,
                  d = dx * dx + dy * dy + dz * dz + 0.01f, r = rsqrtf(d), f = q.w * r * r * r;
            ax += f * dx;
            ay += f * dy;
            az += f * dz;
        }
        __syncthreads();
    }
    o[i] = make_float4(ax, ay, az, 0);
}
__global__ void gemv_rows(const float* a, const float* x, float* y, int n) {
    int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, l = threadIdx.x & 31;
    float s = 0;
    for (int k = l; k < n; k += 32) s += a[(size_t)r * n + k] * x[k];
    for (int k = 16; k; k /= 2) s += __shfl_down_sync(~0u, s, k);
    if (!l) y[r] = s;
}
__global__ void gather(const u32* idx, const float* x, float* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    o[i] = x[idx[i] % n];
}
__global__ void conv_const(const float* x, float* o, const float* k, int w) {
    int c = blockIdx.x * blockDim.x + threadIdx.x + 8,
        r = blockIdx.y * blockDim.y + threadIdx.y + 8;
    float s = 0;
#pragma unroll
    for (int a = -8; a <= 8; a++)
#pragma unroll
        for (int b = -8; b <= 8; b++) s += x[(r + a) * w + c + b] * k[(a + 8) * 17 + b + 8];
    o[r * w + c] = s;
}
__global__ void tiled32(const float* a, const float* b, float* c, int n) {
    __shared__ float s[32][32], t[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    float v = 0;
    for (int k = 0; k < n; k += 32) {
        s[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int j = 0; j < 32; j++) v += s[threadIdx.y][j] * t[j][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = v;
}
__global__ void wmma_tf32(const float* a, const float* b, float* c, int n) {
    int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, tn = n / 16;
    int r = w / tn * 16, q = w % tn * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc;
    wmma::fill_fragment(acc, 0.f);
    for (int k = 0; k < n; k += 8) {
        wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, a + r * n + k, n);
        wmma::load_matrix_sync(fb, b + k * n + q, n);
        for (int i = 0; i < fa.num_elements; i++) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
        for (int i = 0; i < fb.num_elements; i++) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    wmma::store_matrix_sync(c + r * n + q, acc, n, wmma::mem_row_major);
}
__global__ void wmma_smem(const float* a, const float* b, float* c, int n) {
    __shared__ float sa[64][36], sb[32][68];
    int wid = threadIdx.x / 32;
    int br = blockIdx.y * 64, bc = blockIdx.x * 64;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc[2];
    for (int i = 0; i < 2; i++) wmma::fill_fragment(acc[i], 0.f);
    for (int k = 0; k < n; k += 32) {
        for (int i = threadIdx.x; i < 512; i += 256) {
            *(float4*)&sa[i / 8][i % 8 * 4] = *(const float4*)&a[(br + i / 8) * n + k + i % 8 * 4];
            *(float4*)&sb[i / 16][i % 16 * 4] =
                *(const float4*)&b[(k + i / 16) * n + bc + i % 16 * 4];
        }
        __syncthreads();
        for (int kk = 0; kk < 32; kk += 8) {
            wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
            wmma::load_matrix_sync(fa, &sa[wid / 2 * 16][kk], 36);
            for (int i = 0; i < fa.num_elements; i++) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
            for (int j = 0; j < 2; j++) {
                wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major>
                    fb;
                wmma::load_matrix_sync(fb, &sb[kk][(wid % 2 * 2 + j) * 16], 68);
                for (int i = 0; i < fb.num_elements; i++) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
                wmma::mma_sync(acc[j], fa, fb, acc[j]);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 2; j++)
        wmma::store_matrix_sync(c + (br + wid / 2 * 16) * n + bc + (wid % 2 * 2 + j) * 16, acc[j],
                                n, wmma::mem_row_major);
}
__global__ void dmma(const double* a, const double* b, double* c, int n) {
    int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, tn = n / 8;
    int r = w / tn * 8, q = w % tn * 8;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> acc;
    wmma::fill_fragment(acc, 0.0);
    for (int k = 0; k < n; k += 4) {
        wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, a + r * n + k, n);
        wmma::load_matrix_sync(fb, b + k * n + q, n);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    wmma::store_matrix_sync(c + r * n + q, acc, n, wmma::mem_row_major);
}
__global__ void __launch_bounds__(256, 8) spills(const float* x, float* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[48];
#pragma unroll
    for (int k = 0; k < 48; k++) v[k] = x[(i + k * 4096) % n];
    for (int t = 0; t < 8; t++) {
#pragma unroll
        for (int k = 0; k < 48; k++)
            v[k] = v[k] * v[(k * 5 + t) % 48 ? (k + 7) % 48 : k] + v[(k + 13) % 48];
    }
    float s = 0;
#pragma unroll
    for (int k = 0; k < 48; k++) s += v[k];
    o[i] = s;
}
__global__ void most_leave(const float* x, float* o, int n, int every) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % every) return;
    float s = x[i];
    for (int k = 0; k < 200; k++) s = s * 0.999f + x[(i + k * 33) % n];
    o[i] = s;
}
__global__ void data_len(const u32* x, float* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 1;
    int t = (x[i / 256 * 7 % n] & 1023);
    for (int k = 0; k < t; k++) s = s * 1.0001f + 0.5f;
    o[i] = s;
}
__global__ void col_sum(const float* x, float* o, int rows, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int r = 0; r < rows; r++) s += x[(size_t)r * c + i];
    o[i] = s;
}
}
