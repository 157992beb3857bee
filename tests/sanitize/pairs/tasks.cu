// Tasks of whole kernels: tiles in turn, hand-overs, objects of libcu++, copies that arrive.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
#include "pairs.cuh"
#define SH(x) ((unsigned)__cvta_generic_to_shared(x))

// @ tiles_in_turn: shared-read-write-race <<<1, 256>>>
KERNEL(tiles_in_turn) {
  __shared__ int s[2][256];
  int sum = 0;
  s[0][T] = a[T];
  __syncthreads();
  for (int k = 0; k < 6; ++k) {
    if (k < 5) s[(k + 1) & 1][T] = a[256 * ((k + 1) & 1) + T];
    sum += s[k & 1][255 - T] * s[k & 1][(T + 64) & 255];
    FIX(__syncthreads();)
    BUG(if (k & 1) __syncthreads();)
  }
  c[T] = sum;
}
// @ token_waited_late: shared-read-write-race <<<1, 128>>>
KERNEL(token_waited_late) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[128];
  if (T == 0) init(&bar, blockDim.x);
  __syncthreads();
  s[T] = a[T];
  auto token = bar.arrive();
  int own = b[T];
  FIX(bar.wait(std::move(token));)
  own += s[127 - T];
  BUG(bar.wait(std::move(token));)
  c[T] = own;
}
// @ ticket_lock_without_release: global-read-write-race|global-write-race|racy-volatile-access <<<4, 32>>>
KERNEL(ticket_lock_without_release) {
  if (T == 0) {
    int ticket = atomicAdd(&b[100], 1);
    while (atomicAdd(&b[101], 0) != ticket) { }
    __threadfence();
    c[0] += 1;
    FIX(__threadfence();)
    atomicAdd(&b[101], 1);
  }
}
// @ unlocked_by_plain_store: global-write-race|global-read-write-race|racy-volatile-access <<<4, 32>>>
KERNEL(unlocked_by_plain_store) {
  if (T == 0) {
    while (atomicCAS(&b[0], 0, 1) != 0) { }
    __threadfence();
    c[0] += 1;
    __threadfence();
    BUG(b[0] = 0;)
    FIX(atomicExch(&b[0], 0);)
  }
}
// @ double_checked: global-read-write-race|racy-volatile-access <<<4, 32>>>
KERNEL(double_checked) {
  if (T == 0) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(c[0]);
    BUG(if (c[0] == 0))
    FIX(if (ready.load(cuda::memory_order_acquire) == 0)) {
      if (atomicCAS(&b[0], 0, 1) == 0) {
        c[100] = 5;
        ready.store(1, cuda::memory_order_release);
      }
    }
    while (ready.load(cuda::memory_order_acquire) != 1) { }
    c[200 + B] = c[100];
  }
}
// @ ring_of_one: global-read-write-race <<<2, 32>>>
KERNEL(ring_of_one) {
  cuda::atomic_ref<int, cuda::thread_scope_device> head(b[0]), tail(b[1]);
  if (T != 0) return;
  if (B == 0) {
    for (int k = 0; k < 5; ++k) {
      while (head.load(cuda::memory_order_relaxed) - tail.load(FIX(cuda::memory_order_acquire) BUG(cuda::memory_order_relaxed)) >= 2) { }
      c[100 + (k & 1)] = k;
      head.fetch_add(1, cuda::memory_order_release);
    }
  } else {
    int sum = 0;
    for (int k = 0; k < 5; ++k) {
      while (head.load(cuda::memory_order_acquire) - tail.load(cuda::memory_order_relaxed) <= 0) { }
      sum += c[100 + (k & 1)];
      tail.fetch_add(1, cuda::memory_order_release);
    }
    c[0] = sum;
  }
}
// @ bits_of_one_word: shared-read-write-race|shared-write-race <<<1, 64>>>
KERNEL(bits_of_one_word) {
  struct Pair { unsigned low : 12, high : 12; };
  struct Halves { unsigned short low, high; };
  __shared__ BUG(Pair) FIX(Halves) s[1];
  if (T == 0) *(int*)s = 0;
  __syncthreads();
  if (T == 1) s[0].low = a[0];
  if (T == 33) s[0].high = a[1];
  __syncthreads();
  c[T] = s[0].low + s[0].high;
}
// @ tile_too_small: shared-read-write-race <<<1, 64>>>
KERNEL(tile_too_small) {
  __shared__ int s[64];
  auto tile = cg::tiled_partition<BUG(4) FIX(8)>(cg::this_thread_block());
  s[T] = a[T] + T;
  tile.sync();
  c[T] = s[T ^ 4];
}
// @ aggregated_by_shared: shared-read-write-race <<<1, 64>>>
KERNEL(aggregated_by_shared) {
  __shared__ int base[2];
  unsigned mask = __ballot_sync(~0u, a[T] == 0);
  int lane = T & 31, leader = __ffs(mask) - 1;
  if (lane == leader) base[T / 32] = atomicAdd(&b[0], __popc(mask));
  FIX(__syncwarp();)
  c[(base[T / 32] + __popc(mask & ((1u << lane) - 1))) & 511] = T;
}
// @ block_reduced_twice: shared-read-write-race <<<1, 128>>>
__device__ int block_sum(int v, int* s) {
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  if (T % 32 == 0) s[T / 32] = v;
  __syncthreads();
  int sum = s[0] + s[1] + s[2] + s[3];
  FIX(__syncthreads();)
  return sum;
}
KERNEL(block_reduced_twice) {
  __shared__ int s[4];
  int mean = block_sum(a[T], s) / 128;
  c[T] = block_sum((a[T] - mean) * (a[T] - mean), s);
}
// @ done_flag_reset: shared-read-write-race|divergent-barrier <<<1, 64>>>
KERNEL(done_flag_reset) {
  __shared__ int changed;
  int v = T;
  do {
    if (T == 0) changed = 0;
    __syncthreads();
    if (v > 3) { v -= 20; changed = 1; }
    __syncthreads();
    FIX(int again = changed; __syncthreads(); if (!again) break;)
    BUG(if (!changed) break;)
  } while (true);
  c[T] = v;
}
// @ bitonic_last_steps: shared-read-write-race|shared-write-race <<<1, 64>>>
KERNEL(bitonic_last_steps) {
  __shared__ int s[64];
  s[T] = T * 37 % 64;
  __syncthreads();
  for (int size = 2; size <= 64; size <<= 1)
    for (int stride = size / 2; stride; stride >>= 1) {
      int other = T ^ stride;
      if (other > T && (s[T] > s[other]) == ((T & size) == 0)) { int t = s[T]; s[T] = s[other]; s[other] = t; }
      BUG(if (stride > 32)) __syncthreads();
    }
  c[T] = s[T];
}
// @ halves_and_wholes: global-write-race|global-read-write-race <<<2, 32>>>
KERNEL(halves_and_wholes) {
  if (T == 0 && B == 0) atomicAdd((unsigned long long*)c, 1ull << 32 | 1);
  if (T == 0 && B == 1) { BUG(atomicAdd(c, 1);) FIX(atomicAdd((unsigned long long*)c, 1ull);) }
}
// @ relaxed_cluster_barrier: shared-read-write-race|uninitialised-shared-read <<<2, 32>>>
extern "C" __global__ void __cluster_dims__(2, 1, 1) relaxed_cluster_barrier(int* a, int* b, int* c) {
  __shared__ int s[32];
  s[T] = a[T] + B;
  BUG(asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");)
  FIX(asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");)
  c[B * 32 + T] = *cg::this_cluster().map_shared_rank(&s[31 - T], B ^ 1);
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
// @ cluster_second_round: shared-read-write-race <<<2, 32>>>
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_second_round(int* a, int* b, int* c) {
  __shared__ int s[32];
  int sum = 0;
  for (int k = 0; k < 3; ++k) {
    s[T] = a[T] + B + k;
    cg::this_cluster().sync();
    sum += *cg::this_cluster().map_shared_rank(&s[31 - T], B ^ 1);
    FIX(cg::this_cluster().sync();)
  }
  c[B * 32 + T] = sum;
  BUG(cg::this_cluster().sync();)
}
// @ bulk_phase_always_zero: shared-read-write-race|shared-write-race|endless-wait <<<1, 64>>>
KERNEL(bulk_phase_always_zero) {
  __shared__ alignas(128) int s[64];
  __shared__ unsigned long long bar;
  if (T == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(SH(&bar)) : "memory");
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 3; ++k) {
    if (T == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(SH(&bar)) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" :: "r"(SH(s)), "l"(a + 64 * k), "r"(SH(&bar)) : "memory");
    }
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra D; bra W; D:}" :: "r"(SH(&bar)), "r"(BUG(0) FIX(k & 1)) : "memory");
    sum += s[63 - T];
    __syncthreads();
  }
  c[T] = sum;
}
// @ bulk_store_reused: shared-read-write-race <<<1, 64>>>
KERNEL(bulk_store_reused) {
  __shared__ alignas(128) int s[64];
  for (int k = 0; k < 3; ++k) {
    s[T] = a[T] + k;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (T == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256; cp.async.bulk.commit_group;" :: "l"(c + 64 * k), "r"(SH(s)) : "memory");
      FIX(asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");)
      BUG(asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");)
    }
    __syncthreads();
  }
}
// @ group_copy: shared-read-write-race|uninitialised-shared-read <<<1, 128>>>
KERNEL(group_copy) {
  __shared__ int s[128];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, a, sizeof(s));
  FIX(cg::wait(block);)
  c[T] = s[127 - T];
}
// @ copies_one_group_early: shared-read-write-race <<<1, 128>>>
KERNEL(copies_one_group_early) {
  __shared__ int s[3][128];
  int sum = 0;
  for (int k = 0; k < 2; ++k) {
    __pipeline_memcpy_async(&s[k][T], &a[128 * k + T], 4);
    __pipeline_commit();
  }
  for (int k = 0; k < 6; ++k) {
    if (k + 2 < 6) __pipeline_memcpy_async(&s[(k + 2) % 3][T], &a[128 * (k + 2) + T], 4);
    __pipeline_commit();
    __pipeline_wait_prior(BUG(3) FIX(2));
    __syncthreads();
    sum += s[k % 3][127 - T];
    __syncthreads();
  }
  c[T] = sum;
}
// @ producers_and_consumers: shared-read-write-race <<<1, 96>>>
KERNEL(producers_and_consumers) {
  using P = cuda::pipeline_role;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int s[2][32];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state, T < 32 ? P::producer : P::consumer);
  if (T < 32) {
    for (int k = 0; k < 4; ++k) {
      pipe.producer_acquire();
      s[k & 1][T] = a[32 * k + T];
      pipe.producer_commit();
    }
  } else {
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
      pipe.consumer_wait();
      FIX(sum += s[k & 1][T & 31];)
      pipe.consumer_release();
      BUG(sum += s[k & 1][T & 31];)
    }
    c[T] = sum;
  }
}
// @ copy_arrives_at_mbarrier: shared-read-write-race|uninitialised-shared-read <<<1, 64>>>
KERNEL(copy_arrives_at_mbarrier) {
  __shared__ unsigned long long bar;
  __shared__ int s[64];
  if (T == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(SH(&bar)) : "memory");
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(SH(&s[T])), "l"(a + T) : "memory");
  FIX(asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(SH(&bar)) : "memory");)
  BUG(asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(SH(&bar)) : "memory");)
  asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @p bra D; bra W; D:}" :: "r"(SH(&bar)) : "memory");
  c[T] = s[63 - T];
}
// @ stack_of_nodes: global-read-write-race <<<2, 32>>>
KERNEL(stack_of_nodes) {
  if (T) return;
  if (B == 0) {
    c[10] = 4; FIX(__threadfence();)
    atomicCAS(&b[0], 0, 10);
  } else {
    int top;
    while ((top = atomicCAS(&b[0], 10, 11)) != 10) { }
    FIX(__threadfence();)
    c[11] = c[top];
  }
}
// @ volatile_flag_between_blocks: global-read-write-race|racy-volatile-access <<<2, 32>>>
KERNEL(volatile_flag_between_blocks) {
  volatile int* f = b;
  if (T) return;
  if (B == 0) { c[1] = 7; FIX(__threadfence();) f[0] = 9; }
  else { while (f[0] != 9) __nanosleep(20); FIX(__threadfence();) c[2] = c[1]; }
}
// @ vector_store_over_word: shared-write-race <<<1, 64>>>
KERNEL(vector_store_over_word) {
  __shared__ alignas(16) int s[260];
  ((int4*)s)[T] = make_int4(a[T], 1, 2, 3);
  BUG(if (T == 40) s[3] = 5;)
  FIX(if (T == 40) s[256] = 5;)
  __syncthreads();
  c[T] = s[T * 4 + 3];
}
// @ matrix_load_too_early: shared-read-write-race <<<1, 64>>>
KERNEL(matrix_load_too_early) {
  __shared__ alignas(128) int s[256];
  for (int k = T; k < 256; k += 64) s[k] = a[k];
  FIX(__syncthreads();)
  int r0, r1, r2, r3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(SH(s) + (T & 31) * 16) : "memory");
  c[T] = r0 + r1 + r2 + r3;
}
// @ barrier_with_vote: shared-read-write-race <<<1, 64>>>
KERNEL(barrier_with_vote) {
  __shared__ int s[64];
  s[T] = a[T];
  int n = BUG(__popc(__ballot_sync(~0u, a[T]))) FIX(__syncthreads_count(a[T]));
  c[T] = s[63 - T] + n;
}
// @ aligned_bulk_by_barrier: shared-read-write-race|uninitialised-shared-read <<<1, 64>>>
KERNEL(aligned_bulk_by_barrier) {
  __shared__ alignas(128) int s[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (T == 0) init(&bar, 64);
  __syncthreads();
  if (T == 0) cuda::memcpy_async(s, a, cuda::aligned_size_t<16>(256), bar);
  auto token = bar.arrive();
  FIX(bar.wait(std::move(token));)
  c[T] = s[63 - T];
  BUG(bar.wait(std::move(token));)
}
// @ reduced_into_global: global-read-write-race <<<1, 64>>>
KERNEL(reduced_into_global) {
  __shared__ alignas(128) int s[64];
  s[T] = a[T];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (T == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 256; cp.async.bulk.commit_group;" :: "l"(c), "r"(SH(s)) : "memory");
    FIX(asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");)
  }
  __syncthreads();
  b[T] = c[63 - T];
}
// @ fence_of_block_in_cluster: shared-read-write-race|uninitialised-shared-read|racy-volatile-access|narrow-scope-atomic <<<2, 32>>>
extern "C" __global__ void __cluster_dims__(2, 1, 1) fence_of_block_in_cluster(int* a, int* b, int* c) {
  __shared__ int s, f;
  if (T == 0) f = 0, s = 0;
  cg::this_cluster().sync();
  if (T == 0 && B == 0) {
    int* far = cg::this_cluster().map_shared_rank(&s, 1);
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(*cg::this_cluster().map_shared_rank(&f, 1));
    *far = 3;
    BUG(__threadfence_block();) FIX(__threadfence();)
    flag.store(1, cuda::memory_order_relaxed);
  }
  if (T == 0 && B == 1) {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(f);
    while (flag.load(cuda::memory_order_relaxed) == 0) { }
    __threadfence();
    c[0] = s;
  }
  cg::this_cluster().sync();
}
// @ heap_inner: invalid-free|heap-leak <<<1, 32>>>
KERNEL(heap_inner) {
  int* p = (int*)malloc(16);
  if (p) { p[0] = T; c[T] = p[0]; free(p BUG(+ 1)); }
}
