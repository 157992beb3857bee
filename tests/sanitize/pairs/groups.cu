// Groups and their barriers, barriers of our own, lists, halves and padding.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_fp16.h>
#include "pairs.cuh"
#define N blockDim.x
namespace cg = cooperative_groups;
// @ two_rounds_of_our_own_barrier: global-read-write-race|global-write-race <<<3, 32>>>
__device__ void meet(int* count, int target) {
  __syncthreads();
  if (T == 0) {
    __threadfence(); atomicAdd(count, 1);
    while (atomicAdd(count, 0) < target);
    __threadfence();
  }
  __syncthreads();
}
KERNEL(two_rounds_of_our_own_barrier) {
  b[B * 32 + T] = a[T] + T;
  meet(a + 512, 3);
  int v = b[(B + 1) % 3 * 32 + T];
  FIX(meet(a + 512, 6);)
  b[B * 32 + T] = v;
}
// @ polled_barrier_with_loads: global-read-write-race|global-write-race <<<3, 32>>>
__device__ void meet2(int* count, int target) {
  __syncthreads();
  if (T == 0) {
    __threadfence(); atomicAdd(count, 1);
    while (*(volatile int*)count < target);
    __threadfence();
  }
  __syncthreads();
}
KERNEL(polled_barrier_with_loads) {
  b[B * 32 + T] = a[T] + T;
  meet2(a + 512, 3);
  int v = b[(B + 1) % 3 * 32 + T];
  FIX(meet2(a + 512, 6);)
  b[B * 32 + T] = v;
}
// @ sum_of_halves: shared-read-write-race|shared-write-race <<<1, 64>>>
KERNEL(sum_of_halves) {
  __shared__ __half s[4];
  if (T < 4) s[T] = __float2half(0.f);
  __syncthreads();
  BUG(s[T % 4] = s[T % 4] + __float2half(1.f);) FIX(atomicAdd(s + T % 4, __float2half(1.f));)
  __syncthreads();
  if (T < 4) c[T] = (int)__half2float(s[T]);
}
// @ group_reduce_and_scan: shared-read-write-race <<<1, 64>>>
KERNEL(group_reduce_and_scan) {
  __shared__ int s[64];
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  s[T] = cg::inclusive_scan(tile, a[T]);
  int total = cg::reduce(tile, a[T], cg::plus<int>());
  BUG(tile.sync();) FIX(__syncthreads();)
  c[T] = s[63 - T] + total;
}
// @ tile_of_sixty_four: shared-read-write-race <<<1, 128>>>
KERNEL(tile_of_sixty_four) {
  __shared__ cg::block_tile_memory<128> memory;
  __shared__ int s[128];
  auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
  s[T] = a[T];
  tile.sync();
  c[T] = s[BUG(127 - T) FIX(T / 64 * 64 + 63 - T % 64)];
}
// @ partition_by_parity: shared-read-write-race <<<1, 32>>>
KERNEL(partition_by_parity) {
  __shared__ int s[32];
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto part = cg::binary_partition(warp, T % 2 == 0);
  s[T] = a[T];
  part.sync();
  c[T] = s[BUG(31 - T) FIX(T < 30 ? T + 2 : T % 2)];
}
// @ split_barrier_of_a_grid: global-read-write-race <<<2, 32>>>
KERNEL(split_barrier_of_a_grid) {
  cg::grid_group grid = cg::this_grid();
  b[B * 32 + T] = a[T];
  auto token = grid.barrier_arrive();
  BUG(c[B * 32 + T] = b[(1 - B) * 32 + T];)
  grid.barrier_wait(std::move(token));
  FIX(c[B * 32 + T] = b[(1 - B) * 32 + T];)
}
// @ split_barrier_of_a_block: shared-read-write-race <<<1, 64>>>
KERNEL(split_barrier_of_a_block) {
  __shared__ int s[64];
  auto block = cg::this_thread_block();
  s[T] = a[T];
  auto token = block.barrier_arrive();
  BUG(c[T] = s[63 - T];)
  block.barrier_wait(std::move(token));
  FIX(c[T] = s[63 - T];)
}
// @ warps_hand_on: shared-read-write-race|shared-write-race <<<1, 96>>>
KERNEL(warps_hand_on) {
  __shared__ int data[32], turn;
  if (T == 0) turn = 0;
  if (T < 32) data[T] = a[T];
  __syncthreads();
  int w = T / 32;
  if (T % 32 == 0) while (atomicAdd(&turn, 0) != w);
  FIX(__threadfence_block();)
  __syncwarp();
  data[T % 32] += w;
  FIX(__threadfence_block();)
  __syncwarp();
  if (T % 32 == 0) atomicAdd(&turn, 1);
  __syncthreads();
  if (T < 32) c[T] = data[T];
}
// @ tile_loaded_by_columns: shared-read-write-race|shared-write-race <<<1, 64>>>
KERNEL(tile_loaded_by_columns) {
  __shared__ int x[8][9], y[8][9];
  int i = T / 8, j = T % 8, sum = 0;
  for (int k = 0; k < 3; k++) {
    x[i][j] = a[k * 64 + T]; y[j][i] = b[k * 64 + T];
    __syncthreads();
    for (int q = 0; q < 8; q++) sum += x[i][q] * y[j][q];
    FIX(__syncthreads();)
  }
  c[T] = sum;
}
// @ structure_with_padding: uninitialised-shared-read <<<1, 32>>>
KERNEL(structure_with_padding) {
  struct alignas(16) Item { int x, y, z; };
  __shared__ Item s[32];
  s[T].x = T; s[T].y = a[T]; FIX(s[T].z = 1;)
  __syncwarp();
  Item it = s[31 - T];
  c[T] = it.x + it.y + it.z;
}
// @ early_exit_in_a_scan: divergent-barrier|barrier-deadlock <<<1, 64>>>
KERNEL(early_exit_in_a_scan) {
  __shared__ int s[64];
  s[T] = a[T] + 1;
  __syncthreads();
  for (int d = 1; d < 64; d <<= 1) {
    int v = T >= d ? s[T - d] : 0;
    __syncthreads();
    s[T] += v;
    BUG(if (T < d) break;)
    __syncthreads();
  }
  c[T] = s[T];
}
// @ shuffle_in_a_loop_of_lanes: mask-names-absent-lane|shuffle-from-inactive-lane <<<1, 32>>>
KERNEL(shuffle_in_a_loop_of_lanes) {
  int sum = 0;
  for (int i = 0; i < BUG(1 + T % 3) FIX(3); i++) sum += __shfl_sync(~0u, T, i);
  c[T] = sum;
}
// @ leaked_slot_counter: global-read-write-race|global-write-race <<<2, 64>>>
KERNEL(leaked_slot_counter) {
  __shared__ int n, base;
  if (T == 0) n = 0;
  __syncthreads();
  int mine = T % 3 == 0 ? atomicAdd(&n, 1) : -1;
  __syncthreads();
  if (T == 0) { BUG(base = a[0]; a[0] = base + n;) FIX(base = atomicAdd(a, n);) }
  __syncthreads();
  if (mine >= 0) c[base + mine] = T;
}
// @ distances_relaxed_in_place: global-read-write-race|global-write-race <<<2, 32>>>
KERNEL(distances_relaxed_in_place) {
  int v = B * 32 + T, u = (v * 7 + 3) % 64;
  int d = BUG(a[v]) FIX(atomicAdd(a + v, 0)) + 1;
  BUG(if (d < a[u] + 5) a[u] = d;) FIX(atomicMin(a + u, d);)
}
// @ node_linked_at_the_head: global-read-write-race|global-write-race <<<3, 32>>>
KERNEL(node_linked_at_the_head) {
  if (T) return;
  int node = B + 1, old;
  BUG(old = a[0]; b[node] = old; a[0] = node;)
  FIX(do {
    old = atomicAdd(a, 0); b[node] = old; __threadfence();
  } while (atomicCAS(a, old, node) != old);)
}
// @ list_walked_while_it_grows: global-read-write-race <<<2, 32>>>
KERNEL(list_walked_while_it_grows) {
  if (T) return;
  if (B == 0) { b[1] = 77; FIX(__threadfence();) atomicExch(a, 1); }
  else { int n; while ((n = atomicAdd(a, 0)) == 0); FIX(__threadfence();) c[0] = b[n]; }
}
// @ second_tile_has_left: mask-names-absent-lane <<<1, 32>>>
KERNEL(second_tile_has_left) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int v = a[T];
  BUG(if (tile.meta_group_rank() == 1 && tile.thread_rank() > 5) return;)
  c[T] = tile.shfl_xor(v, 1);
}
