// Atomics of 128 bits and of vectors, element by element (sm_90+).
#define KERNEL extern "C" __global__ void
#if __CUDA_ARCH__ >= 900
typedef unsigned u32;
typedef unsigned long long u64;
struct alignas(16) Pair { u64 low, high; };
__device__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
#define CAS(space, reg, at, was, next, got) \
    asm volatile("{.reg .b128 r,c,d; mov.b128 c,{%2,%3}; mov.b128 d,{%4,%5}; atom" space ".cas.b128 r,[%6],c,d; mov.b128 {%0,%1},r;}" \
                 : "=l"(got.low), "=l"(got.high) : "l"(was.low), "l"(was.high), "l"(next.low), "l"(next.high), reg(at) : "memory")
#define EXCH(space, reg, at, next, got) \
    asm volatile("{.reg .b128 r,d; mov.b128 d,{%2,%3}; atom" space ".exch.b128 r,[%4],d; mov.b128 {%0,%1},r;}" \
                 : "=l"(got.low), "=l"(got.high) : "l"(next.low), "l"(next.high), reg(at) : "memory")

// A sum and a count that change together.
KERNEL wide_cas(Pair *total, const u64 *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Pair was = {0, 0}, next, got;
    for (;;) {
        next.low = was.low + a[i];
        next.high = was.high + 1;
        CAS(".global", "l", total, was, next, got);
        if (got.low == was.low && got.high == was.high) break;
        was = got;
    }
}
KERNEL wide_cas_shared(Pair *total, const u64 *a, int generic) {
    __shared__ Pair s[2];
    if (threadIdx.x < 2) s[threadIdx.x] = {0, 0};
    __syncthreads();
    Pair was = {0, 0}, next, got, *p = generic ? &s[1] : total;
    for (;;) {
        next.low = was.low ^ a[threadIdx.x];
        next.high = was.high + 1;
        CAS(".shared", "r", address(s), was, next, got);
        if (got.low == was.low && got.high == was.high) break;
        was = got;
    }
    for (was = {0, 0};; was = got) {
        next.low = was.low + a[threadIdx.x];
        next.high = was.high - 1;
        CAS("", "l", p, was, next, got);
        if (got.low == was.low && got.high == was.high) break;
    }
    __syncthreads();
    if (threadIdx.x < 2) total[1 + threadIdx.x] = s[threadIdx.x];
}
// A chain of exchanges: every thread's pair goes in, another's comes out.
KERNEL wide_exchange(Pair *place, Pair *o) {
    __shared__ Pair s;
    if (threadIdx.x == 0) s = {0, ~0ull};
    __syncthreads();
    Pair mine = {threadIdx.x + 1ull, (u64)threadIdx.x << 40}, got;
    EXCH(".global", "l", place, mine, got);
    o[threadIdx.x] = got;
    EXCH(".shared", "r", address(&s), mine, got);
    o[64 + threadIdx.x] = got;
}
KERNEL vector_floats(float *p, const float *a, float *old) {
    int t = threadIdx.x;
    float4 v = make_float4(a[t], a[t + 64], a[t + 128], a[t + 192]);
    atomicAdd((float4 *)p + (t & 3), v);
    float2 was = atomicAdd((float2 *)p + 8 + t, make_float2(v.x, v.y));
    old[2 * t] = was.x; old[2 * t + 1] = was.y;
    asm volatile("red.global.add.v2.f32 [%0],{%1,%2};" ::"l"(p + 144 + 2 * (t & 1)), "f"(v.z), "f"(v.w) : "memory");
    asm volatile("red.global.add.v4.f32 [%0],{%1,%2,%3,%4};" ::"l"(p + 148), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}
// a holds packed halves; all sums are exact.
#define HALVES(type, short_) \
KERNEL vector_##short_(u32 *p, const u32 *a) { \
    int t = threadIdx.x; \
    asm volatile("red.global.add.noftz.v2." type "x2 [%0],{%1,%2};" ::"l"(p + 2 * (t & 1)), "r"(a[t]), "r"(a[t + 32]) : "memory"); \
    asm volatile("red.global.add.noftz.v4." type "x2 [%0],{%1,%2,%2,%1};" ::"l"(p + 4), "r"(a[t]), "r"(a[t + 32]) : "memory"); \
    u32 r0, r1; \
    asm volatile("atom.global.add.noftz.v2." type "x2 {%0,%1},[%2],{%3,%4};" : "=r"(r0), "=r"(r1) : "l"(p + 8 + 2 * t), "r"(a[t]), "r"(a[t + 32]) : "memory"); \
    p[72 + 2 * t] = r0; p[73 + 2 * t] = r1; \
}
HALVES("f16", f16)
HALVES("bf16", bf16)
#endif
