// A warp whose instructions each wait for the one before, beside warps that only load or store.
typedef unsigned u32;

__device__ __forceinline__ u32 ticks() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

enum Chain { SHARED, SHUFFLE, TRANSPOSE, GLOBAL, ROOT };
enum Traffic { LOADS, STORES, SHARED_LOADS, ROOTS, SHUFFLES };

template <int CHAIN>
__device__ __forceinline__ u32 step_of(u32 v, u32 near_at, const char *far_at) {
    u32 next = 0;
    if (CHAIN == SHARED)
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(next) : "r"(near_at + v) : "memory");
    if (CHAIN == SHUFFLE)
        asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(next) : "r"(v) : "memory");
    if (CHAIN == TRANSPOSE)
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                     : "=r"(next) : "r"(v) : "memory");
    if (CHAIN == GLOBAL)
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(next) : "l"(far_at + v) : "memory");
    if (CHAIN == ROOT)
        asm volatile("rsqrt.approx.ftz.f32 %0, %1;"
                     : "=f"(*(float *)&next) : "f"(*(float *)&v) : "memory");
    return next;
}

template <int TRAFFIC, int SIZE>
__device__ __forceinline__ u32 touch(char *global, u32 shared, u32 v) {
    u32 w[4] = {v, v, v, v};
    if (TRAFFIC == LOADS && SIZE == 4)
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(w[0]) : "l"(global) : "memory");
    if (TRAFFIC == LOADS && SIZE == 16)
        asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"(global) : "memory");
    if (TRAFFIC == STORES && SIZE == 4)
        asm volatile("st.global.u32 [%0], %1;" ::"l"(global), "r"(v) : "memory");
    if (TRAFFIC == STORES && SIZE == 16)
        asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(global), "r"(v) : "memory");
    if (TRAFFIC == SHARED_LOADS && SIZE == 4)
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w[0]) : "r"(shared) : "memory");
    if (TRAFFIC == SHARED_LOADS && SIZE == 16)
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(shared) : "memory");
    if (TRAFFIC == ROOTS)
        asm volatile("rsqrt.approx.ftz.f32 %0, %1;"
                     : "=f"(*(float *)w) : "f"(*(float *)&shared) : "memory");
    if (TRAFFIC == SHUFFLES)
        asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(w[0]) : "r"(shared) : "memory");
    return SIZE == 4 ? w[0] : w[0] | w[1] | w[2] | w[3];
}

// Warp 0 takes `turns` steps; warps whose bit is set in `others` access memory `accesses` times four,
// lanes `step` bytes apart in four pieces of `bytes` (a power of two) of `data`; the rest leaves. The
// cycles of each warp's loop are in `out`.
template <int CHAIN, int TRAFFIC, int SIZE>
__device__ void beside(u32 *out, char *data, u32 others, u32 turns, u32 accesses, u32 step,
                       u32 bytes) {
    __shared__ __align__(16) u32 words[8192];
    for (u32 i = threadIdx.x; i < 8192; i += blockDim.x) words[i] = 0;
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 near_at = (u32)__cvta_generic_to_shared(words) + lane * 4, sum = 0;
    u32 at = (warp * 32 * step + lane * step) & (bytes - 1);
    if (TRAFFIC == LOADS)
        for (u32 i = threadIdx.x * 32; i < 4 * bytes; i += blockDim.x * 32)
            sum |= touch<LOADS, 4>(data + i, 0, 0);
    __syncthreads();
    u32 begin = ticks();
    if (warp == 0) {
        u32 v = sum;
#pragma unroll 8
        for (u32 turn = 0; turn < turns; turn++) v = step_of<CHAIN>(v, near_at, data + lane * 4);
        sum |= v;
    } else if (others >> warp & 1) {
#pragma unroll 1
        for (u32 i = 0; i < accesses; i++) {
#pragma unroll
            for (int piece = 0; piece < 4; piece++)
                sum |= touch<TRAFFIC, SIZE>(data + piece * bytes + at,
                                            near_at - lane * 4 + piece * 8192 + at, sum & 1);
            at = (at + 32 * step) & (bytes - 1);
        }
    }
    u32 end = ticks();
    if (sum == 12345) out[64] = sum;
    if (lane == 0) out[warp] = end - begin;
}

#define BESIDE(CHAIN, TRAFFIC, SIZE)                                                              \
    extern "C" __global__ void CHAIN##_##TRAFFIC##_##SIZE(u32 *out, char *data, u32 others,       \
                                                          u32 turns, u32 accesses, u32 step,      \
                                                          u32 bytes) {                            \
        beside<CHAIN, TRAFFIC, SIZE>(out, data, others, turns, accesses, step, bytes);            \
    }
#define TRAFFICS(CHAIN)                                                                           \
    BESIDE(CHAIN, LOADS, 4) BESIDE(CHAIN, LOADS, 16) BESIDE(CHAIN, STORES, 4)                     \
    BESIDE(CHAIN, STORES, 16) BESIDE(CHAIN, SHARED_LOADS, 4) BESIDE(CHAIN, SHARED_LOADS, 16)           \
    BESIDE(CHAIN, ROOTS, 4) BESIDE(CHAIN, SHUFFLES, 4)
TRAFFICS(SHARED) TRAFFICS(SHUFFLE) TRAFFICS(TRANSPOSE) TRAFFICS(GLOBAL) TRAFFICS(ROOT)
