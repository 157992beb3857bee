// Cooperative groups: tiles, coalesced threads, partitions, clusters, reductions and scans.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

enum { SUM, LESS, GREATER, AND, OR, XOR, SCAN, EXCLUSIVE };

template <class T, int W, int Kind>
__global__ void tile(const T *in, T *out) {
  auto own = cg::tiled_partition<W>(cg::this_thread_block());
  T x = in[threadIdx.x];
  if constexpr (Kind == SUM) x = cg::reduce(own, x, cg::plus<T>());
  if constexpr (Kind == LESS) x = cg::reduce(own, x, cg::less<T>());
  if constexpr (Kind == GREATER) x = cg::reduce(own, x, cg::greater<T>());
  if constexpr (Kind == AND) x = cg::reduce(own, x, cg::bit_and<T>());
  if constexpr (Kind == OR) x = cg::reduce(own, x, cg::bit_or<T>());
  if constexpr (Kind == XOR) x = cg::reduce(own, x, cg::bit_xor<T>());
  if constexpr (Kind == SCAN) x = cg::inclusive_scan(own, x, cg::plus<T>());
  if constexpr (Kind == EXCLUSIVE) x = cg::exclusive_scan(own, x, cg::plus<T>());
  out[threadIdx.x] = x;
}
#define TILE(T, W, K) template __global__ void tile<T, W, K>(const T *, T *);
#define WIDTHS(T, K) TILE(T, 32, K) TILE(T, 16, K) TILE(T, 8, K) TILE(T, 4, K) TILE(T, 2, K) TILE(T, 1, K)
#define NUMBERS(T) WIDTHS(T, SUM) WIDTHS(T, LESS) WIDTHS(T, GREATER) WIDTHS(T, SCAN) WIDTHS(T, EXCLUSIVE)
#define BITS(T) WIDTHS(T, AND) WIDTHS(T, OR) WIDTHS(T, XOR)
NUMBERS(int) NUMBERS(u32) NUMBERS(i64) NUMBERS(u64) NUMBERS(float) NUMBERS(double) BITS(int) BITS(u32) BITS(u64)

template <class T, int W, int Kind>
__global__ void exchange(const T *in, T *out, int k) {
  auto own = cg::tiled_partition<W>(cg::this_thread_block());
  T x = in[threadIdx.x];
  if (Kind == 0) x = own.shfl(x, k);
  if (Kind == 1) x = own.shfl_down(x, k);
  if (Kind == 2) x = own.shfl_up(x, 1);
  if (Kind == 3) x = own.shfl_xor(x, W / 2);
  if (Kind == 4) x = own.ballot(x > T(k)) + own.any(x == T(k)) + 2 * own.all(x < T(k));
  if (Kind == 5) x = own.thread_rank() + own.meta_group_rank() * 100 + own.meta_group_size();
  out[threadIdx.x] = x;
}
#define EXCHANGE(T, W) template __global__ void exchange<T, W, 0>(const T *, T *, int); template __global__ void exchange<T, W, 1>(const T *, T *, int); \
  template __global__ void exchange<T, W, 2>(const T *, T *, int); template __global__ void exchange<T, W, 3>(const T *, T *, int); \
  template __global__ void exchange<T, W, 4>(const T *, T *, int); template __global__ void exchange<T, W, 5>(const T *, T *, int);
#define EXCHANGES(T) EXCHANGE(T, 32) EXCHANGE(T, 16) EXCHANGE(T, 8) EXCHANGE(T, 4)
EXCHANGES(int) EXCHANGES(float) EXCHANGES(double) EXCHANGES(u64) EXCHANGES(short)

template <class T, int Kind>
__global__ void active(const T *in, T *out, int *count) {
  T x = in[threadIdx.x];
  if (x > T(3)) {
    auto own = cg::coalesced_threads();
    if constexpr (Kind == 0) x = cg::reduce(own, x, cg::plus<T>());
    if constexpr (Kind == 1) x = own.shfl(x, own.size() - 1);
    if constexpr (Kind == 2) x = cg::inclusive_scan(own, x);
    if constexpr (Kind == 3) { int base; if (own.thread_rank() == 0) base = atomicAdd(count, own.size()); x = own.shfl(base, 0) + own.thread_rank(); }
    if constexpr (Kind == 4) { auto part = cg::labeled_partition(own, (int)x & 3); x = cg::reduce(part, x, cg::greater<T>()) + T(part.size()); }
    if constexpr (Kind == 5) { auto part = cg::binary_partition(own, x > T(9)); x = T(part.thread_rank()) + T(own.any(x == T(5))); }
    if constexpr (Kind == 6) { x = T(cg::exclusive_scan_update(own, *(cuda::atomic<int> *)count, (int)x, cg::plus<int>())); }
    if constexpr (Kind == 7) { cg::invoke_one(own, [=] { atomicAdd(count, 1); }); own.sync(); }
  }
  out[threadIdx.x] = x;
}
#define ACTIVE(T) template __global__ void active<T, 0>(const T *, T *, int *); template __global__ void active<T, 1>(const T *, T *, int *); \
  template __global__ void active<T, 2>(const T *, T *, int *); template __global__ void active<T, 3>(const T *, T *, int *); \
  template __global__ void active<T, 4>(const T *, T *, int *); template __global__ void active<T, 5>(const T *, T *, int *); \
  template __global__ void active<T, 7>(const T *, T *, int *);
ACTIVE(int) ACTIVE(float) ACTIVE(double) ACTIVE(u64)

template <class T, int W>
__global__ void wide_tile(const T *in, T *out) {
  __shared__ cg::block_tile_memory<256> memory;
  auto own = cg::tiled_partition<W>(cg::this_thread_block(memory));
  T x = cg::reduce(own, in[threadIdx.x], cg::plus<T>());
  own.sync();
  out[threadIdx.x] = x + own.shfl(x, 3) + T(own.any(x > T(4)));
}
template __global__ void wide_tile<int, 64>(const int *, int *);
template __global__ void wide_tile<float, 128>(const float *, float *);
template __global__ void wide_tile<double, 256>(const double *, double *);

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
template <class T>
__global__ void cluster_sum(const T *in, T *out) {
  __shared__ T own[128];
  auto cluster = cg::this_cluster();
  own[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  cluster.sync();
  T sum = 0;
  for (unsigned r = 0; r < cluster.num_blocks(); r++) sum += cluster.map_shared_rank(own, r)[threadIdx.x];
  auto token = cluster.barrier_arrive();
  out[blockIdx.x * 128 + threadIdx.x] = sum;
  cluster.barrier_wait(std::move(token));
}
template __global__ void cluster_sum<int>(const int *, int *);
template __global__ void cluster_sum<float>(const float *, float *);
template __global__ void cluster_sum<double>(const double *, double *);
#endif

#define WARP(name, expression) __global__ void warp_##name(const int *in, int *out, int k) { int x = in[threadIdx.x], p = 0; (void)p; out[threadIdx.x] = expression; }
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
WARP(add, __reduce_add_sync(~0u, x)) WARP(most, __reduce_max_sync(~0u, x)) WARP(least, __reduce_min_sync(~0u, (u32)x))
WARP(bits_and, __reduce_and_sync(~0u, x)) WARP(bits_or, __reduce_or_sync(~0u, x)) WARP(bits_xor, __reduce_xor_sync(~0u, x))
#endif
WARP(any, __any_sync(~0u, x)) WARP(all, __all_sync(~0u, x > k)) WARP(ballot, __ballot_sync(~0u, x > k))
WARP(match, __match_any_sync(~0u, x)) WARP(match_all, __match_all_sync(~0u, x, &p) + p) WARP(wide, __match_any_sync(~0u, (i64)x * x))
WARP(active, __activemask() + __popc(__activemask())) WARP(block, __syncthreads_count(x) + __syncthreads_or(x > k) * 7 + __syncthreads_and(x < k))
