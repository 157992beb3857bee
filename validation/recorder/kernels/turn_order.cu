// Which of the warps that could issue does: each notes the clock once a turn of its loop, in shared
// memory. Rows of a warp: SM, warp slot, clocks of so many turns.
typedef unsigned u32;
const int TURNS = 96;

__device__ __forceinline__ u32 now() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

__device__ __forceinline__ void fma(float &x, float k) {
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(k));
}
__device__ __forceinline__ void add(int &x, int k) {
    asm volatile("xor.b32 %0, %0, %1;" : "+r"(x) : "r"(k));
}

#define ORDER(NAME, BODY)                                                                          \
    extern "C" __global__ void NAME(u32 *out, float k, int n) {                                    \
        extern __shared__ u32 clocks[];                                                            \
        u32 *mine = clocks + threadIdx.x / 32 * TURNS;                                             \
        float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;                                    \
        int p = threadIdx.x, q = p + 1, r = p + 2, s = p + 3;                                      \
        __syncthreads();                                                                           \
        _Pragma("unroll 1") for (int i = 0; i < TURNS; i++) {                                      \
            BODY                                                                                   \
            mine[i] = now();                                                                       \
        }                                                                                          \
        u32 sm, slot;                                                                              \
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));                                            \
        asm volatile("mov.u32 %0, %%warpid;" : "=r"(slot));                                        \
        u32 *row = out + (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * (TURNS + 2);        \
        if (a + b + c + d + p + q + r + s == 12345.678f) out[0] = 1;                               \
        __syncwarp();                                                                              \
        if ((threadIdx.x & 31) == 0) row[0] = sm, row[1] = slot;                                   \
        for (u32 i = threadIdx.x & 31; i < TURNS; i += 32) row[2 + i] = mine[i];                   \
    }
#define FOUR(a) a a a a
// sixteen multiply-adds, four chains: a warp goes on for sixteen cycles
ORDER(four_chains, FOUR(fma(a, k); fma(b, k); fma(c, k); fma(d, k);))
// one chain: a warp can issue every fourth cycle
ORDER(one_chain, FOUR(FOUR(fma(a, k);)))
ORDER(two_chains, FOUR(FOUR(fma(a, k); fma(b, k);)))
// four chains of the other unit: every second cycle
ORDER(four_logic, FOUR(add(p, n); add(q, n); add(r, n); add(s, n);))
// both
ORDER(mixed, FOUR(fma(a, k); add(p, n); fma(b, k); add(q, n);))
