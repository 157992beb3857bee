// Cooperative groups: tiles, coalesced groups, a grid barrier.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void tiles(int* p) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int v = cg::reduce(tile, p[block.thread_rank()], cg::plus<int>());
    if (v & 1) {
        auto group = cg::coalesced_threads();
        v += group.size() + group.shfl(v, 0);
    }
    block.sync();
    p[block.thread_rank()] = v;
}

__global__ void whole_grid(int* p) {
    auto grid = cg::this_grid();
    p[grid.thread_rank()] = 1;
    grid.sync();
    p[grid.thread_rank() + 5] += p[3];
}
