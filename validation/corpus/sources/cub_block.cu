// Block and warp algorithms of CUB for one key type, given as -DCORPUS_TYPE=...
#include <cub/block/block_shuffle.cuh>
#include <cub/cub.cuh>
#include <cuda/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef CORPUS_TYPE
#define CORPUS_TYPE int
#endif
typedef CORPUS_TYPE T;
typedef unsigned long long u64;

struct Maximum {
  __device__ T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
struct Sum {
  __device__ T operator()(const T &a, const T &b) const { return a + b; }
};
struct Less {
  __device__ bool operator()(const T &a, const T &b) const { return a < b; }
};
struct Same {
  __device__ bool operator()(const T &a, const T &b) const { return a == b; }
};
struct Difference {
  __device__ T operator()(const T &a, const T &b) const { return a - b; }
};

template <int B, int I, cub::BlockReduceAlgorithm A, class Op>
__global__ void block_reduce(const T *in, T *out, int n) {
  typedef cub::BlockReduce<T, B, A> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  T items[I];
  cub::LoadDirectStriped<B>(threadIdx.x, in + blockIdx.x * B * I, items);
  T total = n ? Reduce(storage).Reduce(items, Op()) : Reduce(storage).Reduce(items[0], Op(), n + 7);
  if (threadIdx.x == 0) out[blockIdx.x] = total;
}

template <int B, int I, cub::BlockScanAlgorithm A, bool Inclusive, class Op>
__global__ void block_scan(const T *in, T *out, T *sums) {
  typedef cub::BlockScan<T, B, A> Scan;
  __shared__ typename Scan::TempStorage storage;
  T items[I], total;
  cub::LoadDirectBlocked(threadIdx.x, in + blockIdx.x * B * I, items);
  if (Inclusive) Scan(storage).InclusiveScan(items, items, Op(), total);
  else Scan(storage).ExclusiveScan(items, items, in[0], Op(), total);
  cub::StoreDirectBlocked(threadIdx.x, out + blockIdx.x * B * I, items);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

template <int B, int I, class V, bool Down>
__global__ void block_radix(T *keys, V *values, int low, int high) {
  typedef cub::BlockRadixSort<T, B, I, V> Sort;
  __shared__ typename Sort::TempStorage storage;
  T key[I];
  V value[I];
  cub::LoadDirectBlocked(threadIdx.x, keys, key);
  if constexpr (sizeof(V) > 1) {
    cub::LoadDirectBlocked(threadIdx.x, values, value);
    if (Down) Sort(storage).SortDescending(key, value, low, high);
    else Sort(storage).SortBlockedToStriped(key, value, low, high);
    cub::StoreDirectBlocked(threadIdx.x, values, value);
  }
  cub::StoreDirectBlocked(threadIdx.x, keys, key);
}

template <int B, int I, class V>
__global__ void block_merge(T *keys, V *values, int n) {
  typedef cub::BlockMergeSort<T, B, I, V> Sort;
  __shared__ typename Sort::TempStorage storage;
  T key[I];
  V value[I];
  cub::LoadDirectBlocked(threadIdx.x, keys, key, n, keys[0]);
  cub::LoadDirectBlocked(threadIdx.x, values, value, n, values[0]);
  Sort(storage).StableSort(key, value, Less(), n, keys[1]);
  cub::StoreDirectBlocked(threadIdx.x, keys, key, n);
  cub::StoreDirectBlocked(threadIdx.x, values, value, n);
}

template <int B, int I, cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
__global__ void block_copy(const T *in, T *out, int n) {
  typedef cub::BlockLoad<T, B, I, L> Load;
  typedef cub::BlockStore<T, B, I, S> Store;
  __shared__ union { typename Load::TempStorage load; typename Store::TempStorage store; } storage;
  T items[I];
  int base = blockIdx.x * B * I;
  if (n - base >= B * I) Load(storage.load).Load(in + base, items);
  else Load(storage.load).Load(in + base, items, n - base, in[0]);
  __syncthreads();
  for (int i = 1; i < I; i++) items[i] = items[i] + items[i - 1];
  if (n - base >= B * I) Store(storage.store).Store(out + base, items);
  else Store(storage.store).Store(out + base, items, n - base);
}

template <int B, int I, int Kind>
__global__ void block_exchange(const T *in, T *out, const int *ranks) {
  typedef cub::BlockExchange<T, B, I, (Kind & 1) != 0> Exchange;
  __shared__ typename Exchange::TempStorage storage;
  T items[I];
  int rank[I];
  cub::LoadDirectBlocked(threadIdx.x, in, items);
  cub::LoadDirectBlocked(threadIdx.x, ranks, rank);
  if (Kind / 2 == 0) Exchange(storage).BlockedToStriped(items, items);
  if (Kind / 2 == 1) Exchange(storage).StripedToBlocked(items, items);
  if (Kind / 2 == 2) Exchange(storage).BlockedToWarpStriped(items, items);
  if (Kind / 2 == 3) Exchange(storage).ScatterToBlocked(items, items, rank);
  if (Kind / 2 == 4) Exchange(storage).ScatterToStripedGuarded(items, items, rank);
  cub::StoreDirectBlocked(threadIdx.x, out, items);
}

template <int B, int I, int Kind>
__global__ void block_neighbours(const T *in, T *out, int *flags) {
  __shared__ union {
    typename cub::BlockDiscontinuity<T, B>::TempStorage runs;
    typename cub::BlockAdjacentDifference<T, B>::TempStorage steps;
    typename cub::BlockShuffle<T, B>::TempStorage shuffle;
  } storage;
  T items[I];
  int head[I], tail[I];
  cub::LoadDirectBlocked(threadIdx.x, in, items);
  for (int i = 0; i < I; i++) head[i] = tail[i] = 0;
  cub::BlockDiscontinuity<T, B> runs(storage.runs);
  cub::BlockAdjacentDifference<T, B> steps(storage.steps);
  if (Kind == 0) runs.FlagHeads(head, items, Same());
  if (Kind == 1) runs.FlagTails(tail, items, Same(), in[0]);
  if (Kind == 2) runs.FlagHeadsAndTails(head, tail, items, Same());
  if (Kind == 3) steps.SubtractLeft(items, items, Difference());
  if (Kind == 4) steps.SubtractRightPartialTile(items, items, Difference(), flags[0]);
  if (Kind == 5) cub::BlockShuffle<T, B>(storage.shuffle).Up(items, items);
  if (Kind == 6) cub::BlockShuffle<T, B>(storage.shuffle).Rotate(items[0], items[0], flags[0]);
  cub::StoreDirectBlocked(threadIdx.x, out, items);
  for (int i = 0; i < I; i++) flags[threadIdx.x * I + i] = head[i] + 2 * tail[i];
}

template <int W, int Kind>
__global__ void warp_reduce(const T *in, T *out, int *flags, int n) {
  typedef cub::WarpReduce<T, W> Reduce;
  __shared__ typename Reduce::TempStorage storage[128 / W];
  T x = in[threadIdx.x];
  Reduce reduce(storage[threadIdx.x / W]);
  if (Kind == 0) x = reduce.Reduce(x, Sum());
  if (Kind == 1) x = reduce.Reduce(x, Maximum(), n);
  if (Kind == 2) x = reduce.HeadSegmentedReduce(x, flags[threadIdx.x], Sum());
  if (Kind == 3) x = reduce.TailSegmentedReduce(x, flags[threadIdx.x], Maximum());
  out[threadIdx.x] = x;
}

template <int W, int Kind>
__global__ void warp_scan(const T *in, T *out) {
  typedef cub::WarpScan<T, W> Scan;
  __shared__ typename Scan::TempStorage storage[128 / W];
  T x = in[threadIdx.x], y = x, total = x;
  Scan scan(storage[threadIdx.x / W]);
  if (Kind == 0) scan.InclusiveScan(x, y, Sum());
  if (Kind == 1) scan.ExclusiveScan(x, y, in[0], Maximum());
  if (Kind == 2) scan.Scan(x, y, total, in[0], Sum());
  if (Kind == 3) y = scan.Broadcast(x, W / 2);
  out[threadIdx.x] = y;
  out[threadIdx.x + 128] = total;
}

template <int W, int I, int Kind>
__global__ void warp_tiles(const T *in, T *out, int n) {
  __shared__ union {
    typename cub::WarpExchange<T, I, W>::TempStorage exchange;
    typename cub::WarpMergeSort<T, I, W>::TempStorage sort;
    typename cub::WarpLoad<T, I, cub::WARP_LOAD_TRANSPOSE, W>::TempStorage load;
  } storage[128 / W];
  auto &own = storage[threadIdx.x / W];
  T items[I];
  if (Kind == 2) cub::WarpLoad<T, I, cub::WARP_LOAD_TRANSPOSE, W>(own.load).Load(in, items, n, in[0]);
  else cub::LoadDirectBlocked(threadIdx.x, in, items);
  if (Kind == 0) cub::WarpExchange<T, I, W>(own.exchange).BlockedToStriped(items, items);
  if (Kind == 1) cub::WarpMergeSort<T, I, W>(own.sort).Sort(items, Less());
  cub::StoreDirectBlocked(threadIdx.x, out, items);
}

#define REDUCE(B, I)                                                                         \
  template __global__ void block_reduce<B, I, cub::BLOCK_REDUCE_RAKING, Sum>(const T *, T *, int); \
  template __global__ void block_reduce<B, I, cub::BLOCK_REDUCE_WARP_REDUCTIONS, Sum>(const T *, T *, int); \
  template __global__ void block_reduce<B, I, cub::BLOCK_REDUCE_WARP_REDUCTIONS, Maximum>(const T *, T *, int); \
  template __global__ void block_reduce<B, I, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, Maximum>(const T *, T *, int);
REDUCE(32, 1) REDUCE(96, 3) REDUCE(128, 4) REDUCE(256, 7) REDUCE(1024, 2)

#define SCAN(B, I)                                                                           \
  template __global__ void block_scan<B, I, cub::BLOCK_SCAN_RAKING, true, Sum>(const T *, T *, T *); \
  template __global__ void block_scan<B, I, cub::BLOCK_SCAN_WARP_SCANS, true, Sum>(const T *, T *, T *); \
  template __global__ void block_scan<B, I, cub::BLOCK_SCAN_WARP_SCANS, false, Maximum>(const T *, T *, T *); \
  template __global__ void block_scan<B, I, cub::BLOCK_SCAN_RAKING_MEMOIZE, false, Sum>(const T *, T *, T *);
SCAN(64, 1) SCAN(128, 4) SCAN(256, 3) SCAN(512, 2)

#ifdef CORPUS_RADIX
#define SORT(B, I)                                                                           \
  template __global__ void block_radix<B, I, int, true>(T *, int *, int, int);               \
  template __global__ void block_radix<B, I, u64, false>(T *, u64 *, int, int);
SORT(64, 3) SORT(128, 4)
#endif

#define MERGE(B, I)                                                                          \
  template __global__ void block_merge<B, I, int>(T *, int *, int);                          \
  template __global__ void block_merge<B, I, double>(T *, double *, int);
MERGE(64, 3) MERGE(128, 4)

#define COPY(B, I)                                                                           \
  template __global__ void block_copy<B, I, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_TRANSPOSE>(const T *, T *, int); \
  template __global__ void block_copy<B, I, cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_DIRECT>(const T *, T *, int); \
  template __global__ void block_copy<B, I, cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(const T *, T *, int); \
  template __global__ void block_copy<B, I, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_STRIPED>(const T *, T *, int); \
  template __global__ void block_copy<B, I, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(const T *, T *, int);
COPY(64, 4) COPY(128, 2) COPY(128, 5) COPY(256, 8)

#define EXCHANGE(K) template __global__ void block_exchange<128, 4, K>(const T *, T *, const int *); \
  template __global__ void block_exchange<96, 3, K>(const T *, T *, const int *);
EXCHANGE(0) EXCHANGE(1) EXCHANGE(2) EXCHANGE(3) EXCHANGE(4) EXCHANGE(6) EXCHANGE(8)

#define NEIGHBOURS(K) template __global__ void block_neighbours<128, 4, K>(const T *, T *, int *); \
  template __global__ void block_neighbours<96, 1, K>(const T *, T *, int *);
NEIGHBOURS(0) NEIGHBOURS(1) NEIGHBOURS(2) NEIGHBOURS(3) NEIGHBOURS(4) NEIGHBOURS(5) NEIGHBOURS(6)

#define WARP(W, K) template __global__ void warp_reduce<W, K>(const T *, T *, int *, int);   \
  template __global__ void warp_scan<W, K>(const T *, T *);
#define WARPS(W) WARP(W, 0) WARP(W, 1) WARP(W, 2) WARP(W, 3)
WARPS(32) WARPS(16) WARPS(8) WARPS(4)

#define TILES(W, I) template __global__ void warp_tiles<W, I, 0>(const T *, T *, int);       \
  template __global__ void warp_tiles<W, I, 1>(const T *, T *, int);                         \
  template __global__ void warp_tiles<W, I, 2>(const T *, T *, int);
TILES(32, 4) TILES(16, 3) TILES(8, 1)
