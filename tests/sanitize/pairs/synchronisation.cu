// Barriers that not all reach, masks, and waits that nobody ends.
#include <cooperative_groups.h>
#include "pairs.cuh"
#define W (threadIdx.x / 32)
#define ALL 0xffffffffu
#define SHARED(p) ((unsigned)__cvta_generic_to_shared(p))
namespace cg = cooperative_groups;

__device__ __noinline__ void meet(int* p) { p[0] = 1; __syncthreads(); }

// @ part_of_a_warp: divergent-barrier|barrier-deadlock <<<1, 32>>>
KERNEL(part_of_a_warp) { BUG(if (T < 16)) __syncthreads(); c[T] = a[T]; }
// @ one_way_exits: divergent-barrier|barrier-deadlock <<<1, 64>>>
KERNEL(one_way_exits) { BUG(if (a[T] == 0 && T % 2)) FIX(if (a[T] == 0)) __syncthreads(); }
// @ both_branches: divergent-barrier|barrier-deadlock <<<1, 64>>>
KERNEL(both_branches) {
  if (BUG(W) FIX(a[0])) { c[T] = 1; __syncthreads(); c[T] += 2; }
  else { c[T] = 3; __syncthreads(); c[T] += 5; }
}
// @ rounds_differ: divergent-barrier|barrier-deadlock <<<1, 64>>>
KERNEL(rounds_differ) {
  for (int i = 0; i < BUG(1 + (int)W) FIX(2); ++i) { c[T] += a[i]; __syncthreads(); }
}
// @ returning_early_is_allowed: divergent-barrier|barrier-deadlock <<<1, 64>>>
KERNEL(returning_early_is_allowed) {
  FIX(if (T >= 40) return;)
  BUG(if (T < 40))
  __syncthreads();
  c[T] = a[T];
}
// @ barrier_in_a_function: divergent-barrier|barrier-deadlock <<<1, 32>>>
KERNEL(barrier_in_a_function) { BUG(if (T < 7)) meet(c); }
// @ block_group_in_a_branch: divergent-barrier|barrier-deadlock <<<1, 32>>>
KERNEL(block_group_in_a_branch) {
  auto block = cg::this_thread_block();
  BUG(if (T & 1) block.sync(); else block.sync();)
  FIX(block.sync();)
  c[T] = 1;
}
// @ too_few_for_a_named_barrier: barrier-deadlock|divergent-barrier <<<1, 64>>>
KERNEL(too_few_for_a_named_barrier) {
  BUG(asm volatile("bar.sync 1, 96;" ::: "memory");)
  FIX(asm volatile("bar.sync 1, 64;" ::: "memory");)
}
// @ counts_differ: barrier-count-mismatch|barrier-deadlock <<<1, 64>>>
KERNEL(counts_differ) {
  if (W == 0) asm volatile("bar.sync 1, 64;" ::: "memory");
  else { BUG(asm volatile("bar.sync 1, 32;" ::: "memory");) FIX(asm volatile("bar.sync 1, 64;" ::: "memory");) }
}
// @ caller_not_in_mask: mask-without-caller <<<1, 32>>>
KERNEL(caller_not_in_mask) { if (T < 16 BUG(+ 1)) __syncwarp(0xffff); c[T] = 1; }
// @ mask_names_others: mask-names-absent-lane <<<1, 32>>>
KERNEL(mask_names_others) { if (T < 16) c[T] = __shfl_sync(BUG(ALL) FIX(0xffff), T, 0); }
// @ masks_differ: differing-masks <<<1, 32>>>
KERNEL(masks_differ) {
  unsigned mask = T < 16 ? BUG(ALL) FIX(0xffffu) : BUG(0xfffffffeu) FIX(0xffff0000u);
  BUG(if (T == 0) mask = ALL;)
  c[T] = __ballot_sync(mask, a[T] == 0);
}
// @ source_lane_is_away: shuffle-from-inactive-lane|mask-names-absent-lane <<<1, 32>>>
KERNEL(source_lane_is_away) { if (T < 16) c[T] = __shfl_sync(0xffff, T, BUG(20) FIX(4)); }
// @ mbarrier_not_initialised: uninitialised-mbarrier <<<1, 32>>>
KERNEL(mbarrier_not_initialised) {
  __shared__ unsigned long long bar;
  if (T == 0) { BUG(bar = 0;) FIX(asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(SHARED(&bar)) : "memory");) }
  __syncthreads();
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(SHARED(&bar)) : "memory");
}
// @ flag_that_nobody_sets: endless-wait|barrier-deadlock <<<2, 32>>>
KERNEL(flag_that_nobody_sets) {
  if (T) return;
  if (blockIdx.x == 0) atomicExch(b + BUG(2) FIX(0), 1);
  else while (atomicAdd(b, 0) == 0);
}
// @ lock_that_stays_shut: endless-wait|barrier-deadlock <<<2, 32>>>
KERNEL(lock_that_stays_shut) {
  if (T) return;
  while (atomicCAS(b, 0, 1));
  FIX(atomicExch(b, 0);)
}
// @ part_of_the_grid: endless-wait|barrier-deadlock <<<3, 32>>>
KERNEL(part_of_the_grid) {
  BUG(if (blockIdx.x != 1)) cg::this_grid().sync();
  c[blockIdx.x] = 1;
}
// @ members_have_left: mask-names-absent-lane <<<1, 32>>>
KERNEL(members_have_left) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  BUG(if (T < 4) return;)
  tile.sync();
  c[T] = 1;
}
// @ members_stay_away: mask-names-absent-lane <<<1, 32>>>
KERNEL(members_stay_away) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int v = 0;
  BUG(if (T >= 4)) v = tile.shfl(T, 5);
  c[T] = v;
}
// @ too_few_arrivals: endless-wait|barrier-deadlock <<<1, 64>>>
KERNEL(too_few_arrivals) {
  __shared__ unsigned long long bar;
  if (T == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(SHARED(&bar)) : "memory");
  __syncthreads();
  BUG(if (W == 0))
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(SHARED(&bar)) : "memory");
  int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(SHARED(&bar)) : "memory");
}
