// Kernels of a few instructions each, for what the counters count of them (class_cases.py).
// All take (in, out, p, q, r, s); in[i] = i, out is zero before each launch.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
typedef unsigned u32;
typedef unsigned long long u64;
#define KERNEL extern "C" __global__ void
#define ARGUMENTS const u32 *in, u32 *out, u32 p, u32 q, u32 r, u32 s
#define LANE (threadIdx.x & 31)
#define ME (blockIdx.x * blockDim.x + threadIdx.x)

__device__ u32 address(const void *x) { return (u32)__cvta_generic_to_shared(x); }

// --- lanes that part and meet again --------------------------------------------------------------

KERNEL meet_groups(ARGUMENTS) {  // p groups of lanes shuffle on their own, then the warp meets
    u32 v = in[ME], group = LANE % p;
    for (u32 g = 0; g < p; g++)
        if (group == g) v += __shfl_xor_sync(__activemask(), v, q, 32);
    __syncwarp();
    out[ME] = v;
}

KERNEL meet_nested(ARGUMENTS) {  // some lanes shuffle, the others not, then a barrier
    u32 v = in[ME];
    if (LANE < p) {
        u32 mask = (1u << p) - 1;
        for (u32 i = 0; i < q; i++) v += __shfl_up_sync(mask, v, 1 << i, 32);
        if (LANE < r) {
            mask = (1u << r) - 1;
            for (u32 i = 0; i < q; i++) v += __shfl_up_sync(mask, v, 1 << i, 32);
        }
    }
    __syncthreads();
    out[ME] = v;
}

KERNEL meet_masks(ARGUMENTS) {  // both sides name their own lanes
    u32 v = in[ME];
    u32 mask = LANE < p ? (1u << p) - 1 : ~((1u << p) - 1);
    if (LANE < p) {
        v += __shfl_down_sync(mask, v, q);
        __syncwarp(mask);
        v *= 3;
    } else {
        v ^= __shfl_xor_sync(mask, v, r);
        __syncwarp(mask);
        v *= 5;
    }
    __syncwarp(s);
    out[ME] = v;
}

KERNEL meet_whole(ARGUMENTS) {  // the whole warp shuffles where it may be divided
    u32 v = in[ME];
    for (u32 i = 0; i < (LANE & p); i++) v = v * 3 + in[v & 255];
    v += __shfl_xor_sync(~0u, v, q);
    out[ME] = v;
}

KERNEL meet_remaining(ARGUMENTS) {  // lanes that have ended are missing
    u32 v = in[ME];
    if (LANE >= p) return;
    v += __shfl_xor_sync(~0u, v, q);
    __syncwarp();
    v += __shfl_down_sync(~0u, v, 1);
    out[ME] = v;
}

KERNEL leave_loops(ARGUMENTS) {  // BREAK out of two loops, without a WARPSYNC
    u32 v = in[ME], sum = 0;
    for (u32 i = 0; i < q; i++) {
        for (u32 j = 0; j < r; j++) {
            sum += in[(v + j) & 1023];
            if (sum % 7 == LANE % p) goto done;
            if (((sum >> 3) & 3) == (LANE & s)) break;
        }
        sum ^= i;
    }
done:
    out[ME] = sum;
}

KERNEL sync_loop(ARGUMENTS) {  // a WARPSYNC a round, without BREAK
    u32 v = in[ME];
    for (u32 i = 0; i < p; i++) {
        if (LANE & 1 << (i % 5)) v += in[(v + i) & 1023];
        __syncwarp();
        v = v * 5 + i;
    }
    out[ME] = v;
}

KERNEL votes(ARGUMENTS) {
    u32 v = in[ME];
    u32 sum = __ballot_sync(~0u, v & p) + __any_sync(~0u, v == q) + __all_sync(~0u, v != r);
    if (LANE < s) sum += __ballot_sync((1u << s) - 1, v & 2) + __activemask();
    out[ME] = sum;
}

KERNEL matches(ARGUMENTS) {
    u32 v = in[ME] % p;
    int all;
    u32 sum = __match_any_sync(~0u, v) + __match_all_sync(~0u, v / q, &all);
    if (LANE < s) sum += __match_any_sync((1u << s) - 1, (u64)v << 20);
    out[ME] = sum + all;
}

KERNEL reduces(ARGUMENTS) {
    u32 v = in[ME];
    u32 sum = __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, v) + __reduce_xor_sync(~0u, v);
    if (LANE < s) sum += __reduce_min_sync((1u << s) - 1, (int)v) + __reduce_or_sync((1u << s) - 1, v);
    out[ME] = sum;
}

KERNEL elects(ARGUMENTS) {
    u32 is = 0, who = 0;
    asm volatile("{ .reg .pred t; elect.sync %1|t, 0xffffffff; selp.u32 %0, 1, 0, t; }" : "=r"(is), "=r"(who));
    if (is) out[blockIdx.x] = who + 1;
}

__device__ __noinline__ u32 called(u32 v, u32 n) {
    for (u32 i = 0; i < n; i++) v = v * 3 + (v >> 7);
    return v;
}
__device__ __noinline__ u32 recursive(u32 v, u32 n) { return n == 0 ? v : recursive(v * 3, n - 1) + n; }
__device__ __noinline__ u32 other(u32 v, u32 n) { return v ^ n; }
__device__ u32 (*functions[2])(u32, u32) = {called, other};

KERNEL calls(ARGUMENTS) {
    u32 v = called(in[ME], LANE & p);
    if (LANE < q) v += called(v, 3);
    out[ME] = v;
}
KERNEL recursion(ARGUMENTS) { out[ME] = recursive(in[ME], LANE & p); }
KERNEL pointers(ARGUMENTS) { out[ME] = functions[(LANE & p) != 0](in[ME], q); }

KERNEL switches(ARGUMENTS) {
    u32 v = in[ME];
    switch (v & p) {
    case 0: v = v * 3 + in[v & 63]; break;
    case 1: v = v / 7; break;
    case 2: v = __popc(v) + in[(v * 3) & 63]; break;
    case 3: v = v ^ in[(v + 5) & 255]; break;
    case 4: v = __clz(v); break;
    case 5: v = in[v & 31] - v; break;
    case 6: v = v * v + in[(v >> 3) & 127]; break;
    default: v = ~v;
    }
    out[ME] = v;
}

KERNEL sleeps(ARGUMENTS) {
    __nanosleep(p);
    if (LANE < q) __nanosleep(p);
    out[ME] = 1;
}

KERNEL barriers_named(ARGUMENTS) {
    u32 v = in[ME];
    asm volatile("barrier.sync 1, %0;" ::"r"(p));
    asm volatile("barrier.sync 2, 128;");
    if (threadIdx.x < 64) asm volatile("barrier.arrive 3, 128;");
    else asm volatile("barrier.sync 3, 128;");
    v += __syncthreads_count(v & 1) + __syncthreads_or(v == q) + __syncthreads_and(v != r);
    out[ME] = v;
}

KERNEL specials(ARGUMENTS) {
    u32 v = threadIdx.x + 3 * threadIdx.y + 5 * threadIdx.z + blockIdx.x + blockIdx.y * 7 + blockIdx.z;
    v += blockDim.x + gridDim.x + gridDim.y;
#define SPECIAL(name) { u32 t; asm volatile("mov.u32 %0, %%" #name ";" : "=r"(t)); v += t & p; }
    SPECIAL(laneid) SPECIAL(warpid) SPECIAL(nwarpid) SPECIAL(smid) SPECIAL(nsmid) SPECIAL(clock)
    SPECIAL(lanemask_eq) SPECIAL(lanemask_lt) SPECIAL(lanemask_gt) SPECIAL(lanemask_le)
    SPECIAL(lanemask_ge) SPECIAL(dynamic_smem_size) SPECIAL(total_smem_size) SPECIAL(clock_hi)
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    v += (u32)t & p;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t));
    v += (u32)t & p;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(t));
    v += (u32)t & p;
    out[ME] = v;
}

KERNEL lane_masks(ARGUMENTS) {
    u32 a, b, c, d, e;
    asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(a));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(b));
    asm volatile("mov.u32 %0, %%lanemask_gt;" : "=r"(c));
    asm volatile("mov.u32 %0, %%lanemask_le;" : "=r"(d));
    asm volatile("mov.u32 %0, %%lanemask_ge;" : "=r"(e));
    out[0] = a + b + c + d + e;
}
KERNEL warp_ids(ARGUMENTS) {
    u32 a, b;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(a));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(b));
    out[0] = a + b;
}
KERNEL clocks(ARGUMENTS) { out[0] = (u32)clock() + (u32)clock64(); }

// --- generic, local and shared accesses ----------------------------------------------------------

struct alignas(16) Quad { u32 a, b, c, d; };
template <class T> __device__ void generic_copy(ARGUMENTS) {  // p: 1 global, 2 shared, 4 local, by lane
    __shared__ T shared[128];
    T local[4];
    volatile u32 *words = (volatile u32 *)&local;
    for (u32 i = 0; i < sizeof local / 4; i++) words[i] = i + q;
    ((volatile unsigned char *)shared)[threadIdx.x] = 1;
    __syncthreads();
    T *places[3] = {(T *)out + ME, shared + threadIdx.x, local + (q & 3)};
    T *at = places[p == 3 ? LANE % 3 : p];
    asm volatile("" : "+l"(at));
    if (LANE < r) {
        T v = *(volatile T *)at;
        if constexpr (sizeof(T) < 4) v = (T)(v + 1);
        *(volatile T *)at = v;
    }
}
#define GENERIC(name, T) KERNEL generic_##name(ARGUMENTS) { generic_copy<T>(in, out, p, q, r, s); }
GENERIC(u8, unsigned char)
GENERIC(u16, unsigned short)
GENERIC(u32, u32)
GENERIC(u64, u64)

KERNEL generic_u128(ARGUMENTS) {
    __shared__ Quad shared[128];
    Quad local[4];
    for (u32 i = 0; i < 16; i++) ((volatile u32 *)local)[i] = i + q;
    shared[threadIdx.x].a = 1;
    __syncthreads();
    Quad *places[3] = {(Quad *)out + ME, shared + threadIdx.x, local + (q & 3)};
    Quad *at = places[p == 3 ? LANE % 3 : p];
    asm volatile("" : "+l"(at));
    u32 a, b, c, d;
    if (LANE < r) {
        asm volatile("ld.volatile.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(at));
        asm volatile("st.volatile.v4.u32 [%4], {%0, %1, %2, %3};" ::"r"(a), "r"(b), "r"(c), "r"(d), "l"(at));
    }
}

KERNEL generic_atomics(ARGUMENTS) {  // p as above without local
    __shared__ u32 shared[128];
    shared[threadIdx.x] = 0;
    __syncthreads();
    u32 *at = (p == 2 ? LANE & 1 : p) ? shared + threadIdx.x / q : out + ME / q;
    asm volatile("" : "+l"(at));
    u32 v = 0;
    if (LANE < r) {
        v = atomicAdd(at, 1) + atomicMax(at, LANE) + atomicExch(at, 5);
        atomicOr(at, 4);
    }
    __syncthreads();
    if (v == 0xFFFFFFF) out[0] = shared[0];
}
KERNEL generic_cas(ARGUMENTS) {
    __shared__ u32 shared[128];
    shared[threadIdx.x] = 0;
    __syncthreads();
    u32 *at = (p == 2 ? LANE & 1 : p) ? shared + threadIdx.x / q : out + ME / q;
    asm volatile("" : "+l"(at));
    u32 v = LANE < r ? atomicCAS(at, 0, LANE) : 0;
    __syncthreads();
    if (v == 0xFFFFFFF) out[0] = shared[0];
}

template <class T> __device__ void local_copy(ARGUMENTS) {
    T values[32];
    u32 *words = (u32 *)values;
    for (u32 i = 0; i < sizeof values / sizeof(T); i++)
        if constexpr (sizeof(T) < 16) values[(i * q) & 31] = (T)(in[i]); else values[(i * q) & 31] = T{in[i], i, q, r};
    u32 sum = 0;
    if (LANE < r)
        for (u32 i = 0; i < s; i++) {
            T v = values[(i * q + (LANE & p)) & 31];
            sum += *(u32 *)&v;
        }
    out[ME] = sum + words[q & 7];
}
KERNEL local_u8(ARGUMENTS) { local_copy<unsigned char>(in, out, p, q, r, s); }
KERNEL local_u16(ARGUMENTS) { local_copy<unsigned short>(in, out, p, q, r, s); }
KERNEL local_u32(ARGUMENTS) { local_copy<u32>(in, out, p, q, r, s); }
KERNEL local_u64(ARGUMENTS) { local_copy<u64>(in, out, p, q, r, s); }
KERNEL local_u128(ARGUMENTS) { local_copy<Quad>(in, out, p, q, r, s); }

#define COPY(kind, bytes) asm volatile("cp.async." kind ".shared.global [%0], [%1], " #bytes ", %2;" ::"r"(to), "l"(from), "r"(size));
template <int BYTES> __device__ void zero_fill(ARGUMENTS) {
    __shared__ Quad shared[128];
    u32 to = address(shared) + threadIdx.x * BYTES;
    const char *from = (const char *)in + (u64)ME * BYTES;
    u32 size = LANE < p ? q : LANE < r ? s : BYTES;
    if constexpr (BYTES == 4) COPY("ca", 4)
    if constexpr (BYTES == 8) COPY("ca", 8)
    if constexpr (BYTES == 16) COPY("ca", 16)
    if constexpr (BYTES == 17) COPY("cg", 16)
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
    __syncthreads();
    out[ME] = ((u32 *)shared)[threadIdx.x];
}
KERNEL fill_4(ARGUMENTS) { zero_fill<4>(in, out, p, q, r, s); }
KERNEL fill_8(ARGUMENTS) { zero_fill<8>(in, out, p, q, r, s); }
KERNEL fill_16(ARGUMENTS) { zero_fill<16>(in, out, p, q, r, s); }
KERNEL fill_bypass(ARGUMENTS) {
    __shared__ Quad shared[128];
    u32 to = address(shared + threadIdx.x);
    const Quad *from = (const Quad *)in + ME;
    u32 size = LANE < p ? q : LANE < r ? s : 16;
    COPY("cg", 16)
    if (LANE < r) asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    out[ME] = shared[threadIdx.x].a;
}
KERNEL copy_ignored(ARGUMENTS) {  // copies that a predicate turns into zeros
    __shared__ Quad shared[128];
    u32 to = address(shared + threadIdx.x), is = LANE < p;
    const Quad *from = (const Quad *)in + ME;
    asm volatile("{ .reg .pred t; setp.ne.u32 t, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, t; }" ::"r"(to), "l"(from), "r"(is));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    out[ME] = shared[threadIdx.x].a;
}

KERNEL mbarriers(ARGUMENTS) {
    __shared__ u64 barrier;
    __shared__ u32 data[128];
    u32 at = address(&barrier), to = address(data + threadIdx.x), done = 0;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(blockDim.x));
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + ME));
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    asm volatile("{ .reg .pred t; mbarrier.test_wait.parity.shared.b64 t, [%1], 0; selp.u32 %0, 1, 0, t; }" : "=r"(done) : "r"(at));
    u64 token;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(at));
    __syncthreads();
    asm volatile("{ .reg .pred t; mbarrier.try_wait.shared.b64 t, [%1], %2; selp.u32 %0, 1, 0, t; }" : "=r"(done) : "r"(at), "l"(token));
    if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at));
    out[ME] = done + data[threadIdx.x ^ 1];
}

KERNEL bulk_copies(ARGUMENTS) {
    __shared__ alignas(128) u32 data[1024];
    __shared__ u64 barrier;
    u32 at = address(&barrier), to = address(data), done = 0;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
        asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(p));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(in), "r"(p), "r"(at));
        while (!done) asm volatile("{ .reg .pred t; mbarrier.try_wait.parity.shared.b64 t, [%1], 0; selp.u32 %0, 1, 0, t; }" : "=r"(done) : "r"(at) : "memory");
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + 1024 * blockIdx.x), "r"(to), "r"(p));
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(out + 1024 * blockIdx.x), "r"(to), "r"(p));
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in), "r"(p));
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
    }
    __syncthreads();
}

// --- atomics -------------------------------------------------------------------------------------

#define WORD(n) (((LANE >> p) * q & r) + (n))
KERNEL shared_counts(ARGUMENTS) {  // one is added: ATOMS.POPC.INC
    __shared__ u32 shared[1024];
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) shared[i] = 0;
    __syncthreads();
    if (LANE < s) atomicAdd(shared + WORD(0), 1u);
    __syncthreads();
    out[ME] = shared[threadIdx.x];
}
KERNEL shared_adds(ARGUMENTS) {
    __shared__ u32 shared[1024];
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) shared[i] = 0;
    __syncthreads();
    if (LANE < s) atomicAdd(shared + WORD(0), LANE);
    __syncthreads();
    out[ME] = shared[threadIdx.x];
}
KERNEL shared_others(ARGUMENTS) {
    __shared__ u32 shared[1024];
    __shared__ u64 wide[256];
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) shared[i] = wide[i & 255] = 0;
    __syncthreads();
    u32 v = 0;
    if (LANE < s) {
        v += atomicMin((int *)shared + WORD(0), (int)LANE) + atomicExch(shared + WORD(1), LANE);
        v += atomicAnd(shared + WORD(2), 7) + atomicInc(shared + WORD(3), 9) + atomicDec(shared + WORD(3), 9);
        v += atomicCAS(shared + WORD(4), 0, LANE);
        v += (u32)atomicAdd(wide + (WORD(0) & 255), 3ull) + (u32)atomicCAS(wide + (WORD(1) & 255), 0ull, 5ull);
        v += (u32)atomicExch(wide + (WORD(2) & 255), 9ull);
    }
    __syncthreads();
    out[ME] = shared[threadIdx.x] + v;
}
KERNEL shared_wide(ARGUMENTS) {
    __shared__ u64 wide[1024];
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) wide[i] = 0;
    __syncthreads();
    if (LANE < s) atomicExch(wide + WORD(0), 9ull);
    __syncthreads();
    out[ME] = (u32)wide[threadIdx.x];
}
KERNEL shared_wide_cas(ARGUMENTS) {
    __shared__ u64 wide[1024];
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) wide[i] = 0;
    __syncthreads();
    u64 v = LANE < s ? atomicCAS(wide + WORD(0), 0ull, 9ull) : 0;
    __syncthreads();
    out[ME] = (u32)(wide[threadIdx.x] + v);
}
KERNEL global_reductions(ARGUMENTS) {
    u32 *at = out + 2 * WORD(0) + 1024 * (ME / 32);
    if (LANE < s) {
        atomicAdd(at, 1);
        atomicAdd((float *)at + 256, 1.0f);
        atomicAdd((u64 *)at + 256, 1ull);
        atomicAdd((double *)at + 300, 1.0);
        atomicAdd((__half2 *)at + 700, __half2(1.0f, 2.0f));
        atomicAdd((__nv_bfloat162 *)at + 740, __nv_bfloat162(1.0f, 2.0f));
    }
}
KERNEL global_returns(ARGUMENTS) {
    u32 *at = out + 2 * WORD(0) + 1024 * (ME / 32), v = 0;
    if (LANE < s) {
        v += atomicAdd(at, 1) + atomicCAS(at + 128, 0, 5) + atomicExch(at + 256, 7);
        v += (u32)atomicAdd((float *)at + 384, 1.0f) + (u32)atomicAdd((u64 *)at + 256, 1ull);
        v += (u32)atomicCAS((u64 *)at + 320, 0ull, 5ull) + (u32)atomicAdd((double *)at + 384, 1.0);
    }
    out[(1 << 20) + ME] = v;
}
KERNEL vector_reductions(ARGUMENTS) {
    float *at = (float *)out + ME * 4;
    if (LANE < s) {
        asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(at), "f"(1.0f));
        asm volatile("red.global.add.v2.f32 [%0], {%1, %1};" ::"l"(at), "f"(1.0f));
        asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %1, %1, %1};" ::"l"(at), "r"(0x3C003C00));
    }
}

// --- matrices ------------------------------------------------------------------------------------

KERNEL matrix_loads(ARGUMENTS) {
    __shared__ alignas(128) u32 shared[2048];
    for (u32 i = threadIdx.x; i < 2048; i += blockDim.x) shared[i] = i;
    __syncthreads();
    u32 at = address(shared) + (LANE * p & q) * 16, a, b, c, d, sum = 0;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(at));
    sum += a;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    sum += a + b;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    sum += a + b + c + d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    sum += a + b;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    out[ME] = sum + a + b + c + d;
}
#define LOADS(n, list, ...) KERNEL matrix_load_x##n(ARGUMENTS) {                                        \
    __shared__ alignas(128) u32 shared[2048];                                                          \
    u32 at = address(shared) + (LANE * p & q) * 16, a = 0, b = 0, c = 0, d = 0;                        \
    asm volatile("ldmatrix.sync.aligned.m8n8.x" #n ".shared.b16 " list : __VA_ARGS__ : "r"(at));       \
    out[ME] = a + b + c + d; }
LOADS(1, "{%0}, [%1];", "=r"(a))
LOADS(2, "{%0, %1}, [%2];", "=r"(a), "=r"(b))
LOADS(4, "{%0, %1, %2, %3}, [%4];", "=r"(a), "=r"(b), "=r"(c), "=r"(d))
KERNEL matrix_stores(ARGUMENTS) {
    __shared__ alignas(128) u32 shared[2048];
    u32 at = address(shared) + (LANE * p & q) * 16, v = LANE;
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(at), "r"(v));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %1};" ::"r"(at), "r"(v));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(v));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(v));
    __syncthreads();
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(v) : "r"(shared[threadIdx.x]));
    out[ME] = v;
}
using namespace nvcuda;
template <class A, class C, int M, int N, int K, class B = A> __device__ void product(const void *in, void *out, u32 q) {
    wmma::fragment<wmma::matrix_a, M, N, K, A, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, M, N, K, B, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, M, N, K, C> c;
    wmma::fill_fragment(c, C(0));
    wmma::load_matrix_sync(a, (const A *)in, 64);
    wmma::load_matrix_sync(b, (const B *)in + 4096, 64);
    for (u32 i = 0; i < q; i++) wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync((C *)out, c, 64, wmma::mem_row_major);
}
KERNEL product_int8(ARGUMENTS) { product<signed char, int, 16, 16, 16>(in, out, q); }
KERNEL product_uint8(ARGUMENTS) { product<unsigned char, int, 32, 8, 16>(in, out, q); }
KERNEL product_half(ARGUMENTS) { product<__half, float, 16, 16, 16>(in, out, q); }
KERNEL product_half_half(ARGUMENTS) { product<__half, __half, 8, 32, 16>(in, out, q); }
KERNEL product_bf16(ARGUMENTS) { product<__nv_bfloat16, float, 16, 16, 16>(in, out, q); }
KERNEL product_double(ARGUMENTS) { product<double, double, 8, 8, 4>(in, out, q); }
KERNEL product_shared_int8(ARGUMENTS) {  // as tiles of IMMA code are loaded: from shared memory
    __shared__ alignas(128) signed char a[4096];
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) ((u32 *)a)[i] = in[i];
    __syncthreads();
    product<signed char, int, 16, 16, 16>(a, out, q);
}

// --- caches, fences, ends ------------------------------------------------------------------------

KERNEL hints(ARGUMENTS) {
    const u32 *at = in + ME;
    u32 v = 0, t;
    u64 policy;
    asm volatile("prefetch.global.L1 [%0];" ::"l"(at));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(t) : "l"(at), "l"(policy));
    v += t;
    v += __ldcg(at) + __ldcs(at) + __ldlu(at) + __ldcv(at) + __ldg(at);
    __stcs(out + ME, v);
    __stwt(out + ME + 4096, v);
}
KERNEL orders(ARGUMENTS) {
    u32 v, w, *at = out + ME;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(v + 1) : "memory");
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(w) : "l"(at) : "memory");
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(w) : "l"(at) : "memory");
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(at) : "memory");
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    out[ME + 4096] = v + w;
}
KERNEL fences(ARGUMENTS) {
    out[ME] = 1;
    __threadfence_block();
    out[ME + 4096] = 1;
    __threadfence();
    out[ME + 8192] = 1;
    __threadfence_system();
    asm volatile("fence.sc.gpu;");
    asm volatile("fence.acq_rel.cluster;");
    asm volatile("fence.proxy.async;");
    out[ME + 12288] = 1;
}
KERNEL dependents(ARGUMENTS) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    out[ME] = in[ME];
    asm volatile("griddepcontrol.launch_dependents;");
}
KERNEL __cluster_dims__(2, 1, 1) clusters(ARGUMENTS) {
    __shared__ u32 shared[128];
    namespace cg = cooperative_groups;
    cg::cluster_group cluster = cg::this_cluster();
    shared[threadIdx.x] = in[ME];
    cluster.sync();
    u32 *other = cluster.map_shared_rank(shared, cluster.block_rank() ^ 1);
    u32 v = other[threadIdx.x];
    atomicAdd(other + (threadIdx.x ^ 1), 2u);
    other[threadIdx.x & 63] = v;
    cluster.sync();
    out[ME] = shared[threadIdx.x] + v;
}
__constant__ u32 table[1024];
KERNEL constants(ARGUMENTS) {
    u32 v = table[(LANE & p) + q] + ((unsigned char *)table)[LANE & r] + ((unsigned short *)table)[LANE & r];
    v += (u32)((u64 *)table)[LANE & r];
    out[ME] = v;
}
KERNEL bits(ARGUMENTS) {  // tests of single bits: R2P
    u32 v = in[ME], sum = 0;
#pragma unroll
    for (u32 i = 0; i < 32; i++)
        if (v & 1u << i) sum = sum * 3 + in[i * 7 + q];
    out[ME] = sum;
}
KERNEL divisions(ARGUMENTS) {  // halves, doubles and 64-bit integers with slow paths
    double a = in[ME] + 1.5, b = (in[ME] & p) + 0.25;
    u64 m = (u64)in[ME] << q | 3;
    double t = a / b + sqrt(a) + sin(b) + exp(b * 0.01) + log(a);
    out[ME] = (u32)(m / (in[ME] + 3)) + (u32)(m % ((u64)r + 7)) + (u32)t + (u32)__float2half_rn((float)t);
}
KERNEL stores_off(ARGUMENTS) {  // whole warps predicated off, behind loads
    u32 v = in[ME];
    __shared__ u32 shared[256];
    for (u32 n = blockDim.x / 2; n > 0; n /= 2) {
        shared[threadIdx.x] = v;
        __syncthreads();
        if (threadIdx.x < n) {
            v += shared[threadIdx.x + n];
            shared[threadIdx.x] = v;
        }
        __syncthreads();
    }
    if (threadIdx.x < p) out[ME] = v;
}
