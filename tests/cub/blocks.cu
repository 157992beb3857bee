// Block and warp algorithms of CUB.
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#define KERNEL extern "C" __global__ void
constexpr int T = 128, K = 4;

template <cub::BlockReduceAlgorithm A>
__device__ void reduce(const int *a, int *o) {
    using Block = cub::BlockReduce<int, T, A>;
    __shared__ typename Block::TempStorage storage;
    int sum = Block(storage).Sum(a[blockIdx.x * T + threadIdx.x]);
    __syncthreads();
    int most = Block(storage).Reduce(a[blockIdx.x * T + threadIdx.x], cuda::maximum<>{});
    if (threadIdx.x == 0) { o[2 * blockIdx.x] = sum; o[2 * blockIdx.x + 1] = most; }
}
KERNEL reduce_shuffles(const int *a, int *o) { reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(a, o); }
KERNEL reduce_raking(const int *a, int *o) { reduce<cub::BLOCK_REDUCE_RAKING>(a, o); }
KERNEL reduce_double(const double *a, double *o) {
    using Block = cub::BlockReduce<double, T>;
    __shared__ Block::TempStorage storage;
    double sum = Block(storage).Sum(a[threadIdx.x]);
    if (threadIdx.x == 0) *o = sum;
}
KERNEL scan_items(const int *a, int *o, int *total) {
    using Block = cub::BlockScan<int, T, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ Block::TempStorage storage;
    int v[K], sum;
    for (int i = 0; i < K; i++) v[i] = a[threadIdx.x * K + i];
    Block(storage).ExclusiveSum(v, v, sum);
    for (int i = 0; i < K; i++) o[threadIdx.x * K + i] = v[i];
    if (threadIdx.x == 0) *total = sum;
}
KERNEL scan_raking(const int *a, int *o) {
    using Block = cub::BlockScan<int, T, cub::BLOCK_SCAN_RAKING>;
    __shared__ Block::TempStorage storage;
    int v;
    Block(storage).InclusiveScan(a[threadIdx.x], v, cuda::maximum<>{});
    o[threadIdx.x] = v;
}
KERNEL radix_sort(unsigned *keys, int *values) {
    using Sort = cub::BlockRadixSort<unsigned, T, K, int>;
    __shared__ Sort::TempStorage storage;
    unsigned k[K]; int v[K];
    for (int i = 0; i < K; i++) { k[i] = keys[threadIdx.x * K + i]; v[i] = values[threadIdx.x * K + i]; }
    Sort(storage).Sort(k, v);
    for (int i = 0; i < K; i++) { keys[threadIdx.x * K + i] = k[i]; values[threadIdx.x * K + i] = v[i]; }
}
KERNEL radix_sort_float(float *keys) {
    using Sort = cub::BlockRadixSort<float, T, K>;
    __shared__ Sort::TempStorage storage;
    float k[K];
    for (int i = 0; i < K; i++) k[i] = keys[threadIdx.x * K + i];
    Sort(storage).SortDescending(k);
    for (int i = 0; i < K; i++) keys[threadIdx.x * K + i] = k[i];
}
template <cub::BlockHistogramAlgorithm A>
__device__ void histogram(const unsigned char *a, unsigned *o) {
    using Histogram = cub::BlockHistogram<unsigned char, T, K, 64, A>;
    __shared__ typename Histogram::TempStorage storage;
    __shared__ unsigned bins[64];
    unsigned char v[K];
    for (int i = 0; i < K; i++) v[i] = a[threadIdx.x * K + i];
    Histogram(storage).Histogram(v, bins);
    __syncthreads();
    if (threadIdx.x < 64) o[threadIdx.x] = bins[threadIdx.x];
}
KERNEL histogram_atomic(const unsigned char *a, unsigned *o) { histogram<cub::BLOCK_HISTO_ATOMIC>(a, o); }
KERNEL histogram_sort(const unsigned char *a, unsigned *o) { histogram<cub::BLOCK_HISTO_SORT>(a, o); }
template <cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
__device__ void copy(const int *a, int *o, int n) {
    using Load = cub::BlockLoad<int, T, K, L>;
    using Store = cub::BlockStore<int, T, K, S>;
    __shared__ union { typename Load::TempStorage load; typename Store::TempStorage store; } storage;
    int v[K];
    Load(storage.load).Load(a, v, n, -5);
    __syncthreads();
    for (int i = 0; i < K; i++) v[i] = v[i] * K + i;
    Store(storage.store).Store(o, v, n);
}
KERNEL copy_transpose(const int *a, int *o, int n) { copy<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(a, o, n); }
KERNEL copy_warp_transpose(const int *a, int *o, int n) { copy<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(a, o, n); }
KERNEL copy_vectorized(const int *a, int *o, int n) { copy<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_DIRECT>(a, o, n); }
KERNEL exchange(const int *a, int *o) {
    using Exchange = cub::BlockExchange<int, T, K>;
    __shared__ Exchange::TempStorage storage;
    int v[K];
    for (int i = 0; i < K; i++) v[i] = a[i * T + threadIdx.x];
    Exchange(storage).StripedToBlocked(v, v);
    for (int i = 0; i < K; i++) o[i * T + threadIdx.x] = v[i];
}
KERNEL discontinuity(const int *a, int *o) {
    using Flags = cub::BlockDiscontinuity<int, T>;
    __shared__ Flags::TempStorage storage;
    int v[K], f[K];
    for (int i = 0; i < K; i++) v[i] = a[threadIdx.x * K + i];
    Flags(storage).FlagHeads(f, v, cuda::std::not_equal_to<>{});
    for (int i = 0; i < K; i++) o[threadIdx.x * K + i] = f[i];
}
KERNEL warp_reduce(const int *a, int *o) {
    using Warp = cub::WarpReduce<int, 16>;
    __shared__ Warp::TempStorage storage[T / 16];
    int s = Warp(storage[threadIdx.x / 16]).Sum(a[threadIdx.x]);
    if (threadIdx.x % 16 == 0) o[threadIdx.x / 16] = s;
}
KERNEL warp_segments(const int *a, const int *heads, int *o) {
    using Warp = cub::WarpReduce<int>;
    __shared__ Warp::TempStorage storage[T / 32];
    int s = Warp(storage[threadIdx.x / 32]).HeadSegmentedSum(a[threadIdx.x], heads[threadIdx.x]);
    o[threadIdx.x] = heads[threadIdx.x] || threadIdx.x % 32 == 0 ? s : 0;
}
KERNEL warp_scan(const float *a, float *o) {
    using Warp = cub::WarpScan<float>;
    __shared__ Warp::TempStorage storage[T / 32];
    float v;
    Warp(storage[threadIdx.x / 32]).InclusiveSum(a[threadIdx.x], v);
    o[threadIdx.x] = v;
}
