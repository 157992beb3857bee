// Races between blocks: flags, locks, counters, fences and scopes.
#include <cooperative_groups.h>
#include "pairs.cuh"
namespace cg = cooperative_groups;

__device__ int poll_relaxed(int* p) {
  int v;
  asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

// @ flag_without_release_fence: global-read-write-race <<<2, 32>>>
KERNEL(flag_without_release_fence) {
  if (T) return;
  if (B == 0) { a[0] = 1; FIX(__threadfence();) atomicExch(b, 1); }
  else { while (atomicAdd(b, 0) == 0); __threadfence(); c[0] = a[0]; }
}
// @ flag_without_acquire_fence: global-read-write-race <<<2, 32>>>
KERNEL(flag_without_acquire_fence) {
  if (T) return;
  if (B == 0) { a[0] = 1; __threadfence(); atomicExch(b, 1); }
  else { while (atomicAdd(b, 0) == 0); FIX(__threadfence();) c[0] = a[0]; }
}
// @ reader_comes_first: global-read-write-race <<<2, 32>>>
KERNEL(reader_comes_first) {
  if (T) return;
  if (B == 0) { while (atomicAdd(b, 0) == 0); FIX(__threadfence();) c[0] = a[0]; }
  else { a[0] = 1; __threadfence(); atomicExch(b, 1); }
}
// @ flag_behind_block_fence: global-read-write-race <<<2, 32>>>
KERNEL(flag_behind_block_fence) {
  if (T) return;
  if (B == 0) { a[0] = 1; BUG(__threadfence_block();) FIX(__threadfence();) atomicExch(b, 1); }
  else { while (atomicAdd(b, 0) == 0); __threadfence(); c[0] = a[0]; }
}
// @ acquire_by_block_fence: global-read-write-race <<<2, 32>>>
KERNEL(acquire_by_block_fence) {
  if (T) return;
  if (B == 0) { a[0] = 1; __threadfence(); atomicExch(b, 1); }
  else { while (atomicAdd(b, 0) == 0); BUG(__threadfence_block();) FIX(__threadfence();) c[0] = a[0]; }
}
// @ flag_of_block_scope: narrow-scope-atomic|global-read-write-race <<<2, 32>>>
KERNEL(flag_of_block_scope) {
  if (T) return;
  if (B == 0) { a[0] = 1; __threadfence(); BUG(atomicExch_block(b, 1);) FIX(atomicExch(b, 1);) }
  else { while (atomicAdd(b, 0) == 0); __threadfence(); c[0] = a[0]; }
}
// @ counter_of_block_scope: narrow-scope-atomic <<<2, 32>>>
KERNEL(counter_of_block_scope) {
  BUG(atomicAdd_block(a, 1);) FIX(atomicAdd(a, 1);)
}
// @ block_scope_within_blocks: narrow-scope-atomic <<<2, 64>>>
KERNEL(block_scope_within_blocks) {
  atomicAdd_block(a + BUG(0) FIX(B), 1);
}
// @ counter_without_atomic: global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(counter_without_atomic) {
  if (T == 0) { BUG(a[0] += 1;) FIX(atomicAdd(a, 1);) }
}
// @ maximum_without_atomic: global-write-race|global-read-write-race <<<4, 32>>>
KERNEL(maximum_without_atomic) {
  if (T == 0) { BUG(if (a[0] <= (int)B) a[0] = B + 1;) FIX(atomicMax(a, B + 1);) }
}
// @ last_block_without_fence: global-read-write-race <<<4, 32>>>
KERNEL(last_block_without_fence) {
  if (T) return;
  a[B] = B;
  FIX(__threadfence();)
  if (atomicAdd(b, 1) == gridDim.x - 1) {
    __threadfence();
    int sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += a[i];
    c[0] = sum;
  }
}
// @ last_block_reads_in_all_threads: global-read-write-race <<<4, 64>>>
KERNEL(last_block_reads_in_all_threads) {
  __shared__ int is_last;
  a[B * 64 + T] = T;
  FIX(__threadfence(); __syncthreads();)
  if (T == 0) { __threadfence(); is_last = atomicAdd(b, 1) == gridDim.x - 1; __threadfence(); }
  __syncthreads();
  if (is_last) c[T] = a[T] + a[64 + T] + a[128 + T] + a[192 + T];
}
// @ grid_without_sync: global-read-write-race <<<3, 32>>>
KERNEL(grid_without_sync) {
  int i = B * 32 + T;
  a[i] = i;
  FIX(cg::this_grid().sync();)
  BUG(__syncthreads();)
  c[i] = a[(i + 32) % 96];
}
// @ lock_without_acquire_fence: global-write-race|global-read-write-race <<<3, 32>>>
KERNEL(lock_without_acquire_fence) {
  if (T) return;
  while (atomicCAS(b, 0, 1));
  FIX(__threadfence();)
  a[0] += 1;
  __threadfence();
  atomicExch(b, 0);
}
// @ lock_without_release_fence: global-write-race|global-read-write-race <<<3, 32>>>
KERNEL(lock_without_release_fence) {
  if (T) return;
  while (atomicCAS(b, 0, 1));
  __threadfence();
  a[0] += 1;
  FIX(__threadfence();)
  atomicExch(b, 0);
}
// @ two_locks_for_one_word: global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(two_locks_for_one_word) {
  if (T) return;
  int* lock = b + BUG(2 * B) FIX(0);
  while (atomicCAS(lock, 0, 1));
  __threadfence();
  a[0] += 1;
  __threadfence();
  atomicExch(lock, 0);
}
// @ lock_of_block_scope: narrow-scope-atomic|global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(lock_of_block_scope) {
  if (T) return;
  while (BUG(atomicCAS_block) FIX(atomicCAS)(b, 0, 1));
  __threadfence();
  a[0] += 1;
  __threadfence();
  BUG(atomicExch_block) FIX(atomicExch)(b, 0);
}
// @ write_outside_of_the_lock: global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(write_outside_of_the_lock) {
  if (T) return;
  BUG(if (B == 1) a[0] = 5;)
  while (atomicCAS(b, 0, 1));
  __threadfence();
  a[0] += 1;
  __threadfence();
  atomicExch(b, 0);
}
// @ cleared_while_counted: global-write-race|global-read-write-race <<<2, 64>>>
KERNEL(cleared_while_counted) {
  BUG(if (B == 0 && T == 0) c[0] = 0;)
  __syncthreads();
  if (T == 0) atomicAdd(c, 1);
}
// @ volatile_is_no_fence: global-read-write-race <<<2, 32>>>
KERNEL(volatile_is_no_fence) {
  volatile int* flag = b;
  if (T) return;
  if (B == 0) { a[0] = 1; FIX(__threadfence();) flag[0] = 1; }
  else { while (flag[0] == 0); __threadfence(); c[0] = a[0]; }
}
// @ volatile_is_no_atomic: racy-volatile-access <<<4, 32>>>
KERNEL(volatile_is_no_atomic) {
  if (T == 0) { BUG(volatile int* p = a; p[0] += 1;) FIX(atomicAdd(a, 1);) }
}
// @ neighbours_overlap: global-write-race <<<2, 32>>>
KERNEL(neighbours_overlap) {
  int i = B * 32 + T;
  a[i] = i + 1;
  BUG(a[i + 1] = i + 7;)
}
// @ bytes_overlap: global-write-race <<<2, 32>>>
KERNEL(bytes_overlap) {
  char* p = (char*)a;
  int i = B * 32 + T;
  p[2 * i] = i; p[2 * i + 1] = i + 1; BUG(p[2 * i + 2] = i + 3;)
}
// @ half_of_a_word: global-write-race <<<2, 32>>>
KERNEL(half_of_a_word) {
  if (T) return;
  short* p = (short*)a;
  if (B == 0) p[1] = 3;
  else { BUG(a[0] = 5;) FIX(p[0] = 5;) }
}
// @ plain_read_beside_atomic: global-read-write-race <<<2, 32>>>
KERNEL(plain_read_beside_atomic) {
  if (T) return;
  if (B == 0) atomicAdd(a, 1);
  else c[0] = BUG(a[0]) FIX(atomicAdd(a, 0));
}
// @ blocks_share_rows: global-write-race <<<2, 32>>>
KERNEL(blocks_share_rows) {
  a[T + FIX(32 *) BUG(0 *) B] = B + 1;
}
// @ relaxed_store_publishes_nothing: global-read-write-race <<<2, 32>>>
KERNEL(relaxed_store_publishes_nothing) {
  if (T) return;
  if (B == 0) {
    a[0] = 1;
    BUG(asm volatile("st.relaxed.gpu.s32 [%0], 1;" :: "l"(b) : "memory");)
    FIX(asm volatile("st.release.gpu.s32 [%0], 1;" :: "l"(b) : "memory");)
  } else {
    while (poll_relaxed(b) == 0);
    __threadfence();
    c[0] = a[0];
  }
}
// @ acquire_of_block_scope: narrow-scope-atomic|global-read-write-race <<<2, 32>>>
KERNEL(acquire_of_block_scope) {
  if (T) return;
  if (B == 0) { a[0] = 1; __threadfence(); atomicExch(b, 1); return; }
  int v = 0;
  while (v == 0) {
    BUG(asm volatile("ld.acquire.cta.s32 %0, [%1];" : "=r"(v) : "l"(b) : "memory");)
    FIX(asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(v) : "l"(b) : "memory");)
  }
  c[0] = a[0];
}
// @ slots_of_a_queue: global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(slots_of_a_queue) {
  if (T) return;
  int slot = BUG(b[0]++) FIX(atomicAdd(b, 1));
  a[slot] = B + 1;
}
// @ three_blocks_in_a_chain: global-read-write-race <<<3, 32>>>
KERNEL(three_blocks_in_a_chain) {
  if (T) return;
  if (B == 0) { a[0] = 1; __threadfence(); atomicExch(b, 1); }
  if (B == 1) { while (atomicAdd(b, 0) != 1); FIX(__threadfence();) atomicExch(b + 2, 1); }
  if (B == 2) { while (atomicAdd(b + 2, 0) != 1); __threadfence(); c[0] = a[0]; }
}
// @ last_number_reads_the_total: global-read-write-race <<<3, 32>>>
KERNEL(last_number_reads_the_total) {
  if (T) return;
  atomicAdd(a, B + 1);
  FIX(__threadfence();)
  if (BUG(B == gridDim.x - 1) FIX(atomicAdd(b, 1) == gridDim.x - 1)) { FIX(__threadfence();) c[0] = a[0]; }
}
// @ first_number_clears_the_total: global-write-race|global-read-write-race <<<3, 32>>>
KERNEL(first_number_clears_the_total) {
  if (T) return;
  FIX(atomicAdd(a + 1, B);)
  BUG(atomicAdd(a, B + 1);)
  if (B == 2) a[0] = 0;
}
// @ locks_side_by_side: global-read-write-race|global-write-race <<<2, 32>>>
KERNEL(locks_side_by_side) {
  if (T) return;
  int* lock = b BUG(+ B);
  while (atomicCAS(lock, 0, 1)) ;
  __threadfence();
  a[0] += 1;
  __threadfence();
  atomicExch(lock, 0);
}
// @ waits_for_the_flag_beside: global-read-write-race <<<3, 32>>>
KERNEL(waits_for_the_flag_beside) {
  if (T) return;
  if (B < 2) { a[B] = 1; __threadfence(); atomicExch(b + B, 1); }
  else { while (atomicAdd(b BUG(+ 1), 0) == 0); __threadfence(); c[0] = a[0]; }
}
