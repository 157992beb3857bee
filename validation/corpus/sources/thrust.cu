// Algorithms of Thrust for one type, given as -DCORPUS_TYPE=...; instantiated only.
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/count.h>
#include <thrust/equal.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#ifndef CORPUS_TYPE
#define CORPUS_TYPE int
#endif
typedef CORPUS_TYPE T;

struct Even {
  __device__ bool operator()(const T &a) const { return a < T(7); }
};
struct Square {
  __device__ T operator()(const T &a) const { return a * a; }
};

T all(T *a, T *b, T *c, int *k, int n) {
  auto on = thrust::device;
  thrust::transform(on, a, a + n, b, Square());
  thrust::transform_if(on, a, a + n, b, Square(), Even());
  thrust::sequence(on, a, a + n);
  thrust::tabulate(on, a, a + n, Square());
  thrust::fill(on, a, a + n, T(4));
  thrust::copy_if(on, a, a + n, b, Even());
  thrust::replace_if(on, a, a + n, Even(), T(9));
  thrust::gather(on, k, k + n, a, b);
  thrust::scatter(on, a, a + n, k, b);
  thrust::reverse(on, a, a + n);
  thrust::unique(on, a, a + n);
  thrust::partition(on, a, a + n, Even());
  thrust::stable_partition_copy(on, a, a + n, b, c, Even());
  thrust::merge(on, a, a + n, b, b + n, c);
  thrust::set_union(on, a, a + n, b, b + n, c);
  thrust::set_intersection(on, a, a + n, b, b + n, c);
  thrust::set_difference(on, a, a + n, b, b + n, c);
  thrust::set_symmetric_difference(on, a, a + n, b, b + n, c);
  thrust::sort(on, a, a + n);
  thrust::sort_by_key(on, a, a + n, k, thrust::greater<T>());
  thrust::inclusive_scan(on, a, a + n, b);
  thrust::exclusive_scan_by_key(on, k, k + n, a, b);
  thrust::reduce_by_key(on, k, k + n, a, k + n, b);
  thrust::adjacent_difference(on, a, a + n, b);
  thrust::lower_bound(on, a, a + n, b, b + n, k);
  thrust::binary_search(on, a, a + n, b, b + n, k);
  auto ends = thrust::minmax_element(on, a, a + n);
  k[0] = thrust::count_if(on, a, a + n, Even()) + (ends.second - ends.first);
  k[1] = thrust::is_sorted(on, a, a + n) + 2 * thrust::equal(on, a, a + n, b);
  return thrust::inner_product(on, a, a + n, b, T(0)) + thrust::reduce(on, a, a + n) +
         thrust::transform_reduce(on, a, a + n, Square(), T(0), thrust::maximum<T>());
}
