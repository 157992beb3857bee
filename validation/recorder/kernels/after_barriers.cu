// What a warp still issues that has come to a barrier, before it waits for the others: the first
// warp comes late, the others go on with four instructions of a kind and then store to shared memory.
__device__ unsigned late(unsigned value, unsigned cycles) {
    unsigned begin, now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(begin));
    do asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
    while (now - begin < cycles);
    return value + (now == 7);
}

__constant__ unsigned table[64] = {1, 3, 5};

#define AFTER(name, one)                                                                     \
    extern "C" __global__ void __launch_bounds__(128) name(unsigned *out, unsigned rounds,   \
                                                           unsigned cycles) {                \
        __shared__ __align__(1024) unsigned words[2048];                                     \
        unsigned lane = threadIdx.x, place = (unsigned)__cvta_generic_to_shared(words + 4 * lane); \
        unsigned a = lane + rounds, b = lane * 5 + 1, c = 3, left = rounds;                  \
        double d = lane + 0.5, e = 1;                                                        \
        unsigned *mine = out + 128 * blockIdx.x + lane;                                      \
        asm volatile("" : "+r"(place), "+r"(left), "+r"(cycles), "+r"(a), "+r"(b), "+r"(c), "+l"(mine)); \
        asm volatile("" : "+d"(d), "+d"(e));                                                 \
        do {                                                                                 \
            if (lane < 32) a = late(a, cycles);                                              \
            asm volatile("bar.sync 0;" ::: "memory");                                        \
            one one one one                                                                  \
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(place), "r"(a + b) : "memory");     \
        } while (--left);                                                                    \
        *mine = a + words[lane] + (unsigned)(d + e);                                         \
    }
#define A(text) asm volatile(text : "+r"(a), "+r"(b) : "r"(c), "r"(place), "l"(mine) : "memory");
#define D(text) asm volatile(text : "+d"(d), "+d"(e));

AFTER(iadd3, A("add.u32 %0, %0, %1;"))
AFTER(imad, A("mad.lo.u32 %0, %0, %1, %2;"))
AFTER(imad_wide, A("{.reg .u64 t; mad.wide.u32 t, %0, %1, %4; cvt.u32.u64 %0, t;}"))
AFTER(lop3, A("lop3.b32 %0, %0, %1, %2, 0x96;"))
AFTER(shf, A("shf.l.wrap.b32 %0, %0, %1, %2;"))
AFTER(prmt, A("prmt.b32 %0, %0, %1, %2;"))
AFTER(isetp, A("{.reg .pred p; setp.lt.u32 p, %0, %1; selp.u32 %0, %1, %2, p;}"))
AFTER(idp, A("dp4a.u32.u32 %0, %0, %1, %2;"))
AFTER(ffma, A("{.reg .f32 x, y; mov.b32 x, %0; mov.b32 y, %1; fma.rn.f32 x, x, y, x; mov.b32 %0, x;}"))
AFTER(fset, A("{.reg .f32 x, y; mov.b32 x, %0; mov.b32 y, %1; min.f32 x, x, y; mov.b32 %0, x;}"))
AFTER(hfma2, A("fma.rn.f16x2 %0, %0, %1, %2;"))
AFTER(dfma, D("fma.rn.f64 %0, %0, %1, %0;"))
AFTER(dadd, D("add.rn.f64 %0, %0, %1;"))
AFTER(mufu, A("{.reg .f32 x; mov.b32 x, %0; ex2.approx.ftz.f32 x, x; mov.b32 %0, x;}"))
AFTER(popc, A("popc.b32 %0, %0;"))
AFTER(flo, A("bfind.u32 %0, %0;"))
AFTER(brev, A("brev.b32 %0, %0;"))
AFTER(f2i, A("{.reg .f32 x; mov.b32 x, %0; cvt.rni.s32.f32 %0, x;}"))
AFTER(i2f, A("{.reg .f32 x; cvt.rn.f32.s32 x, %0; mov.b32 %0, x;}"))
AFTER(i2f64, A("{.reg .f64 x; .reg .b32 h; cvt.rn.f64.s32 x, %0; mov.b64 {%0, h}, x;}"))
AFTER(f2f, A("{.reg .f32 x; .reg .f64 y; .reg .b32 h; mov.b32 x, %0; cvt.f64.f32 y, x; mov.b64 {%0, h}, y;}"))
AFTER(f2fp, A("{.reg .f32 x, y; mov.b32 x, %0; mov.b32 y, %1; cvt.rn.f16x2.f32 %0, x, y;}"))
AFTER(vote, A("{.reg .pred p; setp.lt.u32 p, %0, %1; vote.sync.ballot.b32 %0, p, 0xffffffff;}"))
AFTER(shfl, A("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;"))
AFTER(match_any, A("match.any.sync.b32 %0, %0, 0xffffffff;"))
AFTER(redux, A("redux.sync.add.u32 %0, %0, 0xffffffff;"))
AFTER(cs2r, A("mov.u32 %0, %%clock;"))
AFTER(s2r, A("mov.u32 %0, %%laneid;"))
AFTER(mma, A("{.reg .b32 q, r, s, t; mov.b32 q, %0; mov.b32 r, %1; mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {q, r}, {q, r}, {r}, {q, r}; mov.b32 %0, q; mov.b32 %1, r;}"))
AFTER(dmma, D("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%0}, {%1}, {%0, %1};"))
AFTER(imma, A("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%0}, {%1}, {%0, %1};"))
AFTER(ldc, a += table[a & 31]; asm volatile("" : "+r"(a));)
AFTER(ldsm, A("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%3];"))
AFTER(lds, A("ld.shared.u32 %0, [%3];"))
AFTER(sts, A("st.shared.u32 [%3], %0;"))
AFTER(atoms, A("atom.shared.add.u32 %0, [%3], %1;"))
AFTER(ldg, A("ld.global.u32 %0, [%4];"))
AFTER(stg, A("st.global.u32 [%4], %0;"))
AFTER(red, A("red.global.add.u32 [%4], %0;"))
AFTER(ldgsts, A("cp.async.ca.shared.global [%3], [%4], 4;"))
AFTER(commit, A("cp.async.commit_group;"))
AFTER(wait_group, A("cp.async.wait_group 0;"))
AFTER(fence_block, A("fence.acq_rel.cta;"))
AFTER(warpsync, A("bar.warp.sync 0xffffffff;"))
AFTER(nanosleep, A("nanosleep.u32 20;"))
AFTER(prefetch, A("prefetch.global.L2 [%4];"))
AFTER(branch, A("{.reg .pred p; setp.eq.u32 p, %0, %1; @p bra.uni NEXT; add.u32 %0, %0, %1; NEXT: }"))
