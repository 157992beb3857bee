// Blocks of a cluster: their barrier and each other's shared memory.
#include <cooperative_groups.h>
#define KERNEL(name) \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) name(int* a, int* b, int* c)
#include "pairs.cuh"
#define I (blockIdx.x * 64 + threadIdx.x)
#define SH(x) ((unsigned)__cvta_generic_to_shared(x))
namespace cg = cooperative_groups;

__device__ __forceinline__ void bar_init(void* b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(SH(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void bar_expect(void* b, int n) { asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" :: "r"(SH(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void bar_wait(void* b, int parity) { int done = 0; while (!done)
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(SH(b)), "r"(parity) : "memory"); }

// @ fellow_read_without_cluster_sync: shared-read-write-race <<<4, 64>>>
KERNEL(fellow_read_without_cluster_sync) {
  __shared__ int s[64];
  auto cluster = cg::this_cluster();
  s[T] = a[T];
  BUG(__syncthreads();) FIX(cluster.sync();)
  c[I] = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[63 - T];
  cluster.sync();
}
// @ overwritten_while_the_fellow_reads: shared-read-write-race <<<4, 64>>>
KERNEL(overwritten_while_the_fellow_reads) {
  __shared__ int s[64];
  auto cluster = cg::this_cluster();
  s[T] = a[T];
  cluster.sync();
  int v = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[63 - T];
  FIX(cluster.sync();)
  s[T] = v;
  __syncthreads();
  c[I] = s[63 - T];
  cluster.sync();
}
// @ fellow_wrote_a_part: uninitialised-shared-read <<<4, 64>>>
KERNEL(fellow_wrote_a_part) {
  __shared__ int s[64];
  auto cluster = cg::this_cluster();
  BUG(if (T < 60)) s[T] = a[T];
  cluster.sync();
  c[I] = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[63 - T];
  cluster.sync();
}
// @ cluster_loses_updates: shared-write-race|shared-read-write-race <<<4, 64>>>
KERNEL(cluster_loses_updates) {
  __shared__ int total;
  auto cluster = cg::this_cluster();
  if (T == 0) total = 0;
  cluster.sync();
  int* first = cluster.map_shared_rank(&total, 0);
  BUG(*first += 1;) FIX(atomicAdd(first, 1);)
  cluster.sync();
  if (T == 0) c[blockIdx.x] = *first;
  cluster.sync();
}
// @ other_cluster_is_not_ordered: global-read-write-race <<<4, 64>>>
KERNEL(other_cluster_is_not_ordered) {
  a[I] = I;
  cg::this_cluster().sync();
  c[I] = a[I ^ BUG(128) FIX(64)];
}
// @ arrived_but_not_waited: shared-read-write-race <<<4, 64>>>
KERNEL(arrived_but_not_waited) {
  __shared__ int s[64];
  auto cluster = cg::this_cluster();
  s[T] = I;
  cluster.barrier_arrive();
  FIX(cluster.barrier_wait();)
  int v = *cluster.map_shared_rank(s + 63 - T, cluster.block_rank() ^ 1);
  BUG(cluster.barrier_wait();)
  c[I] = v;
  cluster.sync();
}
// @ relaxed_arrival: shared-read-write-race <<<4, 64>>>
KERNEL(relaxed_arrival) {
  __shared__ int s[64];
  auto cluster = cg::this_cluster();
  s[T] = I;
  BUG(asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");)
  FIX(asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");)
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
  c[I] = *cluster.map_shared_rank(s + 63 - T, cluster.block_rank() ^ 1);
  cluster.sync();
}
// @ one_block_leaves_the_cluster: endless-wait|barrier-deadlock <<<4, 64>>>
KERNEL(one_block_leaves_the_cluster) {
  auto cluster = cg::this_cluster();
  BUG(if (cluster.block_rank() == 0)) cluster.sync();
  BUG(else while (atomicAdd(b, 0) == 0);)
  c[I] = 1;
}
// @ fellow_beyond_its_array: out-of-bounds|invalid-access <<<2, 64>>>
KERNEL(fellow_beyond_its_array) {
  __shared__ int s[64];
  auto cluster = cg::this_cluster();
  s[T] = I;
  cluster.sync();
  int* p = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  c[I] = p[T BUG(+ 4096)];
  cluster.sync();
}
// @ remote_arrival_missing: endless-wait|barrier-deadlock <<<2, 32>>>
KERNEL(remote_arrival_missing) {
  __shared__ alignas(8) unsigned long long bar;
  auto cluster = cg::this_cluster();
  if (T == 0) { bar_init(&bar, 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  cluster.sync();
  if (T == 0 && cluster.block_rank() == 0 BUG(&& a[0] == 5)) {
    unsigned remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(remote) : "r"(SH(&bar)));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(remote) : "memory");
  }
  if (cluster.block_rank() == 1) bar_wait(&bar, 0);
  c[blockIdx.x * 32 + T] = 1;
  cluster.sync();
}
// @ remote_message: shared-read-write-race <<<2, 32>>>
KERNEL(remote_message) {
  __shared__ alignas(8) unsigned long long bar; __shared__ int s[32];
  auto cluster = cg::this_cluster();
  if (T == 0) { bar_init(&bar, 32); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  s[T] = 0;
  cluster.sync();
  if (cluster.block_rank() == 0) {
    *cluster.map_shared_rank(s + T, 1) = T;
    unsigned remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(remote) : "r"(SH(&bar)));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(remote) : "memory");
  } else { FIX(bar_wait(&bar, 0);) c[T] = s[31 - T]; }
  cluster.sync();
}
// @ multicast_read_early: shared-read-write-race <<<2, 64>>>
KERNEL(multicast_read_early) {
  __shared__ alignas(8) unsigned long long bar; __shared__ alignas(16) int s[64];
  auto cluster = cg::this_cluster();
  if (T == 0) { bar_init(&bar, 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); bar_expect(&bar, 256); }
  cluster.sync();
  if (T == 0 && cluster.block_rank() == 0)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;"
      :: "r"(SH(s)), "l"(a), "r"(SH(&bar)), "h"((unsigned short)3) : "memory");
  FIX(bar_wait(&bar, 0);) BUG(if (cluster.block_rank()) bar_wait(&bar, 0);)
  c[I] = s[63 - T];
  cluster.sync();
}
// @ message_by_async_store: shared-read-write-race <<<2, 32>>>
KERNEL(message_by_async_store) {
  __shared__ alignas(8) unsigned long long bar; __shared__ int s[32];
  auto cluster = cg::this_cluster();
  if (T == 0) { bar_init(&bar, 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); bar_expect(&bar, 128); }
  cluster.sync();
  if (cluster.block_rank() == 0) {
    unsigned bar1, s1;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(bar1) : "r"(SH(&bar)));
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(s1) : "r"(SH(s + T)));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0], %1, [%2];" :: "r"(s1), "r"(T), "r"(bar1) : "memory");
  } else { FIX(bar_wait(&bar, 0);) BUG(asm volatile("bar.sync 1, 32;" ::: "memory");) c[T] = s[31 - T]; }
  cluster.sync();
}
