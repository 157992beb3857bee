// Barriers in functions and in both branches, waits that never end, masks that differ.
#include <cooperative_groups.h>
#include "pairs.cuh"
namespace cg = cooperative_groups;

__device__ __noinline__ void meet(int* s) { __syncthreads(); s[0] = s[0]; }

// @ group_sync_in_both_branches: divergent-barrier|barrier-deadlock <<<1, 64>>>
KERNEL(group_sync_in_both_branches) {
  auto block = cg::this_thread_block();
  if (T < BUG(40) FIX(32)) { c[T] = 1; BUG(block.sync();) } else { c[T] = 2; BUG(block.sync();) }
  FIX(block.sync();)
}
// @ called_from_both_branches: divergent-barrier|barrier-deadlock <<<1, 64>>>
KERNEL(called_from_both_branches) {
  BUG(if (T & 1) meet(a); else meet(b);)
  FIX(meet(a); meet(b);)
}
// @ uneven_rounds: divergent-barrier|barrier-deadlock <<<1, 96>>>
KERNEL(uneven_rounds) {
  for (int i = 0; i < (int)(a[T] + 2 BUG(+ T / 32)); ++i) { c[T] = i; __syncthreads(); }
}
// @ or_in_a_branch: divergent-barrier|barrier-deadlock <<<1, 64>>>
KERNEL(or_in_a_branch) {
  int v = 0;
  if (BUG(T < 48) FIX(a[0] == 0)) v = __syncthreads_or(a[T]);
  c[T] = v;
}
// @ left_tile: mask-names-absent-lane|barrier-deadlock|endless-wait <<<1, 32>>>
KERNEL(left_tile) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  BUG(if (tile.thread_rank() < 4) return;)
  tile.sync();
  c[T] = 1;
}
// @ one_block_stays_away: endless-wait|barrier-deadlock <<<4, 32>>>
KERNEL(one_block_stays_away) { BUG(if (B != 2)) cg::this_grid().sync(); c[T] = 1; }
// @ count_differs: barrier-count-mismatch|barrier-deadlock|endless-wait <<<1, 96>>>
KERNEL(count_differs) {
  if (T < 64) asm volatile("bar.sync 2, 64;" ::: "memory");
  BUG(else asm volatile("bar.sync 2, 96;" ::: "memory");)
  c[T] = 1;
}
// @ counts_while_waiting: endless-wait <<<1, 32>>>
KERNEL(counts_while_waiting) {
  int n = 0;
  if (T == 0) { while (*(volatile int*)b == BUG(0) FIX(1)) ++n; }
  c[T] = n;
}
// @ lock_never_opened: endless-wait <<<2, 32>>>
KERNEL(lock_never_opened) {
  if (T) return;
  while (atomicCAS(b, 0, 1)) __nanosleep(20);
  __threadfence();
  a[0] += 1;
  __threadfence();
  FIX(atomicExch(b, 0);)
}
// @ mbarrier_expects_more: endless-wait|barrier-deadlock <<<1, 32>>>
KERNEL(mbarrier_expects_more) {
  __shared__ unsigned long long bar;
  unsigned p = (unsigned)__cvta_generic_to_shared(&bar);
  if (T == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(p), "r"(BUG(33) FIX(32)) : "memory");
  __syncwarp();
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(p) : "memory");
  int done = 0;
  while (!done) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(p) : "memory");
  c[T] = 1;
}
// @ shuffle_beyond_the_mask: shuffle-from-inactive-lane <<<1, 32>>>
KERNEL(shuffle_beyond_the_mask) {
  int v = T;
  if (T < 16) { v += __shfl_sync(0xffff, v, BUG(T + 8) FIX((T + 8) % 16)); }
  c[T] = v;
}
// @ leader_by_match: mask-names-absent-lane|mask-without-caller|differing-masks <<<1, 64>>>
KERNEL(leader_by_match) {
  unsigned m = __match_any_sync(~0u, a[T] + T / 5);
  int leader = __ffs(m) - 1, base = 0;
  if ((int)(T % 32) == leader) base = atomicAdd(b, __popc(m));
  c[T] = __shfl_sync(BUG(m & ~1u) FIX(m), base, leader);
}
