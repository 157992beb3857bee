// Races between the warps of a block: barriers, named barriers, copies and mbarriers.
#include <cooperative_groups.h>
#include "pairs.cuh"
#define W (threadIdx.x / 32)
#define SHARED(p) ((unsigned)__cvta_generic_to_shared(p))
#define COPY(to, from) \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(SHARED(to)), "l"(from) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
namespace cg = cooperative_groups;

// @ read_without_barrier: shared-read-write-race <<<1, 64>>>
KERNEL(read_without_barrier) {
  __shared__ int s[64];
  s[T] = a[T];
  FIX(__syncthreads();)
  c[T] = s[63 - T];
}
// @ barrier_missing_in_a_loop: shared-read-write-race <<<1, 64>>>
KERNEL(barrier_missing_in_a_loop) {
  __shared__ int s[64];
  int sum = 0;
  for (int i = 0; i < 3; ++i) {
    s[T] = a[64 * i + T];
    __syncthreads();
    sum += s[(T + 32) % 64];
    FIX(__syncthreads();)
  }
  c[T] = sum;
}
// @ tree_without_barrier: shared-read-write-race <<<1, 128>>>
KERNEL(tree_without_barrier) {
  __shared__ int s[128];
  s[T] = a[T];
  __syncthreads();
  for (int d = 64; d > 0; d /= 2) {
    if (T < d) s[T] += s[T + d];
    FIX(__syncthreads();)
    BUG(__syncwarp();)
  }
  if (T == 0) c[0] = s[0];
}
// @ third_warp_left_out: shared-read-write-race <<<1, 96>>>
KERNEL(third_warp_left_out) {
  __shared__ int s[96];
  s[T] = T;
  if (W < 2) asm volatile("bar.sync 1, 64;" ::: "memory");
  if (W BUG(< 3) FIX(< 2)) c[T] = s[(T + 32) % 64];
}
// @ both_buffers_are_one: shared-read-write-race <<<1, 64>>>
KERNEL(both_buffers_are_one) {
  __shared__ int s[2][64];
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    int k = BUG(0) FIX(i % 2);
    s[k][T] = a[T] + i;
    __syncthreads();
    sum += s[k][63 - T];
  }
  c[T] = sum;
}
// @ bins_without_atomic: shared-write-race|shared-read-write-race <<<1, 64>>>
KERNEL(bins_without_atomic) {
  __shared__ int bins[8];
  if (T < 8) bins[T] = 0;
  __syncthreads();
  BUG(bins[T % 8] += 1;) FIX(atomicAdd(bins + T % 8, 1);)
  __syncthreads();
  if (T < 8) c[T] = bins[T];
}
// @ cleared_without_barrier: shared-write-race|shared-read-write-race <<<1, 64>>>
KERNEL(cleared_without_barrier) {
  __shared__ int total;
  if (T == 0) total = 0;
  FIX(__syncthreads();)
  atomicAdd(&total, a[T] + 1);
  __syncthreads();
  if (T == 0) c[0] = total;
}
// @ atomic_result_read_early: shared-read-write-race <<<1, 64>>>
KERNEL(atomic_result_read_early) {
  __shared__ int total;
  if (T == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, a[T] + 1);
  FIX(__syncthreads();)
  if (T == 63) c[0] = total;
}
// @ overwritten_while_read: shared-read-write-race <<<1, 128>>>
KERNEL(overwritten_while_read) {
  __shared__ int s[4];
  if (T % 32 == 0) s[W] = a[T];
  __syncthreads();
  int first = s[0];
  FIX(__syncthreads();)
  if (T % 32 == 0) s[W] = first + T;
  __syncthreads();
  c[T] = first + s[W];
}
// @ consumer_only_arrives: shared-read-write-race <<<1, 64>>>
KERNEL(consumer_only_arrives) {
  __shared__ int s[32];
  if (W == 0) {
    s[T] = a[T];
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    BUG(asm volatile("bar.sync 2, 32;" ::: "memory");)
  } else {
    FIX(asm volatile("bar.sync 1, 64;" ::: "memory");)
    BUG(asm volatile("bar.arrive 1, 64;" ::: "memory");)
    c[T] = s[T - 32];
  }
}
// @ flag_in_shared_memory: shared-read-write-race <<<1, 64>>>
KERNEL(flag_in_shared_memory) {
  __shared__ int flag, value;
  if (T == 0) flag = 0;
  __syncthreads();
  if (T == 0) { value = a[0] + 1; FIX(__threadfence_block();) atomicExch(&flag, 1); }
  if (T == 32) { while (atomicAdd(&flag, 0) == 0); __threadfence_block(); c[0] = value; }
}
// @ scan_in_place: shared-read-write-race <<<1, 64>>>
KERNEL(scan_in_place) {
  __shared__ int s[64];
  s[T] = a[T];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    int v = T >= d ? s[T - d] : 0;
    FIX(__syncthreads();)
    s[T] += v;
    __syncthreads();
  }
  c[T] = s[T];
}
// @ tile_turned_too_early: shared-read-write-race <<<1, 64>>>
KERNEL(tile_turned_too_early) {
  __shared__ int s[8][9];
  s[T / 8][T % 8] = a[T];
  FIX(__syncthreads();)
  BUG(__syncwarp();)
  c[T] = s[T % 8][T / 8];
}
// @ copy_not_awaited: shared-read-write-race <<<1, 64>>>
KERNEL(copy_not_awaited) {
  __shared__ int s[64];
  COPY(s + T, a + T);
  COMMIT();
  FIX(WAIT(0);)
  __syncthreads();
  c[T] = s[63 - T];
}
// @ copy_awaited_alone: shared-read-write-race <<<1, 64>>>
KERNEL(copy_awaited_alone) {
  __shared__ int s[64];
  COPY(s + T, a + T);
  COMMIT();
  WAIT(0);
  FIX(__syncthreads();)
  c[T] = s[63 - T];
}
// @ wrong_group_awaited: shared-read-write-race <<<1, 64>>>
KERNEL(wrong_group_awaited) {
  __shared__ int s[2][64];
  COPY(s[0] + T, a + T);
  COMMIT();
  COPY(s[1] + T, a + 64 + T);
  COMMIT();
  BUG(WAIT(1);) FIX(WAIT(0);)
  __syncthreads();
  c[T] = s[1][63 - T];
}
// @ earlier_group_is_enough: shared-read-write-race <<<1, 64>>>
KERNEL(earlier_group_is_enough) {
  __shared__ int s[2][64];
  COPY(s[0] + T, a + T);
  COMMIT();
  COPY(s[1] + T, a + 64 + T);
  COMMIT();
  WAIT(1);
  __syncthreads();
  c[T] = s[BUG(1) FIX(0)][63 - T];
  WAIT(0);
}
// @ mbarrier_not_awaited: shared-read-write-race <<<1, 64>>>
KERNEL(mbarrier_not_awaited) {
  __shared__ unsigned long long bar;
  __shared__ int s[64];
  if (T == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(SHARED(&bar)) : "memory");
  __syncthreads();
  s[T] = a[T];
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(SHARED(&bar)) : "memory");
  FIX(int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(SHARED(&bar)) : "memory");)
  c[T] = s[63 - T];
}
// @ characters_overlap: shared-write-race <<<1, 64>>>
KERNEL(characters_overlap) {
  __shared__ char s[132];
  s[2 * T] = T; s[2 * T + 1] = T + 1; BUG(s[2 * T + 2] = T + 5;)
  __syncthreads();
  c[T] = s[2 * T];
}
// @ vote_is_no_barrier: shared-read-write-race <<<1, 64>>>
KERNEL(vote_is_no_barrier) {
  __shared__ int s[64];
  s[T] = a[T];
  int any = BUG(__any_sync(~0u, a[T] == 0)) FIX(__syncthreads_or(a[T] == 0));
  c[T] = s[63 - T] + any;
}
// @ lock_in_shared_memory: shared-write-race|shared-read-write-race <<<1, 96>>>
KERNEL(lock_in_shared_memory) {
  __shared__ int lock, total;
  if (T == 0) lock = total = 0;
  __syncthreads();
  if (T % 32 == 0) {
    while (atomicCAS(&lock, 0, 1));
    FIX(__threadfence_block();)
    total += 1;
    FIX(__threadfence_block();)
    atomicExch(&lock, 0);
  }
  __syncthreads();
  if (T == 0) c[0] = total;
}
// @ tile_is_no_block: shared-read-write-race <<<1, 64>>>
KERNEL(tile_is_no_block) {
  __shared__ int s[64];
  cg::thread_block block = cg::this_thread_block();
  s[T] = a[T];
  BUG(cg::tiled_partition<32>(block).sync();) FIX(block.sync();)
  c[T] = s[63 - T];
}
// @ block_counter_in_global_memory: global-write-race|global-read-write-race <<<1, 64>>>
KERNEL(block_counter_in_global_memory) {
  if (T % 32 == 0) { BUG(a[0] += 1;) FIX(atomicAdd(a, 1);) }
}
// @ bulk_copy_not_awaited: shared-read-write-race <<<1, 64>>>
KERNEL(bulk_copy_not_awaited) {
  __shared__ alignas(8) unsigned long long bar;
  __shared__ alignas(16) int s[64];
  if (T == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(SHARED(&bar)) : "memory");
  __syncthreads();
  if (T == 0) {
    asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], 256; }" :: "r"(SHARED(&bar)) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                 :: "r"(SHARED(s)), "l"(a), "r"(SHARED(&bar)) : "memory");
  }
  FIX(int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(SHARED(&bar)) : "memory");)
  BUG(if (W == 0) __syncwarp();)
  c[T] = s[63 - T];
}
// @ token_of_four_warps: shared-read-write-race|shared-write-race <<<1, 128>>>
KERNEL(token_of_four_warps) {
  __shared__ int s[32];
  __shared__ volatile int turn;
  if (T == 0) turn = 0;
  if (T < 32) s[T] = 0;
  __syncthreads();
  if (T % 32 == 0) while (turn != W);
  __syncwarp();
  FIX(__threadfence_block();)
  s[T % 32] += T;
  FIX(__threadfence_block();)
  __syncwarp();
  if (T % 32 == 0) turn = W + 1;
  __syncthreads();
  c[T] = s[T % 32];
}
