// Blocks of a cluster: their barrier and each other's shared memory.
#include <cooperative_groups.h>
#define KERNEL(name) \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) name(int* a, int* b, int* c)
#ifdef BUGGED
#define BUG(...) __VA_ARGS__
#define FIX(...)
#else
#define BUG(...)
#define FIX(...) __VA_ARGS__
#endif
#define T threadIdx.x
#define I (blockIdx.x * 64 + threadIdx.x)
namespace cg = cooperative_groups;

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
