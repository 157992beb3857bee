// Objects of the CUDA C++ standard library: atomics with scopes, barriers, pipelines.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include "pairs.cuh"
namespace cg = cooperative_groups;
using Device = cuda::atomic_ref<int, cuda::thread_scope_device>;
using Block = cuda::atomic_ref<int, cuda::thread_scope_block>;

// @ reference_of_block_scope: narrow-scope-atomic <<<2, 32>>>
KERNEL(reference_of_block_scope) {
  BUG(Block) FIX(Device) r(a[0]);
  r.fetch_add(1, cuda::memory_order_relaxed);
}
// @ message_by_reference: global-read-write-race <<<2, 32>>>
KERNEL(message_by_reference) {
  if (T) return;
  Device flag(b[0]);
  if (B == 0) {
    a[0] = 7;
    flag.store(1, BUG(cuda::memory_order_relaxed) FIX(cuda::memory_order_release));
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0);
    c[0] = a[0];
  }
}
// @ relaxed_message_with_fences: global-read-write-race <<<2, 32>>>
KERNEL(relaxed_message_with_fences) {
  if (T) return;
  Device flag(b[0]);
  if (B == 0) {
    a[0] = 7;
    cuda::atomic_thread_fence(
        cuda::memory_order_release,
        BUG(cuda::thread_scope_block) FIX(cuda::thread_scope_device));
    flag.store(1, cuda::memory_order_relaxed);
  } else {
    while (flag.load(cuda::memory_order_relaxed) == 0);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    c[0] = a[0];
  }
}
// @ barrier_arrival_is_no_wait: shared-read-write-race <<<1, 64>>>
KERNEL(barrier_arrival_is_no_wait) {
  using Bar = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Bar bar;
  __shared__ int s[64];
  if (T == 0) init(&bar, 64);
  __syncthreads();
  s[T] = a[T];
  auto token = bar.arrive();
  BUG(c[T] = s[63 - T];)
  bar.wait(static_cast<Bar::arrival_token&&>(token));
  FIX(c[T] = s[63 - T];)
}
// @ barrier_counts_too_few: shared-read-write-race|endless-wait|barrier-deadlock <<<1, 64>>>
KERNEL(barrier_counts_too_few) {
  using Bar = cuda::barrier<cuda::thread_scope_block>;
  __shared__ Bar bar;
  __shared__ int s[64];
  if (T == 0) init(&bar, BUG(32) FIX(64));
  __syncthreads();
  s[T] = a[T];
  bar.arrive_and_wait();
  c[T] = s[63 - T];
}
// @ pipeline_not_awaited: shared-read-write-race <<<1, 64>>>
KERNEL(pipeline_not_awaited) {
  __shared__ int s[2][64];
  auto pipe = cuda::make_pipeline();
  for (int i = 0; i < 2; i++) {
    pipe.producer_acquire();
    cuda::memcpy_async(&s[i][T], a + i * 64 + T, sizeof(int), pipe);
    pipe.producer_commit();
  }
  int sum = 0;
  for (int i = 0; i < 2; i++) {
    FIX(pipe.consumer_wait();)
    sum += s[i][T];
    FIX(pipe.consumer_release();)
  }
  c[T] = sum;
}
// @ pipeline_of_one_thread: shared-read-write-race <<<1, 64>>>
// Each thread waits for its own copies only: the others' need the block's barrier.
KERNEL(pipeline_of_one_thread) {
  __shared__ int s[64];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&s[T], a + T, sizeof(int), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  FIX(__syncthreads();)
  c[T] = s[63 - T];
}
// @ block_copy_not_awaited: shared-read-write-race <<<1, 64>>>
KERNEL(block_copy_not_awaited) {
  __shared__ alignas(16) int s[64];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, a, sizeof(s));
  FIX(cg::wait(block);) BUG(block.sync();)
  c[T] = s[63 - T];
}
// @ exchange_of_a_spin_lock: global-write-race|global-read-write-race <<<3, 32>>>
KERNEL(exchange_of_a_spin_lock) {
  if (T) return;
  Device lock(a[0]);
  int expected = 0;
  while (!lock.compare_exchange_weak(expected, 1, cuda::memory_order_acquire)) expected = 0;
  b[0] += 1;
  lock.store(0, BUG(cuda::memory_order_relaxed) FIX(cuda::memory_order_release));
}
// @ sequence_lock: global-read-write-race <<<2, 32>>>
KERNEL(sequence_lock) {
  if (T) return;
  Device sequence(a[0]), data(b[0]);
  if (B == 0) {
    sequence.store(1, cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
    BUG(b[0] = 5;) FIX(data.store(5, cuda::memory_order_relaxed);)
    sequence.store(2, cuda::memory_order_release);
  } else {
    int before, after, seen;
    do {
      before = sequence.load(cuda::memory_order_acquire);
      BUG(seen = b[0];) FIX(seen = data.load(cuda::memory_order_relaxed);)
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
      after = sequence.load(cuda::memory_order_relaxed);
    } while (before != after || (before & 1));
    c[0] = seen;
  }
}
