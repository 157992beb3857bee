// Device-wide algorithms of CUB for one type, given as -DCORPUS_TYPE=... The host functions are never
// run: they make the compiler instantiate the kernels.
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef CORPUS_TYPE
#define CORPUS_TYPE int
#endif
typedef CORPUS_TYPE T;
typedef long long i64;

struct Larger {
  T bound;
  __device__ bool operator()(const T &a) const { return bound < a; }
};
struct Product {
  __device__ T operator()(const T &a, const T &b) const { return a * b; }
};
struct Square {
  __device__ T operator()(const T &a) const { return a * a; }
};
struct Less {
  __device__ bool operator()(const T &a, const T &b) const { return a < b; }
};
struct Step {
  T *data;
  __device__ void operator()(int i) const { data[i] = data[i] + T(1); }
};

void reduce(void *t, size_t &s, T *in, T *out, int *keys, int *runs, int n, int *ends) {
  cub::DeviceReduce::Sum(t, s, in, out, n);
  cub::DeviceReduce::Max(t, s, in, out, n);
  cub::DeviceReduce::Min(t, s, in, out, (i64)n);
  cub::DeviceReduce::Reduce(t, s, in, out, n, Product(), T(1));
  cub::DeviceReduce::TransformReduce(t, s, in, out, n, Product(), Square(), T(1));
  cub::DeviceReduce::ReduceByKey(t, s, keys, keys + n, in, out, runs, Product(), n);
  cub::DeviceSegmentedReduce::Sum(t, s, in, out, n, ends, ends + 1);
  cub::DeviceSegmentedReduce::Reduce(t, s, in, out, n, ends, ends + 1, Product(), T(1));
#ifdef CORPUS_RADIX
  cub::DeviceReduce::ArgMin(t, s, in, out, runs, n);
  cub::DeviceReduce::ArgMax(t, s, in, out, runs, n);
#endif
}

void scan(void *t, size_t &s, T *in, T *out, int *keys, int n) {
  cub::DeviceScan::InclusiveSum(t, s, in, out, n);
  cub::DeviceScan::ExclusiveSum(t, s, in, out, n);
  cub::DeviceScan::InclusiveScan(t, s, in, out, Product(), n);
  cub::DeviceScan::ExclusiveScan(t, s, in, out, Product(), T(1), (i64)n);
  cub::DeviceScan::InclusiveSumByKey(t, s, keys, in, out, n);
  cub::DeviceScan::ExclusiveScanByKey(t, s, keys, in, out, Product(), T(1), n);
}

void select(void *t, size_t &s, T *in, T *out, int *count, char *flags, int n) {
  cub::DeviceSelect::If(t, s, in, out, count, n, Larger{T(3)});
  cub::DeviceSelect::Flagged(t, s, in, flags, out, count, n);
  cub::DeviceSelect::Unique(t, s, in, out, count, n);
  cub::DeviceSelect::UniqueByKey(t, s, in, count, out, count + 1, count + 2, n);
  cub::DevicePartition::If(t, s, in, out, count, n, Larger{T(3)});
  cub::DevicePartition::Flagged(t, s, in, flags, out, count, n);
  cub::DevicePartition::If(t, s, in, out, out + n, out + 2 * n, count, n, Larger{T(3)}, Larger{T(2)});
  cub::DeviceRunLengthEncode::Encode(t, s, in, out, count, count + n, n);
  cub::DeviceRunLengthEncode::NonTrivialRuns(t, s, in, count, count + n, count + 2 * n, n);
}

void sort(void *t, size_t &s, T *in, T *out, int *values, double *wide, int n, int *ends) {
  cub::DeviceMergeSort::SortKeys(t, s, in, n, Less());
  cub::DeviceMergeSort::StableSortPairs(t, s, in, values, n, Less());
  cub::DeviceMergeSort::SortPairs(t, s, in, wide, n, Less());
#ifdef CORPUS_RADIX
  cub::DeviceRadixSort::SortKeys(t, s, in, out, n);
  cub::DeviceRadixSort::SortPairs(t, s, in, out, values, values + n, n);
  cub::DeviceRadixSort::SortPairsDescending(t, s, in, out, wide, wide + n, n);
#endif
#ifdef CORPUS_SEGMENTS
  cub::DeviceSegmentedSort::SortKeys(t, s, in, out, n, 4, ends, ends + 1);
  cub::DeviceSegmentedSort::StableSortPairs(t, s, in, out, values, values + n, n, 4, ends, ends + 1);
  cub::DeviceSegmentedRadixSort::SortPairs(t, s, in, out, values, values + n, n, 4, ends, ends + 1);
#endif
}

void move(void *t, size_t &s, T *in, T *out, int *values, int n) {
  cub::DeviceMerge::MergeKeys(t, s, in, n, in + n, n, out, Less());
  cub::DeviceMerge::MergePairs(t, s, in, values, n, in + n, values + n, n, out, values + 2 * n, Less());
  cub::DeviceAdjacentDifference::SubtractLeftCopy(t, s, in, out, n);
  cub::DeviceAdjacentDifference::SubtractRight(t, s, in, n);
  cub::DeviceFor::Bulk(n, Step{out});
  cub::DeviceFor::ForEachN(in, n, Larger{T(1)});
  cub::DeviceTransform::Transform(in, out, n, Square());
  cub::DeviceTransform::Transform(cuda::std::make_tuple(in, in + n), out, n, Product());
}

#ifdef CORPUS_HISTOGRAM
void histogram(void *t, size_t &s, T *in, int *bins, int n) {
  cub::DeviceHistogram::HistogramEven(t, s, in, bins, 65, T(0), T(64), n);
  cub::DeviceHistogram::HistogramRange(t, s, in, bins, 33, (const T *)in + n, n);
  int *channels[3] = {bins, bins + 100, bins + 200};
  int levels[3] = {65, 65, 65};
  T low[3] = {T(0), T(0), T(0)}, high[3] = {T(64), T(64), T(64)};
  cub::DeviceHistogram::MultiHistogramEven<4, 3>(t, s, in, channels, levels, low, high, n);
}
#endif
