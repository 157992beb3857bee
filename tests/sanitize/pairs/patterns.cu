// Mistakes in whole algorithms: halos, queues, tickets, last blocks, aliased memory, mixed widths.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include "pairs.cuh"
#define N blockDim.x
namespace cg = cooperative_groups;
typedef unsigned long long u64;

// @ halo_of_the_right_side: shared-read-write-race <<<2, 64>>>
KERNEL(halo_of_the_right_side) {
  __shared__ int s[66];
  s[T + 1] = a[B * N + T];
  if (T == 0) s[0] = 0;
  FIX(if (T == 0) s[65] = a[B * N + 64];)
  __syncthreads();
  BUG(if (T == 0) s[65] = a[B * N + 64];)
  c[B * N + T] = s[T] + s[T + 1] + s[T + 2];
}
// @ reduction_used_twice: shared-read-write-race <<<1, 96>>>
__device__ int block_sum(int v) {
  __shared__ int part[3];
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  FIX(__syncthreads();)
  if (T % 32 == 0) part[T / 32] = v;
  __syncthreads();
  return part[0] + part[1] + part[2];
}
KERNEL(reduction_used_twice) {
  int sum = block_sum(a[T]);
  c[T] = block_sum(a[T] * sum);
}
// @ shift_within_a_warp: shared-read-write-race <<<1, 32>>>
KERNEL(shift_within_a_warp) {
  __shared__ int s[32];
  s[T] = a[T];
  __syncwarp();
  for (int d = 1; d < 32; d <<= 1) {
    int v = T >= d ? s[T - d] : 0;
    FIX(__syncwarp();)
    s[T] += v;
    __syncwarp();
  }
  c[T] = s[T];
}
// @ ring_of_three: shared-read-write-race <<<1, 64>>>
KERNEL(ring_of_three) {
  __shared__ int s[3][64];
  s[0][T] = a[T];
  s[1][T] = a[T + 64];
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 6; i++) {
    sum += s[i % 3][63 - T];
    s[(i + 2) % 3][T] = a[T + 64 * i];
    BUG(if (i & 1)) __syncthreads();
  }
  c[T] = sum;
}
// @ ticket_lock: global-write-race|global-read-write-race <<<4, 32>>>
KERNEL(ticket_lock) {
  if (T) return;
  int mine = atomicAdd(a, 1);
  while (atomicAdd(a + 1, 0) != mine);
  __threadfence();
  FIX(b[0] += 1;)
  __threadfence();
  atomicAdd(a + 1, 1);
  BUG(b[0] += 1;)
}
// @ ticket_without_release: global-write-race|global-read-write-race <<<4, 32>>>
KERNEL(ticket_without_release) {
  if (T) return;
  int mine = atomicAdd(a, 1);
  while (atomicAdd(a + 1, 0) != mine);
  __threadfence();
  b[0] += mine;
  FIX(__threadfence();)
  atomicAdd(a + 1, 1);
}
// @ queue_head_without_atomic: global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(queue_head_without_atomic) {
  if (T) return;
  for (int i = 0; i < 4; i++) {
    BUG(int head = a[0]; a[0] = head + 1;) FIX(int head = atomicAdd(a, 1);)
    atomicAdd(c + head, 1);
  }
}
// @ queue_filled_after_its_tail: global-read-write-race <<<2, 32>>>
KERNEL(queue_filled_after_its_tail) {
  if (T) return;
  if (B == 0) {
    for (int i = 0; i < 4; i++) {
      FIX(b[i] = i + 1; __threadfence();)
      atomicAdd(a, 1);
      BUG(b[i] = i + 1; __threadfence();)
    }
  } else {
    for (int i = 0; i < 4; i++) {
      while (atomicAdd(a, 0) <= i);
      __threadfence();
      c[i] = b[i];
    }
  }
}
// @ last_block_told_without_barrier: shared-read-write-race|uninitialised-shared-read <<<4, 64>>>
KERNEL(last_block_told_without_barrier) {
  __shared__ bool last;
  if (T == 0) {
    b[B] = a[B];
    __threadfence();
    last = atomicAdd(c, 1) == gridDim.x - 1;
  }
  FIX(__syncthreads();)
  BUG(__syncwarp();)
  if (last) { __threadfence(); if (T < 4) c[1 + T] = b[T]; }
}
// @ one_thread_fences_for_all: global-read-write-race <<<4, 64>>>
KERNEL(one_thread_fences_for_all) {
  __shared__ bool last;
  b[B * 64 + T] = a[T];
  FIX(__threadfence(); __syncthreads();)
  if (T == 0) { __threadfence(); last = atomicAdd(c, 1) == gridDim.x - 1; }
  __syncthreads();
  if (last) {
    __threadfence();
    int sum = 0;
    for (int i = 0; i < 4; i++) sum += b[i * 64 + T];
    c[1 + T] = sum;
  }
}
// @ fence_behind_the_barrier: global-read-write-race <<<4, 64>>>
// One thread's fence after the barrier covers what the block wrote before it.
KERNEL(fence_behind_the_barrier) {
  __shared__ bool last;
  b[B * 64 + T] = a[T];
  FIX(__syncthreads();)
  if (T == 0) { __threadfence(); last = atomicAdd(c, 1) == gridDim.x - 1; __threadfence(); }
  __syncthreads();
  if (last) c[1 + T] = b[T] + b[64 + T] + b[128 + T] + b[192 + T];
}
// @ bytes_beside_words: shared-read-write-race <<<1, 64>>>
KERNEL(bytes_beside_words) {
  __shared__ union { int words[64]; unsigned char bytes[256]; } u;
  u.words[T] = a[T];
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 4; i++) sum += u.bytes[i * 64 + T];
  FIX(__syncthreads();)
  u.words[T] = sum;
  __syncthreads();
  c[T] = u.words[63 - T];
}
// @ sub_arrays_overlap: shared-write-race|shared-read-write-race <<<1, 64, 512>>>
KERNEL(sub_arrays_overlap) {
  extern __shared__ int pool[];
  int* counts = pool;
  float* values = (float*)(pool + BUG(32) FIX(64));
  if (T < 32) counts[T] = a[T]; else counts[T] = a[T] + 1;
  if (T < 32) values[T] = 1.0f;
  __syncthreads();
  c[T] = counts[63 - T] + (int)values[T % 32];
}
// @ atomics_of_two_widths: global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(atomics_of_two_widths) {
  if (T) return;
  if (B == 0) atomicAdd((u64*)a, 1ull << 32);
  else atomicAdd(BUG(a + 1) FIX(a + 2), 1);
}
// @ half_of_an_atomic_word: global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(half_of_an_atomic_word) {
  if (T) return;
  if (B == 0) atomicExch((u64*)a, 5ull << 32 | 3);
  else c[0] = BUG(a[1]) FIX(a[2]);
}
// @ short_exchanged_beside_a_store: global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(short_exchanged_beside_a_store) {
  unsigned short* p = (unsigned short*)a;
  if (T) return;
  if (B == 0) atomicCAS(p, (unsigned short)0, (unsigned short)7);
  else p[BUG(0) FIX(1)] = 9;
}
// @ half_added_beside_a_store: global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(half_added_beside_a_store) {
  __half* p = (__half*)a;
  if (T) return;
  if (B == 0) atomicAdd(p, __float2half(1.0f));
  else p[BUG(0) FIX(1)] = __float2half(2.0f);
}
// @ bits_of_one_field: global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(bits_of_one_field) {
  struct Flags { int low : 5; int high : 27; };
  struct Words { int low; int high; };
  BUG(Flags) FIX(Words)* f = (BUG(Flags) FIX(Words)*)a;
  if (T) return;
  if (B == 0) f->low = 3; else f->high = 77;
}
// @ grid_sync_before_reuse: global-read-write-race <<<3, 32>>>
KERNEL(grid_sync_before_reuse) {
  cg::grid_group grid = cg::this_grid();
  int i = B * N + T, n = gridDim.x * N;
  b[i] = a[i];
  grid.sync();
  int v = b[(i + 32) % n];
  FIX(grid.sync();)
  b[i] = v;
  grid.sync();
  c[i] = b[(i + 64) % n];
}
// @ barrier_of_our_own: global-read-write-race <<<3, 64>>>
KERNEL(barrier_of_our_own) {
  b[B * 64 + T] = a[T];
  __syncthreads();
  if (T == 0) {
    __threadfence();
    atomicAdd(a + 512, 1);
    while (atomicAdd(a + 512, 0) < gridDim.x);
    __threadfence();
  }
  FIX(__syncthreads();)
  c[B * 64 + T] = b[(B + 1) % 3 * 64 + T];
}
// @ element_shifted_in_place: global-read-write-race <<<2, 64>>>
KERNEL(element_shifted_in_place) {
  int i = B * 64 + T;
  BUG(a[i] = a[i + 1] + 1;) FIX(c[i] = a[i + 1] + 1;)
}
// @ indirect_with_doubles: global-write-race|global-read-write-race <<<2, 64>>>
KERNEL(indirect_with_doubles) {
  int i = B * 64 + T, place = BUG(i % 100) FIX(i * 5 % 128);
  c[place] += i;
}
// @ swapped_from_both_sides: global-write-race|global-read-write-race <<<2, 64>>>
KERNEL(swapped_from_both_sides) {
  int i = B * 64 + T, j = 127 - i;
  FIX(if (i < j)) { int v = a[i]; a[i] = a[j]; a[j] = v; }
}
// @ exchange_sort: shared-read-write-race|shared-write-race <<<1, 64>>>
KERNEL(exchange_sort) {
  __shared__ int s[128];
  s[T] = a[T]; s[T + 64] = a[T + 64];
  __syncthreads();
  for (int round = 0; round < 4; round++) {
    int i = 2 * T + (round & 1);
    if (i + 1 < 128 && s[i] > s[i + 1]) {
      int v = s[i]; s[i] = s[i + 1]; s[i + 1] = v;
    } else if (i + 1 < 128) { s[i] ^= 1; }
    BUG(__syncwarp();) FIX(__syncthreads();)
  }
  c[T] = s[T];
}
// @ bitmap_of_visited: global-write-race|global-read-write-race <<<2, 64>>>
KERNEL(bitmap_of_visited) {
  int v = B * 64 + T * 3 % 64;
  BUG(c[v / 128] |= 1 << (v % 32);) FIX(atomicOr(c + v / 128, 1 << (v % 32));)
}
// @ checked_twice: global-read-write-race|racy-volatile-access <<<3, 32>>>
KERNEL(checked_twice) {
  if (T) return;
  if (BUG(*(volatile int*)b == 0) FIX(atomicAdd(b, 0) == 0)) {
    while (atomicCAS(c, 0, 1));
    __threadfence();
    if (atomicAdd(b, 0) == 0) { a[0] = 42; __threadfence(); atomicExch(b, 1); }
    __threadfence();
    atomicExch(c, 0);
  }
  FIX(__threadfence();)
  c[1 + B] = a[0];
}
// @ readers_and_a_writer: global-read-write-race <<<3, 32>>>
KERNEL(readers_and_a_writer) {
  if (T) return;
  if (B == 1) {
    while (atomicCAS(b, 0, -1));
    __threadfence(); a[0] += 1; __threadfence();
    atomicExch(b, 0);
  } else {
    for (int seen;;) {
      seen = atomicAdd(b, 0);
      if (seen >= 0 && atomicCAS(b, seen, seen + 1) == seen) break;
    }
    __threadfence();
    FIX(c[B] = a[0];)
    __threadfence();
    atomicSub(b, 1);
    BUG(c[B] = a[0];)
  }
}
// @ coalesced_group_shares: shared-read-write-race <<<1, 32>>>
KERNEL(coalesced_group_shares) {
  __shared__ int s[32];
  s[T] = 0;
  __syncwarp();
  if (T % 3 == 0) {
    cg::coalesced_group g = cg::coalesced_threads();
    s[g.thread_rank()] = a[T] + T;
    FIX(g.sync();)
    c[T] = s[g.size() - 1 - g.thread_rank()];
  }
}
// @ tiles_of_eight: shared-read-write-race <<<1, 32>>>
KERNEL(tiles_of_eight) {
  __shared__ int s[32];
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  s[T] = a[T];
  tile.sync();
  c[T] = s[BUG(31 - T) FIX(T / 8 * 8 + 7 - T % 8)];
}
// @ sums_of_warps_read_early: shared-read-write-race|uninitialised-shared-read <<<1, 128>>>
KERNEL(sums_of_warps_read_early) {
  __shared__ int sums[4];
  int v = a[T];
  for (int d = 1; d < 32; d <<= 1) {
    int o = __shfl_up_sync(~0u, v, d);
    if (T % 32 >= d) v += o;
  }
  if (T % 32 == 31) sums[T / 32] = v;
  FIX(__syncthreads();) BUG(__syncwarp();)
  for (int w = 0; w < T / 32; w++) v += sums[w];
  c[T] = v;
}
// @ vector_over_a_neighbour: global-write-race <<<2, 32>>>
KERNEL(vector_over_a_neighbour) {
  if (B == 0) ((int4*)c)[T] = make_int4(1, 2, 3, 4);
  else c[BUG(127) FIX(128) + T] = 5;
}
// @ transposed_in_place: shared-read-write-race|shared-write-race <<<1, 64>>>
KERNEL(transposed_in_place) {
  __shared__ int s[8][8];
  int x = T % 8, y = T / 8;
  s[y][x] = a[T];
  __syncthreads();
  int v = s[x][y];
  FIX(__syncthreads();)
  s[y][x] = v;
  __syncthreads();
  c[T] = s[y][x];
}
