// Clusters, distributed shared memory, mbarriers with transaction counts, bulk copies (sm_90+).
#include <cooperative_groups.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;

#define KERNEL extern "C" __global__ void
typedef unsigned u32;
__device__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void wait_parity(u32 bar, u32 parity) {
    asm volatile("{.reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p,[%0],%1; @p bra D; bra L; D: }"
                 :: "r"(bar), "r"(parity) : "memory");
}

// Each turn loads 1 KiB by a bulk copy, waits for its bytes, and stores it by another.
KERNEL bulk_turns(const int *a, int *o, int turns) {
    __shared__ alignas(128) int in[256];
    __shared__ alignas(128) int out[256];
    __shared__ unsigned long long bar;
    u32 b = address(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0],1;" ::"r"(b) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    for (int t = 0; t < turns; t++) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0],1024;" ::"r"(b) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],1024,[%2];"
                         ::"r"(address(in)), "l"(a + 256 * t), "r"(b) : "memory");
        }
        wait_parity(b, t & 1);
        out[threadIdx.x] = in[255 - threadIdx.x] + t;
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],1024;" ::"l"(o + 256 * t), "r"(address(out)) : "memory");
            asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
        }
        __syncthreads();
    }
}
KERNEL bulk_barrier(const int *a, int *o) {
    __shared__ alignas(128) int s[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(s, a, cuda::aligned_size_t<16>(sizeof(s)), bar);
        token = bar.arrive();
    } else token = bar.arrive();
    bar.wait(std::move(token));
    o[threadIdx.x] = s[(threadIdx.x * 7) & 255];
}
KERNEL expected_bytes(int *o) {
    __shared__ unsigned long long bar;
    u32 b = address(&bar), done;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0],2;" ::"r"(b) : "memory");
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0],96;" ::"r"(b) : "memory");
        asm volatile("mbarrier.arrive.shared.b64 _,[%0],2;" ::"r"(b) : "memory");
        asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p,[%1],0; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(b) : "memory");
        o[0] = done;
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0],32;" ::"r"(b) : "memory");
        asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p,[%1],0; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(b) : "memory");
        o[1] = done;
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0],64;" ::"r"(b) : "memory");
        asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p,[%1],0; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(b) : "memory");
        o[2] = done;
        asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(b) : "memory");
    }
}
KERNEL elected(int *o) {
    u32 chosen;
    asm volatile("{.reg .pred p; elect.sync _|p,0xffffffff; selp.u32 %0,1,0,p;}" : "=r"(chosen));
    o[blockIdx.x * blockDim.x + threadIdx.x] = chosen;
}
KERNEL __cluster_dims__(4, 1, 1) cluster_ranks(int *o) {
    auto c = cg::this_cluster();
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    o[i] = c.block_rank(); o[i + n] = c.num_blocks(); o[i + 2 * n] = c.thread_rank();
    u32 r; asm("mov.u32 %0,%clusterid.x;" : "=r"(r)); o[i + 3 * n] = r;
}
KERNEL __cluster_dims__(2, 1, 1) neighbours(const int *a, int *o) {
    __shared__ int s[64];
    auto c = cg::this_cluster();
    s[threadIdx.x] = a[blockIdx.x * 64 + threadIdx.x];
    c.sync();
    int *other = c.map_shared_rank(s, c.block_rank() ^ 1);
    o[blockIdx.x * 64 + threadIdx.x] = other[63 - threadIdx.x];
    c.sync();
}
KERNEL __cluster_dims__(4, 1, 1) cluster_histogram(const int *a, int *o, int n) {
    __shared__ int bins[16];
    auto c = cg::this_cluster();
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    c.sync();
    for (int i = c.thread_rank(); i < n; i += c.num_threads()) {
        int b = a[i] & 63;
        atomicAdd(c.map_shared_rank(bins, b >> 4) + (b & 15), 1);
    }
    c.sync();
    if (threadIdx.x < 16) o[c.block_rank() * 16 + threadIdx.x] = bins[threadIdx.x];
}
