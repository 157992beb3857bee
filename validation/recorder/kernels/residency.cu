// Which blocks an SM holds and which of their warps issue. Every warp writes a row of 20 words:
// SM, warp slot, then clocks (64 bits each).
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 now() {
    u64 t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

__device__ __forceinline__ void note(u32 *out, u32 place, const u64 *clocks, int n) {
    u32 sm, slot;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(slot));
    if (threadIdx.x & 31) return;
    u32 *row = out + (u64)place * 20;
    row[0] = sm;
    row[1] = slot;
    for (int i = 0; i < n; i++) {
        row[2 + 2 * i] = (u32)clocks[i];
        row[3 + 2 * i] = (u32)(clocks[i] >> 32);
    }
}

__device__ __forceinline__ u32 warp_of_grid() {
    return blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32;
}

// The first warp of a block stays, how long depends on the block; the others leave early. N values
// are held in registers meanwhile.
#define LEAVE(N)                                                                                   \
    extern "C" __global__ void leave_##N(u32 *out, u32 *in, u32 early, u32 late, u32 step) {       \
        u64 t[2] = {now(), 0};                                                                     \
        u32 v[N], sum = 0;                                                                         \
        _Pragma("unroll") for (int i = 0; i < N; i++)                                              \
            asm volatile("ld.global.u32 %0, [%1];" : "=r"(v[i]) : "l"(in + i) : "memory");         \
        u64 until = t[0] + (threadIdx.x / 32 ? early : late + blockIdx.x / 132 * 7 % 32 * step);   \
        while (now() < until) __nanosleep(500);                                                    \
        t[1] = now();                                                                              \
        _Pragma("unroll") for (int i = 0; i < N; i++) sum = sum * 3 + v[i];                        \
        if (sum == 12345) in[0] = 1;                                                               \
        note(out, warp_of_grid(), t, 2);                                                           \
    }
LEAVE(2)
LEAVE(22)
LEAVE(46)
LEAVE(110)

// Eight stretches of equal work on one unit, and when each of them ended.
#define COMPETE(name, DECLARE, WORK, USE)                                                          \
    extern "C" __global__ void compete_##name(u32 *out, u32 *in, u32 turns, u32 a, u32 b) {        \
        DECLARE;                                                                                   \
        u64 t[9];                                                                                  \
        t[0] = now();                                                                              \
        _Pragma("unroll") for (int part = 0; part < 8; part++) {                                   \
            _Pragma("unroll 1") for (u32 i = 0; i < turns; i++) { WORK WORK WORK WORK }            \
            t[part + 1] = now();                                                                   \
        }                                                                                          \
        if (USE) in[0] = 1;                                                                        \
        note(out, warp_of_grid(), t, 9);                                                           \
    }
COMPETE(xu, float x = threadIdx.x; float y = x + 1; float z = x + 2; float w = x + 3,
        asm volatile("ex2.approx.ftz.f32 %0, %0; ex2.approx.ftz.f32 %1, %1;"
                     "ex2.approx.ftz.f32 %2, %2; ex2.approx.ftz.f32 %3, %3;"
                     : "+f"(x), "+f"(y), "+f"(z), "+f"(w));
        , x + y + z + w == 1.2345f)
COMPETE(issue, float x = threadIdx.x; float y = x + 1; float z = x + 2; float w = x + 3;
        float k = a,
        asm volatile("fma.rn.f32 %0, %0, %4, %4; fma.rn.f32 %1, %1, %4, %4;"
                     "fma.rn.f32 %2, %2, %4, %4; fma.rn.f32 %3, %3, %4, %4;"
                     : "+f"(x), "+f"(y), "+f"(z), "+f"(w) : "f"(k));
        , x + y + z + w == 1.2345f)
COMPETE(load, const u32 *p = in + (threadIdx.x & 31) + a; u32 x = 0,
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(p + x) : "memory");
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(p + x + 32) : "memory");
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(p + x) : "memory");
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(p + x + 32) : "memory");
        , x == 12345)

// Warps stay a while, different for every block, all but the first so many cycles less; then they
// store so many words a lane (together, or each lane in a line of its own) and end.
extern "C" __global__ void turn(u32 *out, u32 *in, u32 stay, u32 spread, u32 less, u32 stores,
                                u32 apart) {
    u64 t[2] = {now(), 0};
    u64 until = t[0] + stay + (blockIdx.x * 2654435761u >> 12) % spread;
    if (threadIdx.x / 32) until -= less;
    u32 *to = in + (warp_of_grid() & 8191) * 4096 + (threadIdx.x & 31) * apart;
    while (now() < until) {}
    for (u32 i = 0; i < stores; i++)
        asm volatile("st.global.u32 [%0], %1;" ::"l"(to + i * 1024), "r"(i) : "memory");
    t[1] = now();
    note(out, warp_of_grid(), t, 2);
}
