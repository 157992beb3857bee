"""What CUDA sources of whole Hopper kernels begin with: mbarriers, tensor copies, descriptors."""

PREAMBLE = """
typedef unsigned long long u64;
struct alignas(64) Map { u64 words[16]; };
extern __shared__ __align__(1024) unsigned char image[];
__device__ unsigned near(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void make(u64* bar, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(near(bar)), "r"(n));
}
__device__ void expect(u64* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(near(bar)), "r"(bytes) : "memory");
}
__device__ void wait(u64* bar, int phase) {
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;"
               " @!p bra W; }" :: "r"(near(bar)), "r"(phase) : "memory");
}
__device__ void arrive(u64* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(near(bar)) : "memory");
}
__device__ void arrive_at(u64* bar, int rank) {
  asm volatile("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, %1;"
               " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r]; }"
               :: "r"(near(bar)), "r"(rank) : "memory");
}
__device__ void load(void* to, const Map* map, u64* bar, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%2, %3}], [%4];"
               :: "r"(near(to)), "l"(map), "r"(x), "r"(y), "r"(near(bar)) : "memory");
}
__device__ void load_for(void* to, const Map* map, u64* bar, int x, int y, short ranks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
               :: "r"(near(to)), "l"(map), "r"(x), "r"(y), "r"(near(bar)), "h"(ranks) : "memory");
}
__device__ void store(const Map* map, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];\\n"
               "cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;"
               :: "l"(map), "r"(near(from)), "r"(x), "r"(y) : "memory");
}
__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
__device__ u64 described(const void* p, int leading, int stride, int mode) {
  return (u64)(near(p) >> 4 & 0x3fff) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32
         | (u64)mode << 62;
}
#define FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define FINISH() asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" \\
                              ::: "memory")
"""
