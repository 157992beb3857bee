// Races between the lanes of a warp.
#include "pairs.cuh"
#define ALL 0xffffffffu

// @ neighbour_without_syncwarp: shared-read-write-race <<<1, 32>>>
KERNEL(neighbour_without_syncwarp) {
  __shared__ int s[32];
  s[T] = a[T];
  FIX(__syncwarp();)
  c[T] = s[31 - T];
}
// @ halves_do_not_meet: shared-read-write-race <<<1, 32>>>
KERNEL(halves_do_not_meet) {
  __shared__ int s[32];
  s[T] = a[T];
  __syncwarp(T < 16 ? 0x0000ffffu : 0xffff0000u);
  c[T] = s[T ^ BUG(16) FIX(8)];
}
// @ shuffle_orders_nothing: shared-read-write-race <<<1, 32>>>
KERNEL(shuffle_orders_nothing) {
  __shared__ int s[32];
  s[T] = a[T];
  int v = __shfl_xor_sync(ALL, T, 1);
  FIX(__syncwarp();)
  c[T] = s[v];
}
// @ vote_orders_nothing: global-read-write-race <<<1, 32>>>
KERNEL(vote_orders_nothing) {
  a[T] = T;
  int v = __any_sync(ALL, b[T] == 0);
  FIX(__syncwarp();)
  c[T] = v ? a[31 - T] : 0;
}
// @ fences_around_a_shuffle: global-read-write-race <<<1, 32>>>
KERNEL(fences_around_a_shuffle) {
  a[T] = T;
  __threadfence_block();
  int v = __shfl_xor_sync(ALL, T, 1);
  FIX(__threadfence_block();)
  c[T] = a[v];
}
// @ lane_flags_without_release: global-read-write-race <<<1, 32>>>
KERNEL(lane_flags_without_release) {
  int n = (T + 1) % 32;
  a[T] = T;
  FIX(__threadfence();)
  atomicExch(b + 2 * T, 1);
  while (atomicAdd(b + 2 * n, 0) != 1);
  __threadfence();
  c[T] = a[n];
}
// @ lane_flags_without_acquire: global-read-write-race <<<1, 32>>>
KERNEL(lane_flags_without_acquire) {
  int n = (T + 1) % 32;
  a[T] = T;
  __threadfence();
  atomicExch(b + 2 * T, 1);
  while (atomicAdd(b + 2 * n, 0) != 1);
  FIX(__threadfence();)
  c[T] = a[n];
}
// @ lane_flag_of_another_lane: global-read-write-race <<<1, 32>>>
KERNEL(lane_flag_of_another_lane) {
  int n = (T + 1) % 32;
  a[T] = T;
  __threadfence();
  atomicExch(b + 2 * T, 1);
  while (atomicAdd(b + 2 * n, 0) != 1);
  __threadfence();
  c[T] = a[BUG((T + 2) % 32) FIX(n)];
}
// @ lane_lock_without_fences: global-write-race|global-read-write-race <<<1, 32>>>
KERNEL(lane_lock_without_fences) {
  while (atomicCAS(b, 0, 1));
  FIX(__threadfence();)
  a[0] += 1;
  FIX(__threadfence();)
  atomicExch(b, 0);
}
// @ lanes_lose_updates: global-write-race|global-read-write-race <<<1, 32>>>
KERNEL(lanes_lose_updates) {
  BUG(a[T % 4] += 1;) FIX(atomicAdd(a + T % 4, 1);)
}
// @ lanes_store_to_one_word: global-write-race <<<1, 32>>>
KERNEL(lanes_store_to_one_word) {
  FIX(if (T == 0)) a[0] = T;
}
// @ volatile_update_by_lanes: racy-volatile-access <<<1, 32>>>
KERNEL(volatile_update_by_lanes) {
  BUG(volatile int* p = a; p[0] += 1;) FIX(atomicAdd(a, 1);)
}
// @ last_steps_of_a_reduction: shared-read-write-race <<<1, 32>>>
KERNEL(last_steps_of_a_reduction) {
  __shared__ int s[32];
  s[T] = a[T];
  __syncwarp();
  for (int d = 16; d > 0; d /= 2) {
    if (T < d) s[T] += s[T + d];
    FIX(__syncwarp();)
  }
  if (T == 0) c[0] = s[0];
}
// @ places_by_ballot: global-write-race <<<1, 32>>>
KERNEL(places_by_ballot) {
  unsigned taken = __ballot_sync(ALL, T % 3 == 0);
  int place = __popc(taken & ((1u << T) - 1)) BUG(/ 2);
  if (T % 3 == 0) a[place] = T;
}
// @ branches_share_a_word: shared-read-write-race <<<1, 32>>>
KERNEL(branches_share_a_word) {
  __shared__ int s[16];
  if (T < 16) s[T] = a[T];
  FIX(__syncwarp();)
  if (T >= 16) c[T] = s[T - 16];
}
// @ leader_adds_for_its_group: global-write-race|global-read-write-race <<<1, 32>>>
KERNEL(leader_adds_for_its_group) {
  int key = T % 4;
  unsigned group = __match_any_sync(ALL, key);
  FIX(if (T == __ffs(group) - 1)) a[key] += __popc(group);
}
// @ bytes_of_lanes_overlap: global-write-race <<<1, 32>>>
KERNEL(bytes_of_lanes_overlap) {
  char* p = (char*)a;
  p[T] = T; BUG(p[T + 1] = T + 3;)
}
// @ copies_of_other_lanes: shared-read-write-race <<<1, 32>>>
KERNEL(copies_of_other_lanes) {
  __shared__ int s[32];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
               :: "r"((unsigned)__cvta_generic_to_shared(s + T)), "l"(a + T) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  FIX(__syncwarp();)
  c[T] = s[31 - T];
}
// @ lanes_take_locks_side_by_side: global-read-write-race|global-write-race <<<1, 2>>>
KERNEL(lanes_take_locks_side_by_side) {
  int* lock = b BUG(+ T);
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      a[0] += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
