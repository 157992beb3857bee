// How long instructions take: in a row, each on the result of the one before, and four such chains
// side by side. Every operation below gives a kernel `one_NAME` and a kernel `four_NAME`: eight turns
// of 64 operations, twice. They store the clock before and after the second time, per warp.
typedef unsigned u32;
typedef unsigned long long u64;
struct Accumulator { u32 v[4]; };
struct Doubles { double v[4]; };

template <class Op, int CHAINS>
__device__ __forceinline__ void pace(u32 *clocks, char *data, u32 never) {
    typedef typename Op::type T;
    T x[CHAINS], y = ((T *)data)[never + 1], z = ((T *)data)[never + 2];
    Op op;
    op.start(data, never);
#pragma unroll
    for (int c = 0; c < CHAINS; c++) x[c] = ((T *)data)[threadIdx.x * CHAINS + c];
    u32 begin = 0, end = 0;
#pragma unroll 1
    for (int time = 0; time < 2; time++) {
        __syncthreads();  // a warp reads the clock before the block's last one is here, so there are
        __syncthreads();  // two of them
        asm volatile("mov.u32 %0, %%clock;" : "=r"(begin)::"memory");
#pragma unroll 1
        for (int turn = 0; turn < 8; turn++)
#pragma unroll
            for (int k = 0; k < 64 / CHAINS; k++)
#pragma unroll
                for (int c = 0; c < CHAINS; c++) op.f(x[c], y, z);
        asm volatile("mov.u32 %0, %%clock;" : "=r"(end)::"memory");
    }
    if (threadIdx.x % 32 == 0) {
        clocks[threadIdx.x / 16] = begin;
        clocks[threadIdx.x / 16 + 1] = end;
    }
    if (never)
#pragma unroll
        for (int c = 0; c < CHAINS; c++) ((T *)data)[threadIdx.x * CHAINS + c] = x[c];
}

#define KERNEL(NAME, CHAINS)                                                             \
    extern "C" __global__ void __launch_bounds__(512) NAME(u32 *clocks, char *data, u32 never)
#define KERNELS(NAME)                                                                    \
    KERNEL(one_##NAME, 1) { pace<op_##NAME, 1>(clocks, data, never); }                   \
    KERNEL(four_##NAME, 4) { pace<op_##NAME, 4>(clocks, data, never); }
#define PACE(NAME, T, ...)                                                               \
    struct op_##NAME {                                                                   \
        typedef T type;                                                                  \
        __device__ __forceinline__ void start(char *, u32) {}                            \
        __device__ __forceinline__ void f(T &x, T y, T z) { asm volatile(__VA_ARGS__); } \
    };                                                                                   \
    KERNELS(NAME)
// One, two or three operands of one type, constraint K.
#define U1(NAME, T, K, TEXT) PACE(NAME, T, TEXT : "+" K(x))
#define U2(NAME, T, K, TEXT) PACE(NAME, T, TEXT : "+" K(x) : K(y))
#define U3(NAME, T, K, TEXT) PACE(NAME, T, TEXT : "+" K(x) : K(y), K(z))

// --- integers -------------------------------------------------------------------------------------
U2(add, u32, "r", "add.u32 %0, %0, %1;")
U3(add3, u32, "r", "{.reg .u32 t; add.u32 t, %0, %1; add.u32 %0, t, %2;}")
U3(shift_add, u32, "r", "{.reg .u32 t; shl.b32 t, %0, 3; add.u32 %0, t, %1;}")
U3(mad, u32, "r", "mad.lo.u32 %0, %0, %1, %2;")
U3(mad_hi, u32, "r", "mad.hi.u32 %0, %0, %1, %2;")
U2(mul_hi, u32, "r", "mul.hi.u32 %0, %0, %1;")
U3(mad24, u32, "r", "mad24.lo.u32 %0, %0, %1, %2;")
PACE(mad_wide, u64, "{.reg .u32 l, h, k, o; mov.b64 {l, h}, %0; mov.b64 {k, o}, %1; mad.wide.u32 %0, l, k, %0;}" : "+l"(x) : "l"(y))
U2(add64, u64, "l", "add.u64 %0, %0, %1;")
U2(mul64, u64, "l", "mul.lo.u64 %0, %0, %1;")
U2(min64, u64, "l", "min.u64 %0, %0, %1;")
PACE(shl64, u64, "{.reg .u32 l, h; mov.b64 {l, h}, %1; shl.b64 %0, %0, l;}" : "+l"(x) : "l"(y))
U2(div, u32, "r", "div.u32 %0, %0, %1;")
U2(rem, u32, "r", "rem.s32 %0, %0, %1;")
U3(lop3, u32, "r", "lop3.b32 %0, %0, %1, %2, 0x96;")
U2(shl, u32, "r", "shl.b32 %0, %0, %1;")
U2(shr, u32, "r", "shr.s32 %0, %0, %1;")
U3(funnel, u32, "r", "shf.l.wrap.b32 %0, %0, %1, %2;")
U2(prmt, u32, "r", "prmt.b32 %0, %0, %1, 0x5140;")
U3(bfe, u32, "r", "bfe.u32 %0, %0, %1, %2;")
U3(bfi, u32, "r", "bfi.b32 %0, %0, %1, %2, 5;")
U3(bmsk, u32, "r", "bmsk.clamp.b32 %0, %0, %1;")
U1(popc, u32, "r", "popc.b32 %0, %0;")
U1(brev, u32, "r", "brev.b32 %0, %0;")
U1(clz, u32, "r", "clz.b32 %0, %0;")
U1(bfind, u32, "r", "bfind.u32 %0, %0;")
U2(min, u32, "r", "min.s32 %0, %0, %1;")
U3(min_max, u32, "r", "{max.s32 %0, %0, %1; min.s32 %0, %0, %2;}")
U2(min_s16x2, u32, "r", "min.s16x2 %0, %0, %1;")
U2(add_u16x2, u32, "r", "add.u16x2 %0, %0, %1;")
U2(abs, u32, "r", "{abs.s32 %0, %0; sub.u32 %0, %1, %0;}")
U3(sad, u32, "r", "sad.u32 %0, %0, %1, %2;")
U3(vabsdiff4, u32, "r", "vabsdiff4.u32.u32.u32.add %0, %0, %1, %2;")
U2(dp4a, u32, "r", "dp4a.u32.u32 %0, %0, %1, %0;")
U2(dp2a, u32, "r", "dp2a.lo.u32.u32 %0, %0, %1, %0;")
U3(select, u32, "r", "{.reg .pred p; setp.lt.u32 p, %0, %1; selp.u32 %0, %1, %2, p;}")
U3(guarded, u32, "r", "{.reg .pred p; setp.lt.u32 p, %0, %1; @p add.u32 %0, %0, %2;}")
PACE(compare64, u64, "{.reg .pred p; setp.lt.s64 p, %0, %1; selp.u64 %0, %1, %2, p;}" : "+l"(x) : "l"(y), "l"(z))

// --- floats -----------------------------------------------------------------------------------------
U3(ffma, float, "f", "fma.rn.f32 %0, %0, %1, %2;")
U2(fadd, float, "f", "add.f32 %0, %0, %1;")
U2(fmul, float, "f", "mul.f32 %0, %0, %1;")
U2(fmin, float, "f", "min.f32 %0, %0, %1;")
U2(fadd_down, float, "f", "add.rm.f32 %0, %0, %1;")
U3(fselect, float, "f", "{.reg .pred p; setp.lt.f32 p, %0, %1; selp.f32 %0, %1, %2, p;}")
U2(fset, float, "f", "set.lt.f32.f32 %0, %0, %1;")
U2(fdiv_approx, float, "f", "div.approx.f32 %0, %0, %1;")
U2(fdiv_full, float, "f", "div.full.f32 %0, %0, %1;")
U2(fdiv, float, "f", "div.rn.f32 %0, %0, %1;")
U1(sqrt_approx, float, "f", "sqrt.approx.f32 %0, %0;")
U1(sqrt, float, "f", "sqrt.rn.f32 %0, %0;")
U2(rcp, float, "f", "{rcp.approx.ftz.f32 %0, %0; add.f32 %0, %0, %1;}")
U1(rsqrt, float, "f", "rsqrt.approx.ftz.f32 %0, %0;")
U1(ex2, float, "f", "ex2.approx.ftz.f32 %0, %0;")
U1(lg2, float, "f", "lg2.approx.ftz.f32 %0, %0;")
U1(sin, float, "f", "sin.approx.ftz.f32 %0, %0;")
U1(tanh, float, "f", "tanh.approx.f32 %0, %0;")
U3(dfma, double, "d", "fma.rn.f64 %0, %0, %1, %2;")
U2(dadd, double, "d", "add.f64 %0, %0, %1;")
U2(dmul, double, "d", "mul.f64 %0, %0, %1;")
U2(dmin, double, "d", "min.f64 %0, %0, %1;")
U3(dselect, double, "d", "{.reg .pred p; setp.lt.f64 p, %0, %1; selp.f64 %0, %1, %2, p;}")
U2(ddiv, double, "d", "div.rn.f64 %0, %0, %1;")
U1(dsqrt, double, "d", "sqrt.rn.f64 %0, %0;")
U1(drcp, double, "d", "rcp.approx.ftz.f64 %0, %0;")
U3(hfma2, u32, "r", "fma.rn.f16x2 %0, %0, %1, %2;")
U2(hadd2, u32, "r", "add.f16x2 %0, %0, %1;")
U2(hmul2, u32, "r", "mul.f16x2 %0, %0, %1;")
U2(hmin2, u32, "r", "min.f16x2 %0, %0, %1;")
U3(hfma2_bf16, u32, "r", "fma.rn.bf16x2 %0, %0, %1, %2;")
U2(hset2, u32, "r", "set.lt.f16x2.f16x2 %0, %0, %1;")
U1(hex2, u32, "r", "ex2.approx.f16x2 %0, %0;")
U1(htanh2, u32, "r", "tanh.approx.f16x2 %0, %0;")

// --- conversions ------------------------------------------------------------------------------------
U1(f32_s32, u32, "r", "{.reg .f32 t; cvt.rn.f32.s32 t, %0; mov.b32 %0, t;}")
U1(f32_u8, u32, "r", "{.reg .f32 t; .reg .u8 b; cvt.u8.u32 b, %0; cvt.rn.f32.u8 t, b; mov.b32 %0, t;}")
U1(s32_f32, u32, "r", "{.reg .f32 t; mov.b32 t, %0; cvt.rzi.s32.f32 %0, t;}")
U1(frnd, float, "f", "cvt.rni.f32.f32 %0, %0;")
U1(f16_f32, u32, "r", "{.reg .f32 t; .reg .b16 h; mov.b32 t, %0; cvt.rn.f16.f32 h, t; cvt.u32.u16 %0, h;}")
U1(f32_f16, u32, "r", "{.reg .f32 t; .reg .b16 h, l; mov.b32 {h, l}, %0; cvt.f32.f16 t, h; mov.b32 %0, t;}")
U2(f16x2_f32, float, "f", "{.reg .b32 t; cvt.rn.f16x2.f32 t, %0, %1; mov.b32 %0, t;}")
U2(bf16x2_f32, float, "f", "{.reg .b32 t; cvt.rn.bf16x2.f32 t, %0, %1; mov.b32 %0, t;}")
U1(tf32_f32, float, "f", "{.reg .b32 t; cvt.rna.tf32.f32 t, %0; mov.b32 %0, t;}")
U2(e4m3x2_f32, float, "f", "{.reg .b16 t; .reg .b32 r; cvt.rn.satfinite.e4m3x2.f32 t, %0, %1; cvt.u32.u16 r, t; mov.b32 %0, r;}")
U1(f16x2_e4m3x2, u32, "r", "{.reg .b16 l, h; mov.b32 {l, h}, %0; cvt.rn.f16x2.e4m3x2 %0, l;}")
U1(f64_f32_f64, double, "d", "{.reg .f32 t; cvt.rn.f32.f64 t, %0; cvt.f64.f32 %0, t;}")
U1(f64_s32_f64, double, "d", "{.reg .s32 t; cvt.rzi.s32.f64 t, %0; cvt.rn.f64.s32 %0, t;}")
U1(f64_s64_f64, double, "d", "{.reg .s64 t; cvt.rzi.s64.f64 t, %0; cvt.rn.f64.s64 %0, t;}")
U1(f32_s64_f32, float, "f", "{.reg .s64 t; cvt.rzi.s64.f32 t, %0; cvt.rn.f32.s64 %0, t;}")
U1(drnd, double, "d", "cvt.rni.f64.f64 %0, %0;")

// --- lanes of a warp, special registers, barriers -----------------------------------------------------
U1(shfl_down, u32, "r", "shfl.sync.down.b32 %0, %0, 1, 31, -1;")
U1(shfl_bfly, u32, "r", "shfl.sync.bfly.b32 %0, %0, 16, 31, -1;")
U1(shfl_idx, u32, "r", "shfl.sync.idx.b32 %0, %0, %0, 31, -1;")
U3(shfl_any, u32, "r", "{shfl.sync.idx.b32 %0, %0, %1, 31, -1; add.u32 %0, %0, %2;}")
U1(ballot, u32, "r", "{.reg .pred p; setp.ne.u32 p, %0, 5; vote.sync.ballot.b32 %0, p, -1;}")
U2(vote_all, u32, "r", "{.reg .pred p; setp.ne.u32 p, %0, 5; vote.sync.all.pred p, p, -1; selp.u32 %0, %1, 3, p;}")
U1(activemask, u32, "r", "{.reg .u32 t; activemask.b32 t; add.u32 %0, %0, t; shr.u32 %0, %0, 1;}")
U1(redux_add, u32, "r", "redux.sync.add.u32 %0, %0, -1;")
U1(redux_min, u32, "r", "redux.sync.min.s32 %0, %0, -1;")
U1(redux_or, u32, "r", "redux.sync.or.b32 %0, %0, -1;")
U1(match_any, u32, "r", "match.any.sync.b32 %0, %0, -1;")
U2(match_any_apart, u32, "r", "{.reg .u32 t; mov.u32 t, %%laneid; add.u32 t, t, %0; match.any.sync.b32 t, t, -1; and.b32 %0, t, %1;}")
U1(match_all, u32, "r", "match.all.sync.b32 %0, %0, -1;")
U2(elect, u32, "r", "{.reg .pred p; .reg .u32 t; elect.sync t|p, -1; @p add.u32 %0, %0, %1;}")
U1(syncwarp, u32, "r", "bar.warp.sync -1;")
U1(warpid, u32, "r", "{.reg .u32 t; mov.u32 t, %%warpid; add.u32 %0, %0, t; shr.u32 %0, %0, 1;}")
U1(smid, u32, "r", "{.reg .u32 t; mov.u32 t, %%smid; add.u32 %0, %0, t; shr.u32 %0, %0, 1;}")
U1(clock32, u32, "r", "{.reg .u32 t; mov.u32 t, %%clock; add.u32 %0, %0, t;}")
U1(clock64, u64, "l", "{.reg .u64 t; mov.u64 t, %%clock64; add.u64 %0, %0, t;}")
U1(globaltimer, u64, "l", "{.reg .u64 t; mov.u64 t, %%globaltimer; add.u64 %0, %0, t;}")
PACE(fence_block, u32, "fence.acq_rel.cta;" ::: "memory")
PACE(fence_gpu, u32, "fence.acq_rel.gpu;" ::: "memory")
PACE(barrier, u32, "barrier.sync 0;" ::: "memory")
PACE(barrier_red, u32, "{.reg .pred p; setp.ne.u32 p, %0, 5; barrier.red.popc.u32 %0, 0, p;}" : "+r"(x)::"memory")
U1(matrix_moved, u32, "r", "movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;")

// --- memory: the address of a chain depends on what was read, which is zero ------------------------------
#define PLACE(NAME, ROW, BEGIN, ...)                                                     \
    struct op_##NAME {                                                                   \
        typedef u32 type;                                                                \
        u64 at;                                                                          \
        u32 near;                                                                        \
        __device__ __forceinline__ void start(char *data, u32 never) {                   \
            BEGIN;                                                                       \
            at = (u64)(data + 65536 + threadIdx.x * ROW);                                \
            near = (u32)__cvta_generic_to_shared(room) + (threadIdx.x % 32) * ROW;       \
        }                                                                                \
        __device__ __forceinline__ void f(u32 &x, u32 y, u32 z) {                        \
            u64 to = at + x; u32 here = near + x;                                        \
            asm volatile(__VA_ARGS__);                                                   \
        }                                                                                \
    };                                                                                   \
    KERNELS(NAME)
#define ROOM                                                                             \
    __shared__ uint4 room[256];                                                          \
    for (u32 k = threadIdx.x; k < 256; k += blockDim.x) room[k] = make_uint4(0, 0, 0, 0)
#define GLOBAL(NAME, ROW, TEXT) PLACE(NAME, ROW, ROOM, TEXT : "+r"(x) : "l"(to), "r"(y), "r"(z) : "memory")
#define SHARED(NAME, ROW, TEXT) PLACE(NAME, ROW, ROOM, TEXT : "+r"(x) : "r"(here), "r"(y), "r"(z) : "memory")
GLOBAL(ldg_u8, 1, "ld.global.ca.u8 %0, [%1];")
GLOBAL(ldg_u16, 2, "{.reg .u16 h; ld.global.ca.u16 h, [%1]; cvt.u32.u16 %0, h;}")
GLOBAL(ldg_32, 4, "ld.global.ca.u32 %0, [%1];")
GLOBAL(ldg_64, 8, "{.reg .u32 b; ld.global.ca.v2.u32 {%0, b}, [%1];}")
GLOBAL(ldg_128, 16, "{.reg .u32 b, c, d; ld.global.ca.v4.u32 {%0, b, c, d}, [%1];}")
GLOBAL(ldg_cg, 4, "ld.global.cg.u32 %0, [%1];")
GLOBAL(stg_32, 4, "st.volatile.global.u32 [%1], %2;")
GLOBAL(stg_128, 16, "st.volatile.global.v4.u32 [%1], {%2, %3, %2, %3};")
GLOBAL(atomg_add, 4, "atom.global.add.u32 %0, [%1], %2;")
GLOBAL(redg_add, 4, "red.global.add.u32 [%1], %2;")
GLOBAL(prefetch_l2, 4, "prefetch.global.L2 [%1];")
SHARED(lds_u8, 4, "ld.volatile.shared.u8 %0, [%1];")
SHARED(lds_32, 4, "ld.volatile.shared.u32 %0, [%1];")
SHARED(lds_64, 8, "{.reg .u32 b; ld.volatile.shared.v2.u32 {%0, b}, [%1];}")
SHARED(lds_128, 16, "{.reg .u32 b, c, d; ld.volatile.shared.v4.u32 {%0, b, c, d}, [%1];}")
SHARED(sts_u8, 4, "st.volatile.shared.u8 [%1], %2;")
SHARED(sts_32, 4, "st.volatile.shared.u32 [%1], %2;")
SHARED(sts_64, 8, "st.volatile.shared.v2.u32 [%1], {%2, %3};")
SHARED(sts_128, 16, "st.volatile.shared.v4.u32 [%1], {%2, %3, %2, %3};")
SHARED(atoms_add, 4, "atom.shared.add.u32 %0, [%1], %2;")
SHARED(atoms_inc, 4, "atom.shared.inc.u32 %0, [%1], %2;")
SHARED(atoms_min, 4, "atom.shared.min.s32 %0, [%1], %2;")
SHARED(atoms_or, 4, "atom.shared.or.b32 %0, [%1], 0;")
SHARED(atoms_exch, 4, "atom.shared.exch.b32 %0, [%1], %2;")
SHARED(atoms_cas, 4, "atom.shared.cas.b32 %0, [%1], %2, %3;")
SHARED(redns_add, 4, "red.shared.add.u32 [%1], %2;")
SHARED(ldmatrix_1, 16, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];")
SHARED(ldmatrix_2, 16, "{.reg .u32 b; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, b}, [%1];}")
SHARED(ldmatrix_4, 16, "{.reg .u32 b, c, d; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, b, c, d}, [%1];}")
SHARED(ldmatrix_4_trans, 16, "{.reg .u32 b, c, d; ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, b, c, d}, [%1];}")
SHARED(stmatrix_1, 16, "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%1], {%2};")
SHARED(stmatrix_4, 16, "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%1], {%2, %3, %2, %3};")
#define COPY(NAME, BYTES, HOW)                                                                  \
    PLACE(NAME, BYTES, ROOM, "cp.async." HOW ".shared.global [%1], [%2], " #BYTES ";\n"         \
          "cp.async.commit_group;\ncp.async.wait_group 0;" : "+r"(x) : "r"(here), "l"(to) : "memory")
COPY(cp_async_4, 4, "ca")
COPY(cp_async_16, 16, "cg")

// --- matrices: the accumulator is the chain -----------------------------------------------------------------
#define C4 "{%0, %1, %2, %3}"
#define MMA4(NAME, TEXT, A, B)                                                                  \
    PACE(NAME, Accumulator, TEXT C4 ", " A ", " B ", " C4 ";"                                   \
         : "+r"(x.v[0]), "+r"(x.v[1]), "+r"(x.v[2]), "+r"(x.v[3])                               \
         : "r"(y.v[0]), "r"(y.v[1]), "r"(y.v[2]), "r"(y.v[3]), "r"(z.v[0]), "r"(z.v[1]))
#define MMAF(NAME, TEXT, A, B)                                                                  \
    struct op_##NAME {                                                                          \
        typedef Accumulator type;                                                               \
        __device__ __forceinline__ void start(char *, u32) {}                                   \
        __device__ __forceinline__ void f(type &x, type y, type z) {                            \
            float *c = (float *)x.v;                                                            \
            asm volatile(TEXT C4 ", " A ", " B ", " C4 ";"                                      \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                               \
                 : "r"(y.v[0]), "r"(y.v[1]), "r"(y.v[2]), "r"(y.v[3]), "r"(z.v[0]), "r"(z.v[1]));\
        }                                                                                       \
    };                                                                                          \
    KERNELS(NAME)
#define MMA2(NAME, TEXT, A, B)                                                                  \
    PACE(NAME, Accumulator, TEXT "{%0, %1}, " A ", " B ", {%0, %1};"                            \
         : "+r"(x.v[0]), "+r"(x.v[1])                                                           \
         : "r"(x.v[2]), "r"(x.v[3]), "r"(y.v[0]), "r"(y.v[1]), "r"(y.v[2]), "r"(y.v[3]),        \
           "r"(z.v[0]), "r"(z.v[1]))
// operands of MMA4 and MMAF: A in %4 to %7, B in %8, %9; of MMA2: A in %4 to %7, B in %8, %9
#define A1 "{%4}"
#define A2 "{%4, %5}"
#define A4 "{%4, %5, %6, %7}"
#define B1 "{%8}"
#define B2 "{%8, %9}"
MMAF(hmma_16816_f32, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ", A4, B2)
MMAF(hmma_1688_f32, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 ", A2, B1)
MMA2(hmma_16816_f16, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 ", A4, B2)
MMA2(hmma_1688_f16, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 ", A2, B1)
MMAF(hmma_16816_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 ", A4, B2)
MMAF(hmma_1688_bf16, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 ", A2, B1)
MMAF(hmma_1688_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 ", A4, B2)
MMAF(hmma_1684_tf32, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 ", A2, B1)
MMA4(imma_16832_s8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 ", A4, B2)
MMA4(imma_16816_s8, "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 ", A2, B1)
MMA2(imma_8816_s8, "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 ", A1, B1)
MMA4(imma_16864_s4, "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 ", A4, B2)
MMA4(imma_16832_s4, "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32 ", A2, B1)
MMA2(imma_8832_s4, "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 ", A1, B1)
MMA4(bmma_168256, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc ", A4, B2)
MMA4(bmma_168128, "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc ", A2, B1)
MMA2(bmma_88128, "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc ", A1, B1)
MMAF(qmma_16832_e4m3, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 ", A4, B2)
PACE(dmma_884, Doubles, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
     : "+d"(x.v[0]), "+d"(x.v[1]) : "d"(y.v[0]), "d"(z.v[0]))
#define D4 "+d"(x.v[0]), "+d"(x.v[1]), "+d"(x.v[2]), "+d"(x.v[3])
PACE(dmma_1684, Doubles, "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 " C4 ", {%4, %5}, {%6}, " C4 ";"
     : D4 : "d"(y.v[0]), "d"(y.v[1]), "d"(z.v[0]))
PACE(dmma_1688, Doubles, "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 " C4 ", {%4, %5, %6, %7}, {%8, %9}, " C4 ";"
     : D4 : "d"(y.v[0]), "d"(y.v[1]), "d"(y.v[2]), "d"(y.v[3]), "d"(z.v[0]), "d"(z.v[1]))
PACE(dmma_16816, Doubles, "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 " C4
     ", {%4, %5, %6, %7, %4, %5, %6, %7}, {%8, %9, %8, %9}, " C4 ";"
     : D4 : "d"(y.v[0]), "d"(y.v[1]), "d"(y.v[2]), "d"(y.v[3]), "d"(z.v[0]), "d"(z.v[1]))

// --- control flow: branches over code that never runs, calls, lanes that part -------------------------------
__device__ __noinline__ u32 called(u32 x, u32 y) { asm volatile("xor.b32 %0, %0, %1;" : "+r"(x) : "r"(y)); return x; }
template <int N> __device__ __forceinline__ void waste(u32 &x, u32 y) {
#pragma unroll
    for (int k = 0; k < N; k++) asm volatile("popc.b32 %0, %0; xor.b32 %0, %0, %1;" : "+r"(x) : "r"(y) : "memory");
}
#define FLOW(NAME, ...)                                                                  \
    struct op_##NAME {                                                                   \
        typedef u32 type;                                                                \
        __device__ __forceinline__ void start(char *, u32) {}                            \
        __device__ __forceinline__ void f(u32 &x, u32 y, u32 z) { __VA_ARGS__; }         \
    };                                                                                   \
    KERNELS(NAME)
#define ADD asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(y))
FLOW(skip_8, ADD; if (x == 5) waste<4>(x, z); ADD)
FLOW(skip_32, ADD; if (x == 5) waste<16>(x, z); ADD)
FLOW(skip_128, ADD; if (x == 5) waste<64>(x, z); ADD)
FLOW(enter_8, ADD; if (x != 5) waste<4>(x, z); ADD)
FLOW(call, x = called(x, y))
FLOW(lanes_part, ADD; if (threadIdx.x & 1) waste<4>(x, y); else waste<4>(x, z); ADD)
