// Memory errors and reads of what nobody wrote; a, b and c are 4,096 bytes each.
#include <cassert>
#include "pairs.cuh"

// @ one_behind_the_end: out-of-bounds <<<1, 32>>>
KERNEL(one_behind_the_end) { c[1023 + BUG(T / 31) FIX(0 * T)] = 1; }
// @ before_the_beginning: out-of-bounds <<<1, 32>>>
KERNEL(before_the_beginning) { c[T] = a[(int)T - BUG(1) FIX(0)]; }
// @ index_meets_the_next_array: out-of-bounds <<<1, 32>>>
KERNEL(index_meets_the_next_array) { c[T] = a[T + BUG(2048) FIX(992)] + b[T]; }
// @ index_flies_over_megabytes: out-of-bounds <<<1, 32>>>
KERNEL(index_flies_over_megabytes) { c[T] = a[T BUG(* 100000)]; }
// @ vector_not_aligned: misaligned-access <<<1, 32>>>
KERNEL(vector_not_aligned) {
  int4 v = ((int4*)(a BUG(+ 1)))[T];
  c[T] = v.x + v.y + v.z + v.w;
}
// @ null_pointer: out-of-bounds <<<1, 32>>>
KERNEL(null_pointer) {
  int* p = a;
  BUG(if (b[0] == 0) p = (int*)(size_t)b[1];)
  p[T] = 1;
}
// @ dynamic_shared_too_small: out-of-bounds <<<1, 32, 128>>>
KERNEL(dynamic_shared_too_small) {
  extern __shared__ int s[];
  s[T BUG(+ 1)] = a[T];
  __syncwarp();
  c[T] = s[T BUG(+ 1)];
}
// @ static_shared_too_small: out-of-bounds <<<1, 33>>>
KERNEL(static_shared_too_small) {
  __shared__ int s[32 FIX(+ 1)];
  s[T] = a[T];
  __syncthreads();
  c[T] = s[32 - T];
}
// @ local_array_too_small: out-of-bounds <<<1, 32>>>
KERNEL(local_array_too_small) {
  int v[8];
  for (int i = 0; i < 8; ++i) v[i] = a[i] + T;
  c[T] = v[(a[T] + T) BUG(* 64) FIX(% 8)];
}
// @ address_of_shared_as_pointer: wrong-space <<<1, 32>>>
KERNEL(address_of_shared_as_pointer) {
  __shared__ int s[32];
  s[T] = a[T];
  __syncwarp();
  BUG(c[T] = *(volatile int*)(size_t)(unsigned)__cvta_generic_to_shared(s + T);)
  FIX(c[T] = s[T];)
}
// @ window_address_in_global_load: wrong-space <<<1, 32>>>
KERNEL(window_address_in_global_load) {
  __shared__ int s[32];
  int v;
  s[T] = a[T];
  BUG(asm volatile("ld.global.s32 %0, [%1];" : "=r"(v) : "l"(s + T));)
  FIX(asm volatile("ld.s32 %0, [%1];" : "=r"(v) : "l"(s + T));)
  c[T] = v;
}
// @ heap_overflow: out-of-bounds <<<1, 1>>>
KERNEL(heap_overflow) {
  int* p = (int*)malloc(64);
  p[BUG(16) FIX(15)] = 1;
  free(p);
}
// @ heap_use_after_free: use-after-free <<<1, 1>>>
KERNEL(heap_use_after_free) {
  volatile int* p = (int*)malloc(64);
  p[0] = 1;
  BUG(free((void*)p);)
  c[0] = p[0];
  FIX(free((void*)p);)
}
// @ heap_double_free: double-free <<<1, 1>>>
KERNEL(heap_double_free) {
  void* p = malloc(64);
  c[0] = p != nullptr;
  free(p);
  BUG(free(p);)
}
// @ heap_free_inside: invalid-free|heap-leak <<<1, 1>>>
KERNEL(heap_free_inside) {
  char* p = (char*)malloc(64);
  c[0] = p != nullptr;
  free(p BUG(+ 8));
}
// @ heap_lost: heap-leak <<<1, 1>>>
KERNEL(heap_lost) {
  void* p = malloc(64);
  c[0] = p != nullptr;
  FIX(free(p);)
}
// @ assertion_fails: kernel-trap <<<1, 32>>>
KERNEL(assertion_fails) { assert(T < BUG(31) FIX(32)); c[T] = 1; }
// @ eight_bytes_at_four: misaligned-access <<<1, 1>>>
KERNEL(eight_bytes_at_four) {
  atomicAdd((unsigned long long*)(a + BUG(1) FIX(2)), 1ull);
}
// @ shared_never_written: uninitialised-shared-read <<<1, 32>>>
KERNEL(shared_never_written) {
  __shared__ int s[32];
  FIX(s[T] = 1; __syncwarp();)
  BUG(if (b[0]) s[T] = 1;)
  c[T] = s[T];
}
// @ shared_written_in_part: uninitialised-shared-read <<<1, 64>>>
KERNEL(shared_written_in_part) {
  __shared__ int s[64];
  if (T < BUG(60) FIX(64)) s[T] = a[T];
  __syncthreads();
  c[T] = s[63 - T];
}
// @ bytes_written_in_part: uninitialised-shared-read <<<1, 32>>>
KERNEL(bytes_written_in_part) {
  __shared__ int s[32];
  char* p = (char*)s;
  p[4 * T] = 1; p[4 * T + 1] = 2; p[4 * T + 2] = 3; FIX(p[4 * T + 3] = 4;)
  __syncwarp();
  c[T] = s[T];
}
// @ local_never_written: uninitialised-local-read <<<1, 32>>>
KERNEL(local_never_written) {
  int v[16];
  for (int i = BUG(1) FIX(0); i < 16; ++i) v[(i + a[i]) % 16] = i;
  c[T] = v[a[T] % 16];
}
// @ heap_never_written: uninitialised-global-read <<<1, 1>>>
KERNEL(heap_never_written) {
  volatile int* p = (int*)malloc(64);
  FIX(p[3] = 1;)
  c[0] = p[3];
  free((void*)p);
}
// @ array_never_written: uninitialised-global-read <<<1, 32>>> unwritten
KERNEL(array_never_written) {
  FIX(a[T] = T; __syncwarp();)
  c[T] = a[T];
}
// @ array_written_in_part: uninitialised-global-read <<<2, 32>>> unwritten
KERNEL(array_written_in_part) {
  int i = blockIdx.x * 32 + T;
  if (i < BUG(63) FIX(64)) a[i] = i;
  c[i] = a[i];
}
// @ added_to_what_nobody_wrote: uninitialised-global-read <<<1, 32>>> unwritten
KERNEL(added_to_what_nobody_wrote) {
  FIX(if (T == 0) a[0] = 0; __syncwarp();)
  atomicAdd(a, 1);
}
// @ changed_in_place: uninitialised-global-read <<<2, 32>>> unwritten
KERNEL(changed_in_place) {
  int i = blockIdx.x * 32 + T;
  FIX(a[i] = 1;)
  a[i] += i;
}
