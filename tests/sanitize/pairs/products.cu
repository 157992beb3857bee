// Products of warpgroups (wgmma): their operands in shared memory.
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(256) name(int* a, int* b, int* c)
#include "pairs.cuh"
#define SH(x) ((unsigned)__cvta_generic_to_shared(x))
#define PROXY() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
// rows of 16 bytes, eight of them together; the second half of k 1024 (A) or 128 bytes (B) further
__device__ __forceinline__ unsigned long long matrix(const void* s, int leading, int stride) {
  return (SH(s) & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16 | (unsigned long long)(stride >> 4) << 32;
}
#define ARRIVE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
__device__ __forceinline__ void multiply(float (&d)[4], unsigned long long da, unsigned long long db) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(da), "l"(db) : "memory");
}
__device__ __forceinline__ void fragments(float (&d)[4], unsigned (&f)[4], unsigned long long db) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(db) : "memory");
}
__device__ __forceinline__ void product(float (&d)[4], unsigned long long da, unsigned long long db) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(da), "l"(db));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
#define GWAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")
// the operands in shared memory, for all to see
#define STAGE() \
  for (int k = 0; k < 4; ++k) s[T + 128 * k] = a[T]; \
  if (T < 64) t[T] = b[T]; \
  PROXY(); \
  __syncthreads();
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
  STAGE()
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
  STAGE()
  product(d, matrix(s, 1024, BUG(4096) FIX(128)), matrix(t, 128, 128));
  GWAIT(0);
  OUT()
}
// @ product_without_fence: missing-wgmma-fence <<<1, 128>>>
KERNEL(product_without_fence) {
  __shared__ alignas(128) int s[512], t[64];
  float d[4];
  for (int k = 0; k < 4; ++k) s[T + 128 * k] = a[T], d[k] = c[T + 128 * k];
  if (T < 64) t[T] = b[T];
  PROXY();
  __syncthreads();
  FIX(ARRIVE();)
  multiply(d, matrix(s, 1024, 128), matrix(t, 128, 128));
  COMMIT();
  GWAIT(0);
  OUT()
}
// @ sums_changed_behind_the_fence: missing-wgmma-fence <<<1, 128>>>
KERNEL(sums_changed_behind_the_fence) {
  __shared__ alignas(128) int s[512], t[64];
  float d[4] = {};
  STAGE()
  ARRIVE();
  for (int i = 0; i < 3; ++i) {
    multiply(d, matrix(s, 1024, 128), matrix(t, 128, 128));
    COMMIT();
    GWAIT(0);
    for (int k = 0; k < 4; ++k) d[k] *= 0.5f;
    FIX(ARRIVE();)
  }
  OUT()
}
// @ sums_read_before_the_wait: missing-wgmma-wait <<<1, 128>>>
KERNEL(sums_read_before_the_wait) {
  __shared__ alignas(128) int s[512], t[64];
  float d[4] = {};
  STAGE()
  ARRIVE();
  multiply(d, matrix(s, 1024, 128), matrix(t, 128, 128));
  COMMIT();
  FIX(GWAIT(0);)
  OUT()
  GWAIT(0);
}
// @ group_not_closed: missing-wgmma-wait <<<1, 128>>>
KERNEL(group_not_closed) {
  __shared__ alignas(128) int s[512], t[64];
  float d[4] = {};
  STAGE()
  ARRIVE();
  multiply(d, matrix(s, 1024, 128), matrix(t, 128, 128));
  FIX(COMMIT();)
  GWAIT(0);
  OUT()
}
// @ last_group_read: missing-wgmma-wait <<<1, 128>>>
KERNEL(last_group_read) {
  __shared__ alignas(128) int s[512], t[64];
  float d[4] = {}, e[4] = {};
  STAGE()
  product(e, matrix(s, 1024, 128), matrix(t, 128, 128));
  product(d, matrix(s, 1024, 128), matrix(t, 128, 128));
  GWAIT(1);
  for (int k = 0; k < 4; ++k) c[T + 128 * k] = BUG(d) FIX(e)[k];
  GWAIT(0);
  for (int k = 0; k < 4; ++k) b[T + 128 * k] = d[k] + e[k];
}
// @ fragments_made_behind_the_fence: missing-wgmma-fence <<<1, 128>>>
KERNEL(fragments_made_behind_the_fence) {
  __shared__ alignas(128) int t[64];
  float d[4] = {};
  unsigned f[4];
  if (T < 64) t[T] = b[T];
  for (int k = 0; k < 4; ++k) f[k] = a[T + 128 * k];
  PROXY();
  __syncthreads();
  for (int i = 0; i < 3; ++i) {
    BUG(ARRIVE();)
    for (int k = 0; k < 4; ++k) f[k] += c[T];
    FIX(ARRIVE();)
    fragments(d, f, matrix(t, 128, 128));
    COMMIT();
    GWAIT(0);
  }
  OUT()
}
// @ swizzled_rows_misplaced: misaligned-access <<<1, 128>>>
KERNEL(swizzled_rows_misplaced) {
  __shared__ alignas(1024) int s[2304], t[512];
  float d[4] = {};
  for (int k = 0; k < 18; ++k) s[T + 128 * k] = a[T];
  for (int k = 0; k < 4; ++k) t[T + 128 * k] = b[T];
  PROXY();
  __syncthreads();
  product(d, matrix(s BUG(+ 32) FIX(+ 256), 16, 1024) | 1ull << 62, matrix(t + 8, 16, 1024) | 1ull << 62);
  GWAIT(0);
  OUT()
}
// @ narrow_swizzle_misplaced: misaligned-access <<<1, 128>>>
KERNEL(narrow_swizzle_misplaced) {
  __shared__ alignas(1024) int s[1152], t[320];
  float d[4] = {};
  for (int k = 0; k < 9; ++k) s[T + 128 * k] = a[T];
  for (int k = T; k < 320; k += 128) t[k] = b[T];
  PROXY();
  __syncthreads();
  product(d, matrix(s, 16, 512) | 2ull << 62, matrix(t BUG(+ 32) FIX(+ 128), 16, 512) | 2ull << 62);
  GWAIT(0);
  OUT()
}
// @ base_offset_wrong: misaligned-access <<<1, 128>>>
KERNEL(base_offset_wrong) {
  __shared__ alignas(1024) int s[2304], t[512];
  float d[4] = {};
  for (int k = 0; k < 18; ++k) s[T + 128 * k] = a[T];
  for (int k = 0; k < 4; ++k) t[T + 128 * k] = b[T];
  PROXY();
  __syncthreads();
  product(d, matrix(s + 32, 16, 1024) | 1ull << 62 | BUG(2ull) FIX(1ull) << 49, matrix(t, 16, 1024) | 1ull << 62);
  GWAIT(0);
  OUT()
}
