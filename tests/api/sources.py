"""Kernels for the API tests."""

SOURCE = r"""
template <int K> __global__ void scale(const float* a, float* b, float f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = f * a[i] + K;
}
template <typename T> __global__ void fill(T* out, T value) { out[threadIdx.x] = value; }
extern "C" __global__ void reverse(int* o) {
    __shared__ int s[64];
    s[threadIdx.x] = o[threadIdx.x];
    __syncthreads();
    o[threadIdx.x] = s[63 - threadIdx.x];
}
namespace inner {
__global__ void types(long long* out, unsigned char c, double d, long long q, unsigned u,
                      short s, bool b, float f) {
    out[0] = c; out[1] = (long long)d; out[2] = q; out[3] = u; out[4] = s; out[5] = b;
    out[6] = (long long)(f * 4);
}
}
struct Pair { float factor; int* target; };
__global__ void by_struct(Pair p, int n) { p.target[threadIdx.x] = (int)(p.factor * n); }
__global__ void __launch_bounds__(64) bounded(int* o) { o[threadIdx.x] = 1; }
__global__ void add_one(int* x) { x[threadIdx.x] += 1; }
__global__ void copy(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void dynamic(int* o, int n) {
    extern __shared__ int memory[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) memory[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) { int t = 0; for (int i = 0; i < n; ++i) t += memory[i] & 1; *o = t; }
}
__global__ void no_arguments() {}
__device__ int counter = 7;
__global__ void count(int* o) { *o = counter; counter += 1; }
"""
