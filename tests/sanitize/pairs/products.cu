// Products of warpgroups (wgmma): their operands in shared memory.
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(256) name(int* a, int* b, int* c)
#include "pairs.cuh"
#define SH(x) ((unsigned)__cvta_generic_to_shared(x))
#define PROXY() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
// rows of 16 bytes, eight of them together; the second half of k 1024 (A) or 128 bytes (B) further
__device__ __forceinline__ unsigned long long matrix(const void* s, int leading, int stride) {
  return (SH(s) & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16 | (unsigned long long)(stride >> 4) << 32;
}
__device__ __forceinline__ void product(float (&d)[4], unsigned long long da, unsigned long long db) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(da), "l"(db));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
#define GWAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")
#define OUT() { for (int k = 0; k < 4; ++k) c[T + 128 * k] = d[k]; }

// @ products_before_the_barrier: shared-read-write-race <<<1, 128>>>
KERNEL(products_before_the_barrier) {
  __shared__ alignas(128) int s[512], t[64];
  float d[4] = {};
  for (int k = 0; k < 4; ++k) s[T + 128 * k] = a[T];
  if (T < 64) t[T] = b[T];
  PROXY();
  FIX(__syncthreads();)
  product(d, matrix(s, 1024, 128), matrix(t, 128, 128));
  GWAIT(0);
  OUT()
}
// @ product_without_proxy_fence: missing-proxy-fence <<<1, 128>>>
KERNEL(product_without_proxy_fence) {
  __shared__ alignas(128) int s[512], t[64];
  float d[4] = {};
  for (int k = 0; k < 4; ++k) s[T + 128 * k] = a[T];
  if (T < 64) t[T] = b[T];
  FIX(PROXY();)
  __syncthreads();
  product(d, matrix(s, 1024, 128), matrix(t, 128, 128));
  GWAIT(0);
  OUT()
}
// @ operands_overwritten: shared-read-write-race <<<1, 128>>>
KERNEL(operands_overwritten) {
  __shared__ alignas(128) int s[512], t[64];
  float d[4] = {};
  for (int k = 0; k < 4; ++k) s[T + 128 * k] = a[T];
  if (T < 64) t[T] = b[T];
  PROXY();
  __syncthreads();
  product(d, matrix(s, 1024, 128), matrix(t, 128, 128));
  FIX(GWAIT(0);)
  __syncthreads();
  if (T < 64) t[T] = a[T];
  PROXY();
  __syncthreads();
  GWAIT(0);
  product(d, matrix(s, 1024, 128), matrix(t, 128, 128));
  GWAIT(0);
  OUT()
}
// @ last_product_not_awaited: shared-read-write-race <<<1, 128>>>
KERNEL(last_product_not_awaited) {
  __shared__ alignas(128) int s[512], t[2][64];
  float d[4] = {}, e[4] = {};
  for (int k = 0; k < 4; ++k) s[T + 128 * k] = a[T];
  t[T / 64][T % 64] = b[T];
  PROXY();
  __syncthreads();
  product(d, matrix(s, 1024, 128), matrix(t[0], 128, 128));
  product(e, matrix(s, 1024, 128), matrix(t[1], 128, 128));
  GWAIT(1);
  __syncthreads();
  if (T < 64) t[BUG(1) FIX(0)][T] = a[T];
  GWAIT(0);
  for (int k = 0; k < 4; ++k) d[k] += e[k];
  __syncthreads();
  OUT()
  c[T] += t[0][T % 64] + t[1][T % 64];
}
// @ operand_never_written: uninitialised-shared-read <<<1, 128>>>
KERNEL(operand_never_written) {
  __shared__ alignas(128) int s[512], t[64];
  float d[4] = {};
  for (int k = 0; k < BUG(3) FIX(4); ++k) s[T + 128 * k] = a[T];
  if (T < 64) t[T] = b[T];
  PROXY();
  __syncthreads();
  product(d, matrix(s, 1024, 128), matrix(t, 128, 128));
  GWAIT(0);
  OUT()
}
// @ operand_beyond_shared: out-of-bounds|invalid-access <<<1, 128>>>
KERNEL(operand_beyond_shared) {
  __shared__ alignas(128) int s[512], t[64];
  float d[4] = {};
  for (int k = 0; k < 4; ++k) s[T + 128 * k] = a[T];
  if (T < 64) t[T] = b[T];
  PROXY();
  __syncthreads();
  product(d, matrix(s, 1024, BUG(4096) FIX(128)), matrix(t, 128, 128));
  GWAIT(0);
  OUT()
}
