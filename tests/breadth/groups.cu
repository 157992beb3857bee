// Cooperative groups: tiles, coalesced groups, reductions, scans, partitions, the grid.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

#define KERNEL extern "C" __global__ void

KERNEL tile_reduce(const int *a, int *o) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int i = block.group_index().x * block.size() + block.thread_rank(), n = gridDim.x * block.size();
    o[i] = cg::reduce(tile, a[i], cg::plus<int>());
    o[i + n] = cg::reduce(tile, a[i], cg::greater<int>());
    o[i + 2 * n] = cg::reduce(tile, a[i], cg::bit_xor<int>());
}
KERNEL tile_reduce_float(const float *a, float *o) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    o[threadIdx.x] = cg::reduce(tile, a[threadIdx.x], cg::plus<float>());
    o[threadIdx.x + blockDim.x] = cg::reduce(tile, a[threadIdx.x], cg::less<float>());
}
KERNEL tile_scan(const int *a, int *o) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    o[threadIdx.x] = cg::inclusive_scan(tile, a[threadIdx.x]);
    o[threadIdx.x + blockDim.x] = cg::exclusive_scan(tile, a[threadIdx.x]);
}
KERNEL tile_shuffles(const int *a, int *o) {
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    int v = a[threadIdx.x], n = blockDim.x;
    o[threadIdx.x] = tile.shfl(v, 2); o[threadIdx.x + n] = tile.shfl_down(v, 1);
    o[threadIdx.x + 2 * n] = tile.shfl_xor(v, 3); o[threadIdx.x + 3 * n] = tile.ballot(v > 0);
    o[threadIdx.x + 4 * n] = tile.any(v > 50) | tile.all(v > -50) << 1 | tile.meta_group_rank() << 2;
}
KERNEL coalesced(const int *a, int *o, int *count) {
    int v = a[threadIdx.x];
    if (v & 1) {
        auto g = cg::coalesced_threads();
        int rank = g.thread_rank();
        int sum = cg::reduce(g, v, cg::plus<int>());
        o[threadIdx.x] = sum * 64 + rank;
        if (rank == 0) atomicAdd(count, g.size());
    } else {
        auto g = cg::coalesced_threads();
        o[threadIdx.x] = g.shfl(v, g.size() - 1);
    }
}
KERNEL coalesced_scan(const int *a, int *o) {
    int v = a[threadIdx.x];
    o[threadIdx.x] = -1;
    if (v % 3) {
        auto g = cg::coalesced_threads();
        o[threadIdx.x] = cg::exclusive_scan(g, v, cg::plus<int>());
    }
}
KERNEL labeled(const int *a, int *o) {
    auto g = cg::coalesced_threads();
    auto part = cg::labeled_partition(g, a[threadIdx.x] & 3);
    o[threadIdx.x] = cg::reduce(part, a[threadIdx.x], cg::plus<int>());
}
KERNEL binary(const int *a, int *o) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    auto part = cg::binary_partition(tile, a[threadIdx.x] > 0);
    o[threadIdx.x] = part.size() * 32 + part.thread_rank();
}
KERNEL aggregated(const int *a, int *counter, int *o) {
    if (a[threadIdx.x + blockIdx.x * blockDim.x] > 0) {
        auto g = cg::coalesced_threads();
        int base;
        if (g.thread_rank() == 0) base = atomicAdd(counter, g.size());
        o[g.shfl(base, 0) + g.thread_rank()] = 1;
    }
}
KERNEL block_reduce(const int *a, int *o) {
    __shared__ int s;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) s = 0;
    block.sync();
    auto tile = cg::tiled_partition<32>(block);
    cg::reduce_update_async(tile, *(cuda::atomic<int, cuda::thread_scope_block> *)&s, a[threadIdx.x], cg::plus<int>());
    auto token = block.barrier_arrive();
    block.barrier_wait(std::move(token));
    o[threadIdx.x] = s;
}
KERNEL copy_async(const int *a, int *o) {
    __shared__ int s[128];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, a + blockIdx.x * 128, sizeof(s));
    cg::wait(block);
    o[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];
}
KERNEL grid_sync(int *data, int *o, int steps) {
    auto grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    for (int k = 0; k < steps; k++) {
        int next = data[(i + 1) % n] + 1;
        grid.sync();
        data[i] = next;
        grid.sync();
    }
    o[i] = data[i] + grid.is_valid();
}
