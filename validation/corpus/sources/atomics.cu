// Atomics of libcu++ by type, operation, scope and order, and CUDA's own.
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

enum { LOAD, STORE, EXCHANGE, WEAK, STRONG, ADD, SUB, AND, OR, XOR, LEAST, MOST, FLAG };

template <class T, int Kind, cuda::thread_scope Scope, int Order>
__global__ void atomic_on(T *at, T *out, T value) {
  constexpr cuda::memory_order order = (cuda::memory_order)Order;
  cuda::atomic_ref<T, Scope> ref(at[threadIdx.x & 3]);
  T seen = value + T(threadIdx.x);
  if constexpr (Kind == LOAD) seen = ref.load(order);
  if constexpr (Kind == STORE) ref.store(seen, order);
  if constexpr (Kind == EXCHANGE) seen = ref.exchange(seen, order);
  if constexpr (Kind == WEAK) { T e = value; while (!ref.compare_exchange_weak(e, e + seen, order)); seen = e; }
  if constexpr (Kind == STRONG) { T e = value; seen = ref.compare_exchange_strong(e, seen, order) ? e : value; }
  if constexpr (Kind == ADD) seen = ref.fetch_add(seen, order);
  if constexpr (Kind == SUB) ref.fetch_sub(seen, order);
  if constexpr (Kind == AND) seen = ref.fetch_and(seen, order);
  if constexpr (Kind == OR) ref.fetch_or(seen, order);
  if constexpr (Kind == XOR) seen = ref.fetch_xor(seen, order);
  if constexpr (Kind == LEAST) seen = ref.fetch_min(seen, order);
  if constexpr (Kind == MOST) ref.fetch_max(seen, order);
  out[threadIdx.x] = seen;
}

template <class T, int Kind>
__global__ void atomic_shared(T *out, T value) {
  __shared__ T place[4];
  if (threadIdx.x < 4) place[threadIdx.x] = value;
  __syncthreads();
  cuda::atomic_ref<T, cuda::thread_scope_block> ref(place[threadIdx.x & 3]);
  T seen = value + T(threadIdx.x);
  if constexpr (Kind == EXCHANGE) seen = ref.exchange(seen);
  if constexpr (Kind == STRONG) { T e = value; seen = ref.compare_exchange_strong(e, seen) ? e : value; }
  if constexpr (Kind == ADD) seen = ref.fetch_add(seen, cuda::memory_order_relaxed);
  if constexpr (Kind == MOST) seen = ref.fetch_max(seen, cuda::memory_order_relaxed);
  if constexpr (Kind == FLAG) { while (ref.exchange(T(1), cuda::memory_order_acquire) == T(1)); ref.store(T(0), cuda::memory_order_release); }
  __syncthreads();
  out[threadIdx.x] = seen + place[0];
}

#define ONE(T, K, S, O) template __global__ void atomic_on<T, K, cuda::thread_scope_##S, O>(T *, T *, T);
#define SCOPES(T, K, O) ONE(T, K, block, O) ONE(T, K, device, O) ONE(T, K, system, O)
#define ORDERS(T, K) SCOPES(T, K, 0) SCOPES(T, K, 4) SCOPES(T, K, 5)
#define PLAIN(T) SCOPES(T, LOAD, 0) SCOPES(T, LOAD, 2) SCOPES(T, LOAD, 5) SCOPES(T, STORE, 0)  \
  SCOPES(T, STORE, 3) SCOPES(T, STORE, 5) ORDERS(T, EXCHANGE) ORDERS(T, WEAK) ORDERS(T, STRONG) \
  ORDERS(T, ADD) ORDERS(T, LEAST) ORDERS(T, MOST)
#define WHOLE(T) PLAIN(T) ORDERS(T, SUB) ORDERS(T, AND) ORDERS(T, OR) ORDERS(T, XOR)
WHOLE(int) WHOLE(u32) WHOLE(i64) WHOLE(u64) WHOLE(unsigned char) WHOLE(short) PLAIN(float) PLAIN(double)

#define NEAR(T) template __global__ void atomic_shared<T, EXCHANGE>(T *, T); template __global__ void atomic_shared<T, STRONG>(T *, T); \
  template __global__ void atomic_shared<T, ADD>(T *, T); template __global__ void atomic_shared<T, MOST>(T *, T); \
  template __global__ void atomic_shared<T, FLAG>(T *, T);
NEAR(int) NEAR(u32) NEAR(i64) NEAR(u64) NEAR(float) NEAR(double) NEAR(unsigned char) NEAR(short)

#define CUDA(name, T) \
  __global__ void global_##name##_##T(T *at, T *out, T x) { out[threadIdx.x] = name(at + (threadIdx.x & 7), x); } \
  __global__ void global_##name##_##T##_alone(T *at, T x) { name(at + (threadIdx.x & 7), x); } \
  __global__ void shared_##name##_##T(T *out, T x) { __shared__ T at[8]; if (threadIdx.x < 8) at[threadIdx.x] = out[threadIdx.x]; \
    __syncthreads(); name(at + (threadIdx.x & 7), x); __syncthreads(); if (threadIdx.x < 8) out[threadIdx.x] = at[threadIdx.x]; }
#define EACH(T) CUDA(atomicAdd, T) CUDA(atomicExch, T)
EACH(int) EACH(u32) EACH(u64) EACH(float) CUDA(atomicAdd, double) CUDA(atomicAdd, __half2) CUDA(atomicAdd, __half)
CUDA(atomicAdd, __nv_bfloat162) CUDA(atomicAdd, __nv_bfloat16)
#define LIMITS(T) CUDA(atomicMin, T) CUDA(atomicMax, T) CUDA(atomicAnd, T) CUDA(atomicOr, T) CUDA(atomicXor, T)
LIMITS(int) LIMITS(u32) LIMITS(i64) LIMITS(u64) CUDA(atomicInc, u32) CUDA(atomicDec, u32) CUDA(atomicSub, int)
#define SCOPED(T) CUDA(atomicAdd_block, T) CUDA(atomicAdd_system, T) CUDA(atomicMax_block, T) CUDA(atomicExch_system, T)
SCOPED(int) SCOPED(u64)
#define SWAP(T) __global__ void global_cas_##T(T *at, T *out, T x, T y) { out[threadIdx.x] = atomicCAS(at + (threadIdx.x & 7), x, y); }
typedef unsigned short u16;
SWAP(int) SWAP(u32) SWAP(u64) SWAP(u16)
