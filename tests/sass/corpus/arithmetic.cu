// Divisions with slow paths, special functions, directed rounding, infinities and NaNs.
#include <math_constants.h>

__global__ void divide(double* d, float* f) {
    d[0] = d[1] / d[2] + sqrt(d[3]);
    f[0] = f[1] / f[2] + sqrtf(f[3]) + __fdividef(f[4], f[5]);
}

__global__ void special(float* f) {
    int i = threadIdx.x;
    f[i] = __sinf(f[i]) + __expf(f[i + 1]) + __log2f(f[i + 2]) + rsqrtf(f[i + 3]);
    f[i + 4] = sinf(f[i]) + powf(f[i], f[i + 1]) + tanhf(f[i + 2]);
    f[i + 5] = __fmul_rz(f[i], 0.1f) + __fadd_ru(f[i + 1], -2.5e-7f) + __saturatef(f[i + 2] * 3);
}

__global__ void extremes(float* f, double* d, int n) {
    float most = -CUDART_INF_F;
    double least = CUDART_INF;
    for (int i = 0; i < n; i++) {
        most = fmaxf(most, f[i]);
        least = fmin(least, d[i] * 1e300 + 0.1);
    }
    f[n] = isinf(most) ? CUDART_NAN_F : most;
    d[n] = least;
}

__global__ void convert(float* f, double* d, int* i, unsigned* u, long long* l, short* s) {
    int t = threadIdx.x;
    f[t] = i[t] + (float)u[t] + (float)l[t];
    d[t] = f[t] + (double)i[t];
    i[t] = (int)f[t + 4] + __float2int_rd(f[t + 8]);
    u[t] = (unsigned)d[t + 4];
    l[t] = (long long)d[t + 5];
    s[t] = (short)f[t + 15];
    f[t + 11] = floorf(f[t + 12]) + rintf(f[t + 13]) + truncf(f[t + 14]);
}
