// Thread block clusters: the cluster barrier, distributed shared memory, remote mbarriers (sm_90+).
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

#define KERNEL extern "C" __global__ void
typedef unsigned u32;
typedef unsigned long long u64;
__device__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ u32 mapped(u32 a, u32 rank) {
    u32 r;
    asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(rank));
    return r;
}
__device__ void meet() {
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ void open_barrier(u32 bar, u32 count) {
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(bar), "r"(count) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
}
__device__ void expect(u32 bar, u32 bytes) {
    if (threadIdx.x == 0)
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],%1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ void wait_parity(u32 bar, u32 parity) {
    asm volatile("{.reg .pred p; L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p,[%0],%1; @p bra D; bra L; D: }"
                 ::"r"(bar), "r"(parity) : "memory");
}

// What a block knows of its place; two-dimensional clusters.
#define SPECIAL(name) asm volatile("mov.u32 %0, %%" name ";" : "=r"(r)); o[k++ * n + i] = r;
__device__ void places(int *o) {
    u32 i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x, k = 0, r;
    u32 n = gridDim.x * gridDim.y * blockDim.x;
    SPECIAL("clusterid.x") SPECIAL("clusterid.y") SPECIAL("nclusterid.x") SPECIAL("nclusterid.y")
    SPECIAL("cluster_ctaid.x") SPECIAL("cluster_ctaid.y") SPECIAL("cluster_nctaid.x")
    SPECIAL("cluster_nctaid.y") SPECIAL("cluster_ctarank") SPECIAL("cluster_nctarank")
    auto c = cg::this_cluster();
    o[k++ * n + i] = c.block_rank() + 100 * c.num_blocks() + 10000 * c.block_index().y;
    o[k++ * n + i] = c.thread_rank() + 1000 * c.num_threads();
    asm volatile("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0,1,0,p;}" : "=r"(r));
    o[k * n + i] = r;
}
KERNEL __cluster_dims__(2, 3, 1) cluster_places(int *o) { places(o); }
KERNEL chosen_places(int *o) { places(o); }

// Every block passes its row on to the next of a ring, several times.
KERNEL __cluster_dims__(4, 1, 1) ring_exchange(const int *a, int *o, int turns) {
    __shared__ int row[2][64];
    auto c = cg::this_cluster();
    int t = threadIdx.x;
    row[0][t] = a[blockIdx.x * 64 + t];
    c.sync();
    for (int k = 0; k < turns; k++) {
        int *next = c.map_shared_rank(row[(k + 1) & 1], (c.block_rank() + 1) % c.num_blocks());
        next[t] = row[k & 1][t] + k;
        c.sync();
    }
    o[blockIdx.x * 64 + t] = row[turns & 1][t];
}
// A tree over blocks on top of warps' sums.
KERNEL __cluster_dims__(8, 1, 1) cluster_reduce(const int *a, int *o, int n) {
    __shared__ int sum;
    auto c = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    int mine = 0, first = blockIdx.x / 8 * n;
    for (int i = c.thread_rank(); i < n; i += c.num_threads()) mine += a[first + i];
    mine = __reduce_add_sync(~0u, mine);
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, mine);
    for (unsigned half = 4; half; half /= 2) {
        c.sync();
        if (c.block_rank() < half && threadIdx.x == 0) sum += *c.map_shared_rank(&sum, c.block_rank() + half);
    }
    c.sync();
    if (threadIdx.x == 0) o[blockIdx.x] = *c.map_shared_rank(&sum, 0);
    c.sync();
}
// Every kind of atomic on the next block's memory.
KERNEL __cluster_dims__(2, 1, 1) remote_atomics(int *o, u64 *wide, float *real, int *seen) {
    __shared__ int s[8];
    __shared__ u64 w[4];
    __shared__ float f;
    auto c = cg::this_cluster();
    int t = threadIdx.x, r = c.block_rank();
    if (t < 8) s[t] = t == 3 ? 1 << 30 : t == 7 ? -1 : 0;
    if (t < 4) w[t] = t == 1 ? ~0ull : 0;
    if (t == 0) f = 0.5f;
    c.sync();
    int *p = c.map_shared_rank(s, r ^ 1);
    u64 *q = c.map_shared_rank(w, r ^ 1);
    atomicAdd(p, t + r);
    atomicOr(p + 1, 1 << t);
    atomicMax(p + 2, 7 * t + r);
    atomicMin(p + 3, 1000 - t - r);
    atomicXor(p + 4, t * t);
    atomicInc((u32 *)p + 5, 20);
    int old = atomicAdd(p + 6, 1);
    atomicAnd(p + 7, ~(1 << t));
    atomicAdd(q, (u64)t << 33);
    if (t == 31) atomicMin(q + 1, (u64)(99 - t) << 20);  // compiled to a plain load and store
    for (u64 was = q[2];;) {
        u64 got = atomicCAS(q + 2, was, was + 3);
        if (got == was) break;
        was = got;
    }
    atomicExch(q + 3, (u64)5 << 40);
    atomicAdd(c.map_shared_rank(&f, r ^ 1), 0.25f * t);
    seen[blockIdx.x * 32 + old] = 1;
    c.sync();
    if (t < 8) o[blockIdx.x * 8 + t] = s[t];
    if (t < 4) wide[blockIdx.x * 4 + t] = w[t];
    if (t == 0) real[blockIdx.x] = f;
}
// Work between arriving and waiting; one warp uses another form than the others.
KERNEL __cluster_dims__(2, 1, 1) split_barrier(const int *a, int *o) {
    __shared__ int s[96];
    auto c = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * 96 + t;
    s[t] = a[i];
    auto token = c.barrier_arrive();
    int own = 3 * a[i];
    c.barrier_wait(std::move(token));
    own += *c.map_shared_rank(s + (95 - t), c.block_rank() ^ 1);
    if (t / 32 == 1) asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
    else asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait;" ::: "memory");
    o[i] = own;
}
// Threads that end count as having arrived.
KERNEL __cluster_dims__(2, 1, 1) early_exit(int *o) {
    __shared__ int s;
    auto c = cg::this_cluster();
    int t = threadIdx.x;
    if (t == 0) s = blockIdx.x + 10;
    if (t >= 40 && c.block_rank() == 1) return;
    c.sync();
    if (t == 0) o[blockIdx.x] = *c.map_shared_rank(&s, c.block_rank() ^ 1);
    c.sync();
}
// Every width of load and store, and bytes, in another block's memory.
KERNEL __cluster_dims__(2, 1, 1) widths(const int4 *a, int4 *o, signed char *bytes) {
    __shared__ int4 quad[32];
    __shared__ int2 pair[32];
    __shared__ short half[32];
    __shared__ signed char byte[32];
    auto c = cg::this_cluster();
    int t = threadIdx.x, i = blockIdx.x * 32 + t, other = c.block_rank() ^ 1;
    int4 v = a[i];
    c.sync();
    c.map_shared_rank(quad, other)[t] = v;
    c.map_shared_rank(pair, other)[31 - t] = make_int2(v.x, v.y);
    c.map_shared_rank(half, other)[t] = v.z;
    c.map_shared_rank(byte, other)[t] = v.w;
    c.sync();
    int4 q = c.map_shared_rank(quad, t & 1)[t];
    int2 p = c.map_shared_rank(pair, other)[t];
    o[i] = make_int4(q.x + p.x, q.y + p.y, q.z + c.map_shared_rank(half, t & 1)[t], q.w);
    bytes[i] = c.map_shared_rank(byte, other)[t];
    c.sync();
}
// A matrix turned round by exchanging tiles between blocks.
KERNEL __cluster_dims__(2, 2, 1) transposed(const float *a, float *o) {
    __shared__ float tile[16][17];
    auto c = cg::this_cluster();
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = a[(blockIdx.y * 16 + y) * 32 + blockIdx.x * 16 + x];
    c.sync();
    int other = blockIdx.x % 2 * 2 + blockIdx.y % 2;
    float *far = c.map_shared_rank(&tile[0][0], other);
    o[(blockIdx.y * 16 + y) * 32 + blockIdx.x * 16 + x] = far[x * 17 + y];
    c.sync();
}
// Threads of one block arrive at an mbarrier of another, which waits for them alone.
KERNEL __cluster_dims__(4, 1, 1) remote_arrive(int *o) {
    __shared__ u64 bar;
    __shared__ int got[3];
    auto c = cg::this_cluster();
    u32 b = address(&bar), rank = c.block_rank();
    open_barrier(b, 3 * 32);
    meet();
    if (rank != 0) {
        if (threadIdx.x == 5) *c.map_shared_rank(&got[rank - 1], 0) = 100 * rank + blockIdx.x;
        __syncwarp();
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%0];" ::"r"(mapped(b, 0)) : "memory");
    } else {
        wait_parity(b, 0);
        if (threadIdx.x < 3) o[blockIdx.x / 4 * 3 + threadIdx.x] = got[threadIdx.x];
    }
    meet();
}
// Asynchronous stores that report their bytes to the receiver's mbarrier.
KERNEL __cluster_dims__(2, 1, 1) store_async(const int *a, int *o) {
    __shared__ u64 bar;
    __shared__ alignas(16) int got[32];
    __shared__ alignas(16) long long wide[32];
    auto c = cg::this_cluster();
    u32 b = address(&bar), t = threadIdx.x, other = c.block_rank() ^ 1;
    open_barrier(b, 1);
    expect(b, 32 * 12);
    meet();
    int v = a[blockIdx.x * 32 + t];
    u32 far = mapped(b, other);
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0],%1,[%2];"
                 ::"r"(mapped(address(got + t), other)), "r"(v), "r"(far) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.s64 [%0],%1,[%2];"
                 ::"r"(mapped(address(wide + t), other)), "l"((long long)v << 20), "r"(far) : "memory");
    wait_parity(b, 0);
    o[blockIdx.x * 32 + t] = got[31 - t] + (int)(wide[t] >> 20);
    meet();
}
// Reductions that report their bytes.
KERNEL __cluster_dims__(2, 1, 1) reduce_async(const int *a, int *o) {
    __shared__ u64 bar;
    __shared__ int got[3];
    u32 b = address(&bar), t = threadIdx.x, other = cg::this_cluster().block_rank() ^ 1;
    if (t < 3) got[t] = t == 1 ? -1 : 0;
    open_barrier(b, 1);
    expect(b, 64 * 12);
    meet();
    u32 g = mapped(address(got), other), far = mapped(b, other), v = a[blockIdx.x * 64 + t];
#define RED(op, off) asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." op " [%0],%1,[%2];" ::"r"(g + off), "r"(v), "r"(far) : "memory");
    RED("add.u32", 0) RED("min.u32", 4) RED("max.s32", 8)
    wait_parity(b, 0);
    if (t < 3) o[blockIdx.x * 3 + t] = got[t];
    meet();
}
// A bulk copy from one block's memory into another's.
KERNEL __cluster_dims__(2, 1, 1) bulk_between(const int *a, int *o) {
    __shared__ u64 bar;
    __shared__ alignas(128) int from[64];
    __shared__ alignas(128) int to[64];
    u32 b = address(&bar), t = threadIdx.x, other = cg::this_cluster().block_rank() ^ 1;
    from[t] = a[blockIdx.x * 64 + t];
    to[t] = -1;
    open_barrier(b, 1);
    expect(b, 128);
    asm volatile("fence.proxy.async;" ::: "memory");
    meet();
    if (t == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0],[%1],128,[%2];"
                     ::"r"(mapped(address(to + 16), other)), "r"(address(from + 32)), "r"(mapped(b, other)) : "memory");
    wait_parity(b, 0);
    o[blockIdx.x * 64 + t] = to[t];
    meet();
}
// One copy from global memory into several blocks at once.
KERNEL __cluster_dims__(4, 1, 1) multicast(const int *a, int *o) {
    __shared__ u64 bar;
    __shared__ alignas(128) int s[32];
    u32 b = address(&bar), t = threadIdx.x, rank = cg::this_cluster().block_rank();
    s[t] = -7;
    open_barrier(b, 1);
    expect(b, rank == 1 ? 0 : 128);
    asm volatile("fence.proxy.async;" ::: "memory");
    meet();
    if (rank == 2 && t == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0],[%1],128,[%2],%3;"
                     ::"r"(address(s)), "l"(a), "r"(b), "h"((short)13) : "memory");
    wait_parity(b, 0);
    o[blockIdx.x * 32 + t] = s[t];
    meet();
}
// Which window an address belongs to, and whose.
KERNEL __cluster_dims__(2, 1, 1) queries(int *o) {
    __shared__ int s;
    auto c = cg::this_cluster();
    int local = threadIdx.x, r;
    const void *all[4] = {&s, c.map_shared_rank(&s, 0), c.map_shared_rank(&s, 1), o};
    int i = (blockIdx.x * 32 + threadIdx.x) * 4;
    for (int k = 0; k < 4; k++) {
        const void *p = all[(k + local) & 3];
        asm volatile("{.reg .pred p; isspacep.shared::cta p,%1; selp.u32 %0,1,0,p;}" : "=r"(r) : "l"(p));
        int bits = r;
        asm volatile("{.reg .pred p; isspacep.shared::cluster p,%1; selp.u32 %0,2,0,p;}" : "=r"(r) : "l"(p));
        bits |= r;
        asm volatile("{.reg .pred p; isspacep.global p,%1; selp.u32 %0,4,0,p;}" : "=r"(r) : "l"(p));
        bits |= r;
        if (bits & 2) bits |= 8 << c.query_shared_rank(p);
        o[i + k] = bits;
    }
}
// Counts of distributed shared memory: what each lane accesses is known beforehand.
KERNEL __cluster_dims__(4, 1, 1) counted(int *o) {
    __shared__ int s[64];
    auto c = cg::this_cluster();
    int t = threadIdx.x, r = c.block_rank();
    s[t] = t;
    c.sync();
    int *far = c.map_shared_rank(s, r ^ 1);       // another block: one request
    int *mixed = c.map_shared_rank(s, t & 3);     // three other blocks and its own
    int v = far[t] + mixed[t];
    c.sync();
    far[t] = v;
    atomicAdd(far + 32, 1);
    c.sync();
    o[blockIdx.x * 32 + t] = s[t] + s[32];
}
// Faults and hang-ups, as arguments ask.
KERNEL __cluster_dims__(2, 1, 1) broken(int *o, int how, int rank) {
    __shared__ int s[4];
    auto c = cg::this_cluster();
    s[threadIdx.x & 3] = 1;
    if (how == 0) o[0] = *(volatile int *)c.map_shared_rank(s, rank);
    if (how == 1 && c.block_rank() == 1) {
        asm volatile("barrier.cluster.arrive;" ::: "memory");
        return;
    }
    if (how == 2 && c.block_rank() == 1) __nanosleep(1);
    if (how == 2 && c.block_rank() == 1 && o[5] == 0) { asm volatile("bar.sync 1, 64;" ::: "memory"); }
    c.sync();
    if (how == 1) o[0] = *(volatile int *)c.map_shared_rank(s, 1);
}
