// The model of the multi-function unit in CUDA C++, compared with the instruction for all 2^32
// inputs. tables: per function, rows of (c0, c1, c2). The single MUFU of each kernel is RCP here;
// the build step puts the wanted function in.
typedef unsigned u32;
typedef long long s64;

__device__ __forceinline__ s64 square(u32 x) {
    u32 h = x >> 9, l = x & 511, s = (h * h - (h & 1)) >> 1;
    for (int i = 1; i < 8; i++) s += (h >> i & 1) * (l >> (9 - i));
    return s;
}
__device__ __forceinline__ s64 interpolate(const s64 *t, u32 seg, u32 x) {
    return t[seg * 3] + t[seg * 3 + 1] * x + t[seg * 3 + 2] * square(x);
}
__device__ __forceinline__ u32 to_float(s64 mag, int f) {
    if (mag == 0) return 0;
    int top = 63 - __clzll(mag);
    s64 m = top >= 23 ? mag >> (top - 23) : mag << (23 - top);
    return (u32)(((s64)(top - f + 126) << 23) + m);
}
__device__ __forceinline__ s64 fixed(u32 e, u32 m, int f) {
    if (e == 0) return 0;
    int sh = (int)e - 150 + f;
    m |= 0x800000;
    return sh >= 0 ? (s64)m << min(sh, 38) : m >> min(-sh, 24);
}
#define SPLIT u32 s = v >> 31, e = v >> 23 & 255, m = v & 0x7fffff; (void)s; (void)e; (void)m;
#define SPLIT64 u32 s = v >> 31, e = v >> 20 & 2047, m = v & 0xfffff;
#define NAN_ 0x7fffffffu
#define INF_ 0x7f800000u

__device__ u32 model_RCP(u32 v, const s64 *t) {
    SPLIT
    if (e == 255) return m ? NAN_ : s << 31;
    if (e == 0) return INF_ | s << 31;
    s64 r = (interpolate(t, m >> 16, (m & 0xffff) << 1) >> 18) + ((s64)(127 - (int)e) << 23);
    return (r < 0x800000 ? 0 : (u32)r) | s << 31;
}
__device__ u32 model_RSQ(u32 v, const s64 *t) {
    SPLIT
    if (e == 255 && m) return NAN_;
    if (e == 0) return INF_ | s << 31;
    if (s) return NAN_;
    if (e == 255) return 0;
    u32 odd = (e & 1) ^ 1;
    s64 r = m == 0 && !odd ? 0x3f800000 : interpolate(t, odd << 6 | m >> 17, m & 0x1ffff) >> 18;
    return (u32)(r - ((s64)(((int)e - 127) >> 1) << 23));
}
__device__ u32 model_SQRT(u32 v, const s64 *t) {
    SPLIT
    if (e == 255 && m) return NAN_;
    if (e == 0) return s << 31;
    if (s) return NAN_;
    if (e == 255) return INF_;
    u32 odd = (e & 1) ^ 1;
    s64 r = interpolate(t, odd << 6 | m >> 17, m & 0x1ffff) >> 18;
    return (u32)(r + ((s64)(((int)e - 127) >> 1) << 23));
}
__device__ u32 model_EX2(u32 v, const s64 *t) {
    SPLIT
    if (e == 255 && m) return NAN_;
    if (e >= 134) return s ? 0 : INF_;
    s64 x = fixed(e, m, 23);
    if (s) x = (x & 0x7fffff) ? ~x : -x;
    u32 f = x & 0x7fffff;
    s64 r = (interpolate(t, f >> 17, f & 0x1ffff) >> 18) + ((x >> 23) << 23);
    return r < 0x800000 ? 0 : (u32)r;
}
__device__ u32 model_LG2(u32 v, const s64 *t) {
    SPLIT
    if (e == 255 && m) return NAN_;
    if (e == 0) return INF_ | 1u << 31;
    if (s) return NAN_;
    if (e == 255) return INF_;
    if (v == 0x3f800000) return 0;
    s64 x = ((s64)((int)e - 127) << 36) + (interpolate(t, m >> 17, m & 0x1ffff) >> 2);
    return to_float(x < 0 ? ~x : x, 36) | (x < 0 ? 1u << 31 : 0);
}
__device__ u32 turn(u32 v, const s64 *t, u32 quarter) {
    SPLIT
    if (e == 255) return NAN_;
    s64 x = e >= 150 ? 0 : fixed(e, m, 25);
    u32 quadrant = (u32)((x >> 23) + quarter) & 3, f = (quadrant & 1 ? ~x : x) & 0x7fffff;
    u32 negative = quadrant >> 1 ^ (quarter ? 0 : s);
    return to_float(interpolate(t, f >> 17, f & 0x1ffff), 37) | negative << 31;
}
__device__ u32 model_SIN(u32 v, const s64 *t) { return turn(v, t, 0); }
__device__ u32 model_COS(u32 v, const s64 *t) { return turn(v, t, 1); }
__device__ u32 model_TANH(u32 v, const s64 *t) {
    SPLIT
    const int split[11] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};
    const int first[11] = {0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43};
    if (e == 255 && m) return NAN_;
    if (e < 119) return v;
    if (e >= 130) return 0x3f800000 | s << 31;
    int k = split[e - 119];
    s64 a = interpolate(t, first[e - 119] + (m >> (23 - k)), m >> (6 - k) & 0x1ffff);
    return to_float(a, 39) | s << 31;
}
__device__ u32 model_RCP64H(u32 v, const s64 *t) {
    SPLIT64
    if (e == 0x7ff) return m ? NAN_ : s << 31;
    if (e == 0) return 0x7ff00000u | s << 31;
    s64 r = (interpolate(t, m >> 13, (m & 0x1fff) << 4) >> 18) - (127 << 23);
    r = (r >> 3) + ((s64)(2046 - (int)e) << 20);
    return (r < 0x100000 ? 0 : (u32)r) | s << 31;
}
__device__ u32 model_RSQ64H(u32 v, const s64 *t) {
    SPLIT64
    if (e == 0x7ff && m) return NAN_;
    if (e == 0) return 0x7ff00000u | s << 31;
    if (s) return NAN_;
    if (e == 0x7ff) return 0;
    u32 odd = (e & 1) ^ 1;
    s64 r = m == 0 && !odd ? 127 << 23 : interpolate(t, odd << 6 | m >> 14, (m & 0x3fff) << 3) >> 18;
    r = ((r - (127 << 23)) >> 3) + ((s64)(1023 - (((int)e - 1023) >> 1)) << 20);
    return (u32)r;
}

// counts[0]: mismatches; counts[1 + 3k ..]: input, hardware, model of the first few.
#define CHECK(name)                                                                                \
    extern "C" __global__ void check_##name(u32 *counts, const s64 *tables) {                     \
        u32 first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;         \
        for (unsigned long long i = first; i < 1ull << 32; i += step) {                           \
            u32 v = (u32)i; float y;                                                              \
            asm volatile("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(__uint_as_float(v)));       \
            u32 hardware = __float_as_uint(y), model = model_##name(v, tables);                   \
            if (hardware != model) {                                                              \
                u32 k = atomicAdd(counts, 1);                                                     \
                if (k < 64) { counts[1 + 3 * k] = v; counts[2 + 3 * k] = hardware; counts[3 + 3 * k] = model; } \
            }                                                                                     \
        }                                                                                         \
    }
CHECK(RCP) CHECK(RSQ) CHECK(SQRT) CHECK(EX2) CHECK(LG2) CHECK(SIN) CHECK(COS) CHECK(TANH)
CHECK(RCP64H) CHECK(RSQ64H)
