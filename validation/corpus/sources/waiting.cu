// Barriers, pipelines, latches and semaphores of libcu++, and flags and locks.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline_primitives.h>

namespace cg = cooperative_groups;
typedef unsigned long long u64;

template <class T, int Rounds, int Kind>
__global__ void barrier_rounds(T *data) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ T tile[256];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  T x = data[threadIdx.x];
  for (int round = 0; round < Rounds; round++) {
    tile[threadIdx.x] = x;
    if (Kind == 0) bar.arrive_and_wait();
    if (Kind == 1) { auto token = bar.arrive(); x = x * x; bar.wait(std::move(token)); }
    if (Kind == 2) { auto token = bar.arrive(); while (!bar.try_wait_for(std::move(token), cuda::std::chrono::nanoseconds(200))) x = x + T(1); }
    if (Kind == 3) { if (threadIdx.x == 7 && round == 3) { bar.arrive_and_drop(); return; } bar.arrive_and_wait(); }
    if (Kind == 4) { (void)bar.arrive(); bar.wait_parity(round & 1); }
    x = x + tile[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
  }
  data[threadIdx.x] = x;
}
#define BARRIER(T) template __global__ void barrier_rounds<T, 8, 0>(T *); template __global__ void barrier_rounds<T, 8, 1>(T *); \
  template __global__ void barrier_rounds<T, 8, 2>(T *); template __global__ void barrier_rounds<T, 8, 3>(T *); \
  template __global__ void barrier_rounds<T, 8, 4>(T *); template __global__ void barrier_rounds<T, 3, 0>(T *);
BARRIER(int) BARRIER(float) BARRIER(double) BARRIER(u64)

template <cuda::thread_scope Scope>
__global__ void barrier_scope(cuda::barrier<Scope> *bar, int *data) {
  atomicAdd(data, 1);
  bar->arrive_and_wait();
  data[1 + threadIdx.x] = data[0];
}
template __global__ void barrier_scope<cuda::thread_scope_device>(cuda::barrier<cuda::thread_scope_device> *, int *);
template __global__ void barrier_scope<cuda::thread_scope_system>(cuda::barrier<cuda::thread_scope_system> *, int *);

template <class T, int Stages, bool Split>
__global__ void pipeline_copy(const T *in, T *out, int tiles) {
  __shared__ T buffer[Stages][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
  auto block = cg::this_thread_block();
  auto pipe = Split ? cuda::make_pipeline(block, &state, threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer)
                    : cuda::make_pipeline(block, &state);
  for (int tile = 0, next = 0; tile < tiles; tile++) {
    for (; next < tiles && next < tile + Stages; next++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buffer[next % Stages], in + next * 128, cuda::aligned_size_t<sizeof(T)>(128 * sizeof(T)), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[tile * 128 + threadIdx.x] = buffer[tile % Stages][127 - threadIdx.x];
    pipe.consumer_release();
  }
}
#define PIPE(T) template __global__ void pipeline_copy<T, 2, false>(const T *, T *, int); template __global__ void pipeline_copy<T, 4, true>(const T *, T *, int);
PIPE(int) PIPE(float2) PIPE(float4) PIPE(char) PIPE(short)

template <class T, int Depth>
__global__ void thread_pipeline(const T *in, T *out, int tiles) {
  __shared__ T buffer[Depth][128];
  auto pipe = cuda::make_pipeline();
  for (int tile = 0; tile < tiles + Depth - 1; tile++) {
    pipe.producer_acquire();
    if (tile < tiles) cuda::memcpy_async(&buffer[tile % Depth][threadIdx.x], in + tile * 128 + threadIdx.x, sizeof(T), pipe);
    pipe.producer_commit();
    if (tile >= Depth - 1) {
      cuda::pipeline_consumer_wait_prior<Depth - 1>(pipe);
      __syncthreads();
      out[(tile - Depth + 1) * 128 + threadIdx.x] = buffer[(tile - Depth + 1) % Depth][127 - threadIdx.x];
      pipe.consumer_release();
    }
  }
}
template __global__ void thread_pipeline<int, 2>(const int *, int *, int);
template __global__ void thread_pipeline<float4, 3>(const float4 *, float4 *, int);
template __global__ void thread_pipeline<double, 4>(const double *, double *, int);

template <class T>
__global__ void copies_at_barrier(const T *in, T *out) {
  __shared__ T tile[256];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(cg::this_thread_block(), tile, in, cuda::aligned_size_t<sizeof(T)>(sizeof(T) * 256), bar);
  bar.arrive_and_wait();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}
template __global__ void copies_at_barrier<int>(const int *, int *);
template __global__ void copies_at_barrier<double2>(const double2 *, double2 *);

__global__ void group_copies(const float4 *in, float4 *out) {
  __shared__ float4 tile[256];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in, sizeof(tile));
  cg::wait(block);
  auto warp = cg::tiled_partition<32>(block);
  cg::memcpy_async(warp, tile + threadIdx.x / 32 * 32, in, 512);
  cg::wait_prior<0>(warp);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void primitive_copies(const int4 *in, int4 *out, int n) {
  __shared__ int4 tile[256];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 16, n);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
__global__ void primitive_barrier(int *data) {
  __shared__ __mbarrier_t bar;
  if (threadIdx.x == 0) __mbarrier_init(&bar, blockDim.x);
  __syncthreads();
  auto token = __mbarrier_arrive(&bar);
  while (!__mbarrier_test_wait(&bar, token));
  token = __mbarrier_arrive(&bar);
  while (!__mbarrier_try_wait(&bar, token, 1000));
  data[threadIdx.x] = __mbarrier_token_pending_count(token);
  __syncthreads();
  if (threadIdx.x == 0) __mbarrier_inval(&bar);
}
#endif

template <cuda::thread_scope Scope>
__global__ void latch_and_semaphore(cuda::latch<Scope> *latch, cuda::counting_semaphore<Scope, 4> *gate, int *data) {
  gate->acquire();
  data[0] += 1;
  gate->release();
  latch->count_down();
  latch->wait();
  data[1 + threadIdx.x] = data[0];
}
template __global__ void latch_and_semaphore<cuda::thread_scope_device>(cuda::latch<cuda::thread_scope_device> *, cuda::counting_semaphore<cuda::thread_scope_device, 4> *, int *);
template __global__ void latch_and_semaphore<cuda::thread_scope_block>(cuda::latch<cuda::thread_scope_block> *, cuda::counting_semaphore<cuda::thread_scope_block, 4> *, int *);

template <int Kind>
__global__ void locks(int *lock, volatile int *flag, int *data) {
  if (Kind == 0) { while (atomicCAS(lock, 0, 1) != 0); __threadfence(); data[0]++; __threadfence(); atomicExch(lock, 0); }
  if (Kind == 1) { if (threadIdx.x == 0) { while (flag[blockIdx.x] == 0); __threadfence(); } __syncthreads(); data[threadIdx.x] = 1; __syncthreads(); if (threadIdx.x == 0) flag[blockIdx.x + 1] = 1; }
  if (Kind == 2) { bool done = false; while (!done) { if (atomicCAS(lock, 0, 1) == 0) { data[0] += 2; __threadfence(); atomicExch(lock, 0); done = true; } __nanosleep(20); } }
  if (Kind == 3) { int mine = atomicAdd(lock, 1); while (atomicAdd((int *)flag, 0) != mine) __nanosleep(100); data[0] += mine; __threadfence(); atomicAdd((int *)flag, 1); }
  if (Kind == 4) { cuda::atomic_ref<int, cuda::thread_scope_device> f(*lock); if (threadIdx.x == 0) { f.fetch_add(1, cuda::memory_order_release); f.wait(gridDim.x - 1, cuda::memory_order_acquire); } __syncthreads(); data[threadIdx.x] = f.load(); }
  if (Kind == 5) { cg::this_grid().sync(); data[threadIdx.x] += 1; cg::this_grid().sync(); data[threadIdx.x + 1] += 1; }
}
template __global__ void locks<0>(int *, volatile int *, int *);
template __global__ void locks<1>(int *, volatile int *, int *);
template __global__ void locks<2>(int *, volatile int *, int *);
template __global__ void locks<3>(int *, volatile int *, int *);
template __global__ void locks<4>(int *, volatile int *, int *);
template __global__ void locks<5>(int *, volatile int *, int *);
