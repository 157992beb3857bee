// Threads that load some words at once, of arrays one after the other, and store as many, or none:
// when their warps begin and end, and have the first of these words and all of them.
typedef unsigned u32;
__device__ __forceinline__ u32 now() { u32 t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t) :: "memory"); return t; }
__device__ __forceinline__ u32 smid() { u32 t; asm volatile("mov.u32 %0, %%smid;" : "=r"(t)); return t; }
// the time when a value is there
__device__ __forceinline__ u32 when(u32 v) { if (v == 0xfedcba98u) asm volatile("membar.sys;" ::: "memory"); return now(); }
#define ROW 12
__device__ __forceinline__ void note(u32 *out, u32 warp, u32 begin, const u32 *w, u32 end) {
    if ((threadIdx.x & 31) == 0) { u32 *o = out + (size_t)warp * ROW; o[0] = smid(); o[1] = begin; for (int k = 0; k < 8; k++) o[2 + k] = w[k]; o[10] = end; }
}
extern "C" __global__ void flush(const u32 *p, u32 n, u32 *out) { u32 s = 0; for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += p[i]; if (s == 0x12345) out[0] = s; }
// K words of each thread at once, of arrays n words apart, then stores to them (mode 1), elsewhere (2), or none (0)
template <int K> __device__ __forceinline__ void burst(u32 *x, u32 *y, u32 *out, u32 n, int mode) {
    u32 begin = now(), w[8] = {0, 0, 0, 0, 0, 0, 0, 0}, v[K], t = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    #pragma unroll
    for (int k = 0; k < K; k++) v[k] = x[(size_t)k * n + t];
    u32 a = now();
    w[0] = when(v[0]) - begin;
    #pragma unroll
    for (int k = 1; k < K; k++) sum += v[k];
    w[1] = when(sum) - begin; w[2] = a - begin;
    #pragma unroll
    for (int k = 0; k < K; k++) { if (mode == 1) x[(size_t)k * n + t] = v[k] + 1; if (mode == 2) y[(size_t)k * n + t] = v[k] + 1; }
    if (mode == 0 && sum == 0x1234567) y[0] = sum;
    note(out, t / 32, begin, w, now());
}
extern "C" __global__ void burst1(u32 *x, u32 *y, u32 *out, u32 n, int mode) { burst<1>(x, y, out, n, mode); }
extern "C" __global__ void burst2(u32 *x, u32 *y, u32 *out, u32 n, int mode) { burst<2>(x, y, out, n, mode); }
extern "C" __global__ void burst4(u32 *x, u32 *y, u32 *out, u32 n, int mode) { burst<4>(x, y, out, n, mode); }
extern "C" __global__ void burst8(u32 *x, u32 *y, u32 *out, u32 n, int mode) { burst<8>(x, y, out, n, mode); }
