// What goes on beside the threads: bulk copies, their groups, proxies; asynchronous copies.
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(256) name(int* a, int* b, int* c)
#include "pairs.cuh"
#define SH(x) ((unsigned)__cvta_generic_to_shared(x))
__device__ __forceinline__ void bar_init(void* b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(SH(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void bar_expect(void* b, int n) { asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" :: "r"(SH(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void bar_arrive(void* b) { asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(SH(b)) : "memory"); }
__device__ __forceinline__ void bar_wait(void* b, int parity) { int done = 0; while (!done)
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(SH(b)), "r"(parity) : "memory"); }
__device__ __forceinline__ void bulk_in(void* s, const void* g, int n, void* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(SH(s)), "l"(g), "r"(n), "r"(SH(b)) : "memory"); }
__device__ __forceinline__ void bulk_out(void* g, const void* s, int n) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(g), "r"(SH(s)), "r"(n) : "memory"); }
#define PROXY() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BCOMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BWAIT(n) asm volatile("cp.async.bulk.wait_group %0;" :: "n"(n) : "memory")
#define BREAD(n) asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(n) : "memory")
#define CP(d, s) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(SH(d)), "l"(s) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")

// @ bulk_in_one_warp: shared-read-write-race <<<1, 32>>>
KERNEL(bulk_in_one_warp) {
  __shared__ alignas(8) unsigned long long bar; __shared__ alignas(16) int s[64];
  if (T == 0) bar_init(&bar, 1);
  __syncwarp();
  if (T == 0) { bar_expect(&bar, 256); bulk_in(s, a, 256, &bar); }
  FIX(bar_wait(&bar, 0);)
  BUG(__syncwarp();)
  c[T] = s[T];
}
// @ bulk_then_syncthreads: shared-read-write-race <<<1, 64>>>
KERNEL(bulk_then_syncthreads) {
  __shared__ alignas(8) unsigned long long bar; __shared__ alignas(16) int s[64];
  if (T == 0) bar_init(&bar, 1);
  __syncthreads();
  if (T == 0) { bar_expect(&bar, 256); bulk_in(s, a, 256, &bar); }
  FIX(bar_wait(&bar, 0);)
  BUG(__syncthreads();)
  c[T] = s[63 - T];
}
// @ one_waits_then_all: shared-read-write-race <<<1, 64>>>
KERNEL(one_waits_then_all) {
  __shared__ alignas(8) unsigned long long bar; __shared__ alignas(16) int s[64];
  if (T == 0) bar_init(&bar, 1);
  __syncthreads();
  if (T == 0) { bar_expect(&bar, 256); bulk_in(s, a, 256, &bar); }
  if (T == 32) bar_wait(&bar, 0);
  FIX(__syncthreads();)
  c[T] = s[63 - T];
}
// @ two_stages: shared-read-write-race <<<1, 64>>>
KERNEL(two_stages) {
  __shared__ alignas(8) unsigned long long bar[2]; __shared__ alignas(16) int s[2][64];
  if (T == 0) { bar_init(bar, 1); bar_init(bar + 1, 1); }
  __syncthreads();
  if (T == 0) for (int k = 0; k < 2; ++k) { bar_expect(bar + k, 256); bulk_in(s[k], a + 64 * k, 256, bar + k); }
  bar_wait(bar, 0);
  c[T] = s[0][63 - T];
  FIX(bar_wait(bar + 1, 0);)
  c[T + 64] = s[1][63 - T];
}
// @ producer_and_consumers: shared-read-write-race|endless-wait|shared-write-race <<<1, 96>>>
KERNEL(producer_and_consumers) {
  __shared__ alignas(8) unsigned long long full[2], empty[2]; __shared__ alignas(16) int s[2][64];
  if (T == 0) for (int k = 0; k < 2; ++k) { bar_init(full + k, 1); bar_init(empty + k, 64); }
  __syncthreads();
  if (T >= 64) {
    if (T == 64) for (int k = 0; k < 8; ++k) {
      int i = k % 2;
      FIX(if (k >= 2)) BUG(if (k >= 3)) bar_wait(empty + i, (k / 2 - 1) & 1);
      bar_expect(full + i, 256); bulk_in(s[i], a + 64 * k, 256, full + i);
    }
  } else {
    int sum = 0;
    for (int k = 0; k < 8; ++k) { int i = k % 2; bar_wait(full + i, k / 2 & 1); sum += s[i][63 - T]; bar_arrive(empty + i); }
    c[T] = sum;
  }
}
// @ store_without_proxy_fence: missing-proxy-fence <<<1, 64>>>
KERNEL(store_without_proxy_fence) {
  __shared__ alignas(16) int s[64];
  s[T] = T;
  FIX(PROXY();)
  __syncthreads();
  if (T == 0) { bulk_out(c, s, 256); BCOMMIT(); BWAIT(0); }
}
// @ store_before_barrier: shared-read-write-race <<<1, 64>>>
KERNEL(store_before_barrier) {
  __shared__ alignas(16) int s[64];
  s[T] = T;
  PROXY();
  FIX(__syncthreads();)
  if (T == 0) { bulk_out(c, s, 256); BCOMMIT(); BWAIT(0); }
}
// @ source_overwritten: shared-read-write-race <<<1, 64>>>
KERNEL(source_overwritten) {
  __shared__ alignas(16) int s[64];
  s[T] = T;
  PROXY(); __syncthreads();
  if (T == 0) { bulk_out(c, s, 256); BCOMMIT(); FIX(BREAD(0);) }
  __syncthreads();
  s[T] = 2 * T;
  PROXY(); __syncthreads();
  if (T == 0) { BREAD(0); bulk_out(c + 64, s, 256); BCOMMIT(); BWAIT(0); }
}
// @ own_source_overwritten: shared-read-write-race <<<1, 32>>>
KERNEL(own_source_overwritten) {
  __shared__ alignas(16) int s[64];
  s[T] = T; s[T + 32] = T;
  PROXY(); __syncwarp();
  if (T == 0) { bulk_out(c, s, 256); BCOMMIT(); FIX(BREAD(0);) s[0] = 9; BREAD(0); }
}
// @ bulk_beyond_global: out-of-bounds|invalid-access <<<1, 32>>>
KERNEL(bulk_beyond_global) {
  __shared__ alignas(8) unsigned long long bar; __shared__ alignas(16) int s[64];
  if (T == 0) { bar_init(&bar, 1); bar_expect(&bar, 256); bulk_in(s, a + BUG(992) FIX(960), 256, &bar); bar_wait(&bar, 0); c[0] = s[0]; }
}
// @ bulk_from_unwritten: uninitialised-global-read <<<1, 32>>> unwritten
KERNEL(bulk_from_unwritten) {
  __shared__ alignas(8) unsigned long long bar; __shared__ alignas(16) int s[64];
  FIX(a[T] = 1; a[T + 32] = 2; asm volatile("fence.proxy.async;" ::: "memory"); __syncwarp();)
  if (T == 0) { bar_init(&bar, 1); bar_expect(&bar, 256); bulk_in(s, a, 256, &bar); bar_wait(&bar, 0); c[0] = s[0]; }
}
// @ bulk_out_of_unwritten: uninitialised-shared-read <<<1, 32>>>
KERNEL(bulk_out_of_unwritten) {
  __shared__ alignas(16) int s[64];
  s[T] = T; FIX(s[T + 32] = T;)
  PROXY(); __syncwarp();
  if (T == 0) { bulk_out(c, s, 256); BCOMMIT(); BWAIT(0); }
}
// @ bulk_misaligned: misaligned-access|invalid-access <<<1, 32>>>
KERNEL(bulk_misaligned) {
  __shared__ alignas(8) unsigned long long bar; __shared__ alignas(16) int s[80];
  if (T == 0) { bar_init(&bar, 1); bar_expect(&bar, 256); bulk_in(s, a + BUG(2) FIX(4), 256, &bar); bar_wait(&bar, 0); c[0] = s[0]; }
}
// @ bytes_never_come: endless-wait|barrier-deadlock <<<1, 32>>>
KERNEL(bytes_never_come) {
  __shared__ alignas(8) unsigned long long bar; __shared__ alignas(16) int s[64];
  if (T == 0) { bar_init(&bar, 1); bar_expect(&bar, BUG(512) FIX(256)); bulk_in(s, a, 256, &bar); bar_wait(&bar, 0); c[0] = s[0]; }
}
// @ copies_over_reads: shared-read-write-race <<<1, 64>>>
KERNEL(copies_over_reads) {
  __shared__ int s[64];
  int sum = 0;
  for (int k = 0; k < 4; ++k) {
    CP(s + T, a + 64 * k + T); COMMIT(); WAIT(0);
    __syncthreads();
    sum += s[63 - T];
    FIX(__syncthreads();)
  }
  c[T] = sum;
}
// @ pipeline_off_by_one: shared-read-write-race <<<1, 64>>>
KERNEL(pipeline_off_by_one) {
  __shared__ int s[3][64];
  int sum = 0;
  for (int k = 0; k < 2; ++k) { CP(s[k] + T, a + 64 * k + T); COMMIT(); }
  for (int k = 0; k < 6; ++k) {
    BUG(WAIT(2);) FIX(WAIT(1);)
    __syncthreads();
    sum += s[k % 3][63 - T];
    if (k < 4) CP(s[(k + 2) % 3] + T, a + 64 * (k + 2) + T);
    COMMIT();
  }
  c[T] = sum;
}
// @ source_written_while_copied: global-read-write-race <<<1, 64>>>
KERNEL(source_written_while_copied) {
  __shared__ int s[64];
  CP(s + T, a + (T + 32) % 64); COMMIT();
  FIX(WAIT(0); __syncthreads();)
  a[T] = 7;
  WAIT(0);
  __syncthreads();
  c[T] = s[T];
}
// @ copy_from_unwritten: uninitialised-global-read <<<1, 32>>> unwritten
KERNEL(copy_from_unwritten) {
  __shared__ int s[32];
  FIX(a[T] = T;)
  CP(s + T, a + T); COMMIT(); WAIT(0);
  __syncwarp();
  c[T] = s[31 - T];
}
