// CUB's block-wide algorithms.
#include <cub/cub.cuh>

__global__ void sort(int* in, int* out) {
    typedef cub::BlockRadixSort<int, 128, 4> Sort;
    __shared__ typename Sort::TempStorage storage;
    int keys[4];
    for (int i = 0; i < 4; i++) keys[i] = in[threadIdx.x * 4 + i];
    Sort(storage).Sort(keys);
    for (int i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = keys[i];
}

__global__ void reduce_and_scan(int* in, int* out) {
    typedef cub::BlockReduce<int, 256> Reduce;
    typedef cub::BlockScan<int, 256> Scan;
    __shared__ union { typename Reduce::TempStorage reduce; typename Scan::TempStorage scan; } s;
    int total = Reduce(s.reduce).Sum(in[threadIdx.x]);
    if (threadIdx.x == 0) out[256] = total;
    __syncthreads();
    int value = in[threadIdx.x];
    Scan(s.scan).ExclusiveSum(value, value);
    out[threadIdx.x] = value;
}
