// Integer and floating-point operations one by one: out[operation * n + i].

#pragma nv_diag_suppress 2361
#define OPERATIONS(T, name, ...)                                                     \
    extern "C" __global__ void name(const T* a, const T* b, T* out, int n) {         \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                               \
        if (i >= n) return;                                                          \
        T x = a[i], y = b[i];                                                        \
        T results[] = {__VA_ARGS__};                                                 \
        for (int k = 0; k < sizeof(results) / sizeof(T); ++k) out[k * n + i] = results[k]; \
    }

OPERATIONS(int, int32_ops, (int)((unsigned)x + (unsigned)y), (int)((unsigned)x - (unsigned)y),
           (int)((unsigned)x* (unsigned)y), y == 0 || (x == -2147483647 - 1 && y == -1) ? 0 : x / y,
           y == 0 || (x == -2147483647 - 1 && y == -1) ? 0 : x % y, __mulhi(x, y), min(x, y),
           max(x, y), x >> (y & 31), x & y, x | ~y, x ^ y, x < y, x == y, __mul24(x, y),
           __sad(x, y, 7), __hadd(x, y), __rhadd(x, y), x / 7, x % 10, x / -1000003,
           (int)__usad(x, y, 3))

OPERATIONS(unsigned, uint32_ops, x + y, x * y, y ? x / y : 1, y ? x % y : 2, __umulhi(x, y),
           min(x, y), max(x, y), x << (y & 31), x >> (y & 31), __clz(x), __popc(x), __brev(x),
           __ffs(x), __byte_perm(x, y, 0x7531), __byte_perm(x, y, x & 0x7777),
           __funnelshift_l(x, y, y), __funnelshift_r(x, y, x), __funnelshift_lc(x, y, y & 63),
           __funnelshift_rc(x, y, x & 63), __umul24(x, y), x / 10u, x % 641u, __uhadd(x, y))

OPERATIONS(long long, int64_ops, (long long)((unsigned long long)x + y),
           (long long)((unsigned long long)x - y), (long long)((unsigned long long)x * y),
           y == 0 || y == -1 ? x : x / y, y == 0 || y == -1 ? x : x % y, __mul64hi(x, y), min(x, y),
           max(x, y), x >> (y & 63), x < y, x == y, x / 1000000007ll, x % 86400, x & ~y)

OPERATIONS(unsigned long long, uint64_ops, x + y, x * y, y ? x / y : 1, y ? x % y : 2,
           __umul64hi(x, y), min(x, y), max(x, y), x << (y & 63), x >> (y & 63), __clzll(x),
           __popcll(x), __brevll(x), __ffsll(x), x / 1000003ull, x % 10ull, x ^ y)

OPERATIONS(float, float32_ops, x + y, x - y, x * y, x / y, sqrtf(x), fmaf(x, y, x), fminf(x, y),
           fmaxf(x, y), fabsf(x), -y, floorf(x), ceilf(x), truncf(x), rintf(x), copysignf(x, y),
           __frcp_rn(x), __fadd_rz(x, y), __fadd_ru(x, y), __fadd_rd(x, y), __fmul_rz(x, y),
           __fmul_ru(x, y), __fmul_rd(x, y), __fmaf_rz(x, y, y), __fmaf_ru(x, y, y),
           __fmaf_rd(x, y, y), roundf(x), __saturatef(x))

OPERATIONS(double, float64_ops, x + y, x - y, x * y, x / y, sqrt(x), fma(x, y, x), fmin(x, y),
           fmax(x, y), fabs(x), -y, floor(x), ceil(x), trunc(x), rint(x), copysign(x, y),
           __drcp_rn(x), __dadd_rz(x, y), __dadd_ru(x, y), __dadd_rd(x, y), __dmul_rz(x, y),
           __dmul_ru(x, y), __dmul_rd(x, y), __fma_rz(x, y, y), __fma_ru(x, y, y),
           __fma_rd(x, y, y), round(x))

extern "C" __global__ void float_compare(const float* a, const float* b, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = b[i];
    out[i] = (x < y) | (x <= y) << 1 | (x == y) << 2 | (x != y) << 3 | (x > y) << 4 |
             (x >= y) << 5 | (x != x || y != y) << 6 | (x != x) << 7 |
             (fabsf(x) > 3.402823466e38f) << 8 | __float_as_uint(x) >> 31 << 9;
}

// Conversions of floats to integers saturate; NaN gives 0 for 32 bits.
extern "C" __global__ void float_to_int(const float* a, int* s, unsigned* u, int* down, int* up,
                                        int* nearest, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    s[i] = __float2int_rz(a[i]);
    u[i] = __float2uint_rz(a[i]);
    down[i] = __float2int_rd(a[i]);
    up[i] = __float2int_ru(a[i]);
    nearest[i] = __float2int_rn(a[i]);
}

extern "C" __global__ void int_to_float(const long long* a, float* f32, float* f64to32, double* f64,
                                        float* i32, float* u32, float* down, float* up, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    f32[i] = (float)a[i];
    f64[i] = (double)a[i];
    f64to32[i] = (float)((double)a[i] * 1.0e-3);
    i32[i] = (float)(int)a[i];
    u32[i] = (float)(unsigned)a[i];
    down[i] = __int2float_rd((int)a[i]);
    up[i] = __uint2float_ru((unsigned)a[i]);
}

extern "C" __global__ void narrow(const int* a, signed char* b, unsigned char* c, short* d,
                                  unsigned short* e, long long* f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    b[i] = a[i];
    c[i] = a[i];
    d[i] = a[i];
    e[i] = a[i];
    f[i] = (long long)b[i] * d[i] + e[i];
}

// 64-bit immediates whose low word has its top bit set, positive and negative.
extern "C" __global__ void wide_immediates(const unsigned long long* a, unsigned long long* out,
                                           int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long v = a[i];
    out[i] = v + 0xeb55ee1full;
    out[n + i] = v + 0xffffffffeb55ee1full;
    out[2 * n + i] = min(v, 0xeb55ee1full);
    out[3 * n + i] = v > 0xeb55ee1full ? 0x123456789abcull : 7;
    out[4 * n + i] = (long long)v > -77 ? 0xfffffffff2345678ull : 0x82345678ull;
    out[5 * n + i] = __umul64hi(v, __mul64hi(1, (long long)0xeb55ee1f5a07e4dcull));
}

extern "C" __global__ void gcd_loop(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i], y = b[i];
    while (y) {
        unsigned r = x % y;
        x = y;
        y = r;
    }
    out[i] = x;
}

extern "C" __global__ void big_multiply(const unsigned* a, const unsigned* b, unsigned* out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned product[8] = {};
    for (int i = 0; i < 4; ++i) {
        unsigned long long carry = 0;
        for (int j = 0; j < 4; ++j) {
            carry += (unsigned long long)a[t * 4 + i] * b[t * 4 + j] + product[i + j];
            product[i + j] = (unsigned)carry;
            carry >>= 32;
        }
        product[i + 4] = (unsigned)carry;
    }
    for (int i = 0; i < 8; ++i) out[t * 8 + i] = product[i];
}

extern "C" __global__ void special_functions(const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i];
    out[i] = expf(x);
    out[n + i] = logf(fabsf(x));
    out[2 * n + i] = sinf(x);
    out[3 * n + i] = cosf(x);
    out[4 * n + i] = tanhf(x);
    out[5 * n + i] = erff(x);
    out[6 * n + i] = rsqrtf(fabsf(x));
    out[7 * n + i] = exp2f(x);
    out[8 * n + i] = log2f(fabsf(x));
    out[9 * n + i] = atanf(x);
    out[10 * n + i] = powf(fabsf(x), 1.7f);
    out[11 * n + i] = cbrtf(x);
}

extern "C" __global__ void special_doubles(const double* a, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = a[i];
    out[i] = exp(x);
    out[n + i] = log(fabs(x));
    out[2 * n + i] = sin(x);
    out[3 * n + i] = cos(x);
    out[4 * n + i] = tanh(x);
    out[5 * n + i] = erf(x);
    out[6 * n + i] = rsqrt(fabs(x));
    out[7 * n + i] = pow(fabs(x), 1.7);
}

// The fast hardware approximations, compared by absolute or relative error.
extern "C" __global__ void fast_functions(const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i];
    out[i] = __sinf(x);
    out[n + i] = __cosf(x);
    out[2 * n + i] = __expf(x);
    out[3 * n + i] = __logf(fabsf(x) + 2.0f);
    out[4 * n + i] = __fdividef(x, 3.0f);
    out[5 * n + i] = __frsqrt_rn(fabsf(x));
}
