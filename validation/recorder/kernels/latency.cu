// Micro-benchmarks of latencies, rates and bandwidths. Parameters of all: out, in, n, m.
#include <cuda_fp16.h>
typedef unsigned u32;
typedef unsigned long long u64;
#define KERNEL(name)                                                                               \
    extern "C" __global__ void __launch_bounds__(1024) name(u32 *out, const u32 *in, u32 n, u32 m)
#define CLOCK(v) asm volatile("mov.u32 %0, %%clock;" : "=r"(v) :: "memory")
#define R8(x) x x x x x x x x

// --- latency of dependent instructions: cycles of 32 and of 96 in a row, one warp -----------------
#define CHAIN(name, type, first, op)                                                               \
    KERNEL(latency_##name) {                                                                      \
        type x = (type)(first), y = (type)(m), z = (type)(n); u32 a, b, c;                        \
        for (int turn = 0; turn < 3; turn++) {                                                    \
            CLOCK(a); R8(op;) R8(op;) R8(op;) R8(op;) CLOCK(b);                                   \
            R8(op;) R8(op;) R8(op;) R8(op;) R8(op;) R8(op;) R8(op;) R8(op;)                       \
            R8(op;) R8(op;) R8(op;) R8(op;) CLOCK(c);                                             \
        }                                                                                         \
        out[threadIdx.x * 2] = b - a; out[threadIdx.x * 2 + 1] = c - b;                           \
        if (*(u32 *)&x == 0x1234567 && *(u32 *)&y == 0x7654321 && *(u32 *)&z == 0x1111) out[64] = 1; }
#define V1(text, k) asm volatile(text : "+" k(x))
#define V2(text, k) asm volatile(text : "+" k(x) : k(y))
#define V3(text, k) asm volatile(text : "+" k(x) : k(y), k(z))
CHAIN(lop3, u32, in[threadIdx.x], V3("lop3.b32 %0, %0, %1, %2, 0x96;", "r"))
CHAIN(iadd3_lop3, u32, in[threadIdx.x], V2("{add.u32 %0, %0, %1; xor.b32 %0, %0, %1;}", "r"))
CHAIN(shf, u32, in[threadIdx.x], V2("shf.l.wrap.b32 %0, %0, %1, %0;", "r"))
CHAIN(prmt, u32, in[threadIdx.x], V2("prmt.b32 %0, %0, %1, %0;", "r"))
CHAIN(vimnmx_x2, u32, in[threadIdx.x], V3("{max.u32 %0, %0, %1; min.u32 %0, %0, %2;}", "r"))
CHAIN(imad, u32, in[threadIdx.x], V3("mad.lo.u32 %0, %0, %1, %2;", "r"))
CHAIN(imad_wide, u64, in[threadIdx.x], asm volatile("{.reg .u32 l, h; mov.b64 {l, h}, %0; mad.wide.u32 %0, l, %1, %0;}" : "+l"(x) : "r"(m)))
CHAIN(dp4a, u32, in[threadIdx.x], V2("dp4a.u32.u32 %0, %0, %1, %0;", "r"))
CHAIN(ffma, float, in[threadIdx.x], V3("fma.rn.f32 %0, %0, %1, %2;", "f"))
CHAIN(fadd, float, in[threadIdx.x], V2("add.f32 %0, %0, %1;", "f"))
CHAIN(fmul, float, in[threadIdx.x], V2("mul.f32 %0, %0, %1;", "f"))
CHAIN(fmnmx, float, in[threadIdx.x], V2("min.f32 %0, %0, %1;", "f"))
CHAIN(hfma2, u32, in[threadIdx.x], V3("fma.rn.f16x2 %0, %0, %1, %2;", "r"))
CHAIN(hadd2, u32, in[threadIdx.x], V2("add.f16x2 %0, %0, %1;", "r"))
CHAIN(dfma, double, in[threadIdx.x], V3("fma.rn.f64 %0, %0, %1, %2;", "d"))
CHAIN(dadd, double, in[threadIdx.x], V2("add.f64 %0, %0, %1;", "d"))
CHAIN(dmul, double, in[threadIdx.x], V2("mul.f64 %0, %0, %1;", "d"))
CHAIN(popc, u32, in[threadIdx.x], V1("popc.b32 %0, %0;", "r"))
CHAIN(brev, u32, in[threadIdx.x], V1("brev.b32 %0, %0;", "r"))
CHAIN(flo, u32, in[threadIdx.x], V1("bfind.u32 %0, %0;", "r"))
CHAIN(mufu_rcp_fadd, float, in[threadIdx.x], V2("{rcp.approx.ftz.f32 %0, %0; add.f32 %0, %0, %1;}", "f"))
CHAIN(mufu_ex2, float, in[threadIdx.x], V1("ex2.approx.ftz.f32 %0, %0;", "f"))
CHAIN(mufu_rsq, float, in[threadIdx.x], V1("rsqrt.approx.ftz.f32 %0, %0;", "f"))
CHAIN(mufu_lg2, float, in[threadIdx.x], V1("lg2.approx.ftz.f32 %0, %0;", "f"))
CHAIN(mufu_tanh, float, in[threadIdx.x], V1("tanh.approx.f32 %0, %0;", "f"))
CHAIN(fmul_mufu_sin, float, in[threadIdx.x], V1("sin.approx.ftz.f32 %0, %0;", "f"))
CHAIN(i2f_f2i, u32, in[threadIdx.x], asm volatile("{.reg .f32 t; cvt.rn.f32.s32 t, %0; cvt.rni.s32.f32 %0, t;}" : "+r"(x)))
CHAIN(f2f_f64_f32, double, in[threadIdx.x], asm volatile("{.reg .f32 t; cvt.rn.f32.f64 t, %0; cvt.f64.f32 %0, t;}" : "+d"(x)))
CHAIN(frnd, float, in[threadIdx.x], V1("cvt.rni.f32.f32 %0, %0;", "f"))
CHAIN(shfl, u32, in[threadIdx.x], asm volatile("shfl.sync.down.b32 %0, %0, 1, 31, -1;" : "+r"(x)))
CHAIN(shfl_idx, u32, in[threadIdx.x], asm volatile("shfl.sync.idx.b32 %0, %0, %0, 31, -1;" : "+r"(x)))
CHAIN(vote, u32, in[threadIdx.x], asm volatile("{.reg .pred p; setp.ne.u32 p, %0, 5; vote.sync.ballot.b32 %0, p, -1;}" : "+r"(x)))
CHAIN(redux, u32, in[threadIdx.x], asm volatile("redux.sync.add.u32 %0, %0, -1;" : "+r"(x)))
CHAIN(match, u32, in[threadIdx.x], asm volatile("match.any.sync.b32 %0, %0, -1;" : "+r"(x)))
CHAIN(setp_sel, u32, in[threadIdx.x], asm volatile("{.reg .pred p; setp.lt.u32 p, %0, %1; selp.u32 %0, %1, %2, p;}" : "+r"(x) : "r"(y), "r"(z)))
CHAIN(setp_branchless_add, u32, in[threadIdx.x], asm volatile("{.reg .pred p; setp.lt.u32 p, %0, %1; @p add.u32 %0, %0, %2;}" : "+r"(x) : "r"(y), "r"(z)))
CHAIN(membar_cta, u32, in[threadIdx.x], asm volatile("membar.cta;" ::: "memory"))
CHAIN(membar_gl, u32, in[threadIdx.x], asm volatile("membar.gl;" ::: "memory"))
CHAIN(barrier, u32, in[threadIdx.x], asm volatile("barrier.sync 0;" ::: "memory"))
CHAIN(syncwarp, u32, in[threadIdx.x], asm volatile("bar.warp.sync -1;" ::: "memory"))
CHAIN(clock, u32, in[threadIdx.x], asm volatile("{.reg .u32 t; mov.u32 t, %%clock; xor.b32 %0, %0, t;}" : "+r"(x)))
#undef CHAIN

// Matrix instructions, the accumulator as the chain.
#define MMA_CHAIN(name, count, text)                                                               \
    KERNEL(latency_##name) { u32 x[4] = {in[0], in[1], in[2], in[3]}, a = m, b = n, t0, t1;       \
        for (int turn = 0; turn < 3; turn++) { CLOCK(t0); for (int k = 0; k < 4; k++) {           \
            _Pragma("unroll") for (int j = 0; j < 16; j++)                                        \
            asm volatile(text : "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3]) : "r"(a), "r"(b)); } CLOCK(t1); } \
        out[threadIdx.x * 2] = t1 - t0; out[threadIdx.x * 2 + 1] = x[0] + x[1] + x[2] + x[3]; }
MMA_CHAIN(hmma_16816, 64, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%5,%5}, {%4,%5}, {%0,%1,%2,%3};")
MMA_CHAIN(hmma_1688, 64, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%4}, {%0,%1,%2,%3};")
MMA_CHAIN(imma_16832, 64, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%4,%5,%5}, {%4,%5}, {%0,%1,%2,%3};")
MMA_CHAIN(tf32_1688, 64, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%5,%5}, {%4,%5}, {%0,%1,%2,%3};")

// --- memory latency: one thread follows a chain of pointers ------------------------------------
#define CHASE(name, load)                                                                          \
    KERNEL(name) { u64 x = (u64)in; u32 a, b;                                                     \
        for (u32 k = 0; k < m; k++) asm volatile(load : "+l"(x) :: "memory");                     \
        CLOCK(a); for (u32 k = 0; k < n; k++) { R8(asm volatile(load : "+l"(x) :: "memory");) } CLOCK(b); \
        out[0] = b - a; out[1] = (u32)x; }
CHASE(chase_l1, "ld.global.ca.u64 %0, [%0];")
CHASE(chase_l2, "ld.global.cg.u64 %0, [%0];")
KERNEL(chase_shared) { __shared__ u32 t[1024]; u32 x = 0, a, b; for (u32 k = threadIdx.x; k < 1024; k += blockDim.x) t[k] = (u32)__cvta_generic_to_shared(&t[(k + 1) & 1023]);
    __syncthreads(); x = (u32)__cvta_generic_to_shared(&t[threadIdx.x]);
    CLOCK(a); for (u32 k = 0; k < n; k++) { R8(asm volatile("ld.shared.u32 %0, [%0];" : "+r"(x));) } CLOCK(b); out[0] = b - a; out[1] = x; }
KERNEL(chase_shared_128) { __shared__ uint4 t[256]; u32 x, y, z, w, a, b; for (u32 k = threadIdx.x; k < 256; k += blockDim.x) t[k].x = (u32)__cvta_generic_to_shared(&t[(k + 1) & 255]);
    __syncthreads(); x = (u32)__cvta_generic_to_shared(&t[threadIdx.x]); y = z = w = 0;
    CLOCK(a); for (u32 k = 0; k < n; k++) { R8(asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%0];" : "+r"(x), "=r"(y), "=r"(z), "=r"(w));) } CLOCK(b); out[0] = b - a; out[1] = x + y + z + w; }
KERNEL(chase_atomic_shared) { __shared__ u32 t[64]; t[threadIdx.x] = 0; __syncthreads(); u32 x = 0, a, b, at = (u32)__cvta_generic_to_shared(&t[threadIdx.x * m]);
    CLOCK(a); for (u32 k = 0; k < n; k++) { R8(asm volatile("atom.shared.add.u32 %0, [%1], %0;" : "+r"(x) : "r"(at) : "memory");) } CLOCK(b); out[0] = b - a; out[1] = x; }
KERNEL(chase_atomic_global) { u32 x = 0, a, b; u64 at = (u64)(in + threadIdx.x * m);
    CLOCK(a); for (u32 k = 0; k < n; k++) { R8(asm volatile("atom.global.add.u32 %0, [%1], %0;" : "+r"(x) : "l"(at) : "memory");) } CLOCK(b); out[0] = b - a; out[1] = x; }
__constant__ u32 probe[16384];
KERNEL(chase_constant) { u32 x = threadIdx.x & 0, a, b; CLOCK(a); for (u32 k = 0; k < n; k++) { R8(x = probe[x + (k & m)];) } CLOCK(b); out[0] = b - a; out[1] = x; }

// --- rates: blocks fill one SM; start and end of each warp are stored --------------------------------
#define RATE(name, type, op)                                                                       \
    KERNEL(rate_##name) { type x0 = (type)threadIdx.x, x1 = x0 + (type)1, x2 = x0 + (type)2, x3 = x0 + (type)3, y = (type)m, z = (type)n; u32 a, b; \
        __syncthreads(); CLOCK(a); for (u32 k = 0; k < n; k++) { _Pragma("unroll") for (int j = 0; j < 16; j++) { \
            { type &x = x0; op; } { type &x = x1; op; } { type &x = x2; op; } { type &x = x3; op; } } } CLOCK(b); \
        if ((threadIdx.x & 31) == 0) { out[threadIdx.x / 16] = a; out[threadIdx.x / 16 + 1] = b; }  \
        x0 = x0 + x1 + x2 + x3; if (*(u32 *)&x0 == 0x12345678) out[100] = *(u32 *)&y + *(u32 *)&z; }
RATE(lop3, u32, V3("lop3.b32 %0, %0, %1, %2, 0x96;", "r"))
RATE(iadd3_lop3, u32, V2("{add.u32 %0, %0, %1; xor.b32 %0, %0, %1;}", "r"))
RATE(shf, u32, V2("shf.l.wrap.b32 %0, %0, %1, %0;", "r"))
RATE(prmt, u32, V2("prmt.b32 %0, %0, %1, %0;", "r"))
RATE(vimnmx_x2, u32, V3("{max.u32 %0, %0, %1; min.u32 %0, %0, %2;}", "r"))
RATE(imad, u32, V3("mad.lo.u32 %0, %0, %1, %2;", "r"))
RATE(imad_wide, u64, asm volatile("{.reg .u32 l, h; mov.b64 {l, h}, %0; mad.wide.u32 %0, l, %1, %0;}" : "+l"(x) : "r"(m)))
RATE(dp4a, u32, V2("dp4a.u32.u32 %0, %0, %1, %0;", "r"))
RATE(ffma, float, V3("fma.rn.f32 %0, %0, %1, %2;", "f"))
RATE(fadd, float, V2("add.f32 %0, %0, %1;", "f"))
RATE(fmul, float, V2("mul.f32 %0, %0, %1;", "f"))
RATE(fmnmx, float, V2("min.f32 %0, %0, %1;", "f"))
RATE(hfma2, u32, V3("fma.rn.f16x2 %0, %0, %1, %2;", "r"))
RATE(hadd2, u32, V2("add.f16x2 %0, %0, %1;", "r"))
RATE(dfma, double, V3("fma.rn.f64 %0, %0, %1, %2;", "d"))
RATE(dadd, double, V2("add.f64 %0, %0, %1;", "d"))
RATE(popc, u32, V1("popc.b32 %0, %0;", "r"))
RATE(brev, u32, V1("brev.b32 %0, %0;", "r"))
RATE(flo, u32, V1("bfind.u32 %0, %0;", "r"))
RATE(mufu_rsq, float, V1("rsqrt.approx.ftz.f32 %0, %0;", "f"))
RATE(mufu_ex2, float, V1("ex2.approx.ftz.f32 %0, %0;", "f"))
RATE(f2i_i2f, u32, asm volatile("{.reg .f32 t; cvt.rn.f32.s32 t, %0; cvt.rni.s32.f32 %0, t;}" : "+r"(x)))
RATE(f64_f32, double, asm volatile("{.reg .f32 t; cvt.rn.f32.f64 t, %0; cvt.f64.f32 %0, t;}" : "+d"(x)))
RATE(shfl, u32, asm volatile("shfl.sync.down.b32 %0, %0, 1, 31, -1;" : "+r"(x)))
RATE(vote, u32, asm volatile("{.reg .pred p; setp.ne.u32 p, %0, 5; vote.sync.ballot.b32 %0, p, -1;}" : "+r"(x)))
RATE(redux, u32, asm volatile("redux.sync.add.u32 %0, %0, -1;" : "+r"(x)))
RATE(match, u32, asm volatile("match.any.sync.b32 %0, %0, -1;" : "+r"(x)))
RATE(setp_sel, u32, asm volatile("{.reg .pred p; setp.lt.u32 p, %0, %1; selp.u32 %0, %1, %2, p;}" : "+r"(x) : "r"(y), "r"(z)))
RATE(barrier, u32, asm volatile("barrier.sync 0;" ::: "memory"))
#define SHARED_RATE(name, text, regs, words)                                                       \
    KERNEL(rate_##name) { __shared__ uint4 t[2048]; u32 x = 0, y = 0, z = 0, w = 0, a, b, at = (u32)__cvta_generic_to_shared(t) + (threadIdx.x & 31) * m; \
        t[threadIdx.x] = make_uint4(1, 2, 3, 4); __syncthreads(); CLOCK(a); for (u32 k = 0; k < n; k++) { R8(R8(asm volatile(text :: "r"(at), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");)) } CLOCK(b); \
        __syncthreads(); CLOCK(b); if ((threadIdx.x & 31) == 0) { out[threadIdx.x / 16] = a; out[threadIdx.x / 16 + 1] = b; } }
SHARED_RATE(sts32, "st.volatile.shared.u32 [%0], %1;", 1, 1)
SHARED_RATE(sts64, "st.volatile.shared.v2.u32 [%0], {%1,%2};", 2, 2)
SHARED_RATE(sts128, "st.volatile.shared.v4.u32 [%0], {%1,%2,%3,%4};", 4, 4)
SHARED_RATE(lds32, "{.reg .u32 r; ld.volatile.shared.u32 r, [%0];}", 1, 1)
SHARED_RATE(lds64, "{.reg .u32 r, s; ld.volatile.shared.v2.u32 {r, s}, [%0];}", 2, 2)
SHARED_RATE(lds128, "{.reg .u32 r, s, t, u; ld.volatile.shared.v4.u32 {r, s, t, u}, [%0];}", 4, 4)
SHARED_RATE(atoms_add, "red.shared.add.u32 [%0], %1;", 1, 1)

// --- bandwidth ----------------------------------------------------------------------------------------
#define STREAM(name, type, join) KERNEL(name) { const type *p = (const type *)in; u32 v = 0; u64 count = (u64)n * 1024 * 1024 / sizeof(type); \
    for (u32 r = 0; r < m; r++) for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) { type t = __ldcg(p + i); v += join; } \
    if (v == 0x12345) out[0] = v; }
STREAM(stream_read_4, u32, t)
STREAM(stream_read_16, uint4, t.x + t.y + t.z + t.w)
KERNEL(stream_write_16) { uint4 *p = (uint4 *)in; u64 count = (u64)n * 65536; for (u32 r = 0; r < m; r++) for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) p[i] = make_uint4(r, 1, 2, 3); }
KERNEL(stream_copy_16) { uint4 *p = (uint4 *)in; u64 count = (u64)n * 32768; for (u32 r = 0; r < m; r++) for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) p[i + count] = p[i]; }
KERNEL(stream_l1) { const uint4 *p = (const uint4 *)in; u32 v = 0; for (u32 r = 0; r < m; r++) for (u32 i = threadIdx.x; i < n * 64; i += blockDim.x) { uint4 t = __ldca(p + i); v += t.x + t.y; } if (v == 0x12345) out[0] = v; }
KERNEL(atomics) { u32 t = blockIdx.x * blockDim.x + threadIdx.x; u32 *p = (u32 *)in; u32 at = m == 0 ? 0 : m == 1 ? (t & 31) : m == 2 ? (t >> 5) * 32 : m == 3 ? t : (t & 31) * 32; for (u32 k = 0; k < n; k++) atomicAdd(p + (at & 0xffffff), 1u + (k & m)); }

// --- the order and the rate of blocks --------------------------------------------------------------------
KERNEL(blocks) { u32 sm; u64 t0, t1; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm)); asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
    u32 c0, c1; CLOCK(c0); c1 = c0; while (c1 - c0 < n) CLOCK(c1); asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t1));
    if (threadIdx.x == 0) { u32 *o = out + blockIdx.x * 4; o[0] = sm; o[1] = (u32)t0; o[2] = (u32)t1; o[3] = c0; } }
KERNEL(nothing) { }
