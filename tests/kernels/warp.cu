// Warp-level operations: shuffles, votes, match, redux and cooperative groups.

#include <cooperative_groups.h>

extern "C" __global__ void shuffles(const int* in, int* out) {
    int lane = threadIdx.x, v = in[lane], n = 32;
    out[lane] = __shfl_sync(~0u, v, (lane * 7 + 3) % 32);
    out[n + lane] = __shfl_up_sync(~0u, v, 5);
    out[2 * n + lane] = __shfl_down_sync(~0u, v, 9);
    out[3 * n + lane] = __shfl_xor_sync(~0u, v, 21);
    out[4 * n + lane] = __shfl_sync(~0u, v, lane + 2, 8);
    out[5 * n + lane] = __shfl_up_sync(~0u, v, 3, 16);
    out[6 * n + lane] = __shfl_down_sync(~0u, v, 2, 4);
    out[7 * n + lane] = __shfl_xor_sync(~0u, v, 6, 8);
    out[8 * n + lane] = __shfl_sync(~0u, v, 11);
    out[9 * n + lane] = __shfl_down_sync(~0u, v, lane & 7);
    out[10 * n + lane] = __shfl_sync(~0u, v, -1, 16);
}

extern "C" __global__ void shuffles_wide(const double* in, double* out, const long long* in2,
                                         long long* out2) {
    int t = threadIdx.x;
    out[t] = __shfl_xor_sync(~0u, in[t], 3) + __shfl_sync(~0u, in[t], 17);
    out2[t] = __shfl_down_sync(~0u, in2[t], 4, 16);
}

// Only lanes of the mask take part; it differs between the two halves.
extern "C" __global__ void shuffle_subsets(int* out) {
    int lane = threadIdx.x & 31;
    int v = lane * lane;
    if (lane < 12)
        out[threadIdx.x] = __shfl_sync(0x00000fffu, v, 11 - lane);
    else
        out[threadIdx.x] = __shfl_xor_sync(0xfffff000u, v, lane < 16 || lane >= 28 ? 0 : 4);
}

extern "C" __global__ void votes(const int* in, unsigned* out, int n) {
    int t = threadIdx.x, v = in[t];
    unsigned mask = __ballot_sync(~0u, t < n);
    out[t] = 0xabcd;
    if (t >= n) return;
    out[t] = __any_sync(mask, v > 90) | __all_sync(mask, v < 95) << 1 |
             (__ballot_sync(mask, v & 1) & 0xffff) << 8 | (__activemask() == mask) << 31;
}

extern "C" __global__ void block_votes(const int* in, int* out) {
    int t = threadIdx.x, v = in[t];
    out[t] = __syncthreads_count(v > 50) * 4 + (__syncthreads_and(v > 1) != 0) * 2 +
             (__syncthreads_or(v == 77) != 0);
}

extern "C" __global__ void matches(const int* in, unsigned* any, unsigned* all, int* agreed) {
    int t = threadIdx.x, w = t / 32, predicate;
    any[t] = __match_any_sync(~0u, in[t]);
    long long wide = (long long)in[t] << 33 | 1;
    any[t] ^= __match_any_sync(~0u, wide) << 1;
    all[t] = __match_all_sync(~0u, w ? 5 : in[t], &predicate);
    agreed[t] = predicate;
}

// Reductions over a warp; before sm_80 the same by shuffles.
extern "C" __global__ void warp_reductions(const int* in, int* out) {
    int lane = threadIdx.x, v = in[lane];
#if __CUDA_ARCH__ >= 800
    out[lane] = __reduce_add_sync(~0u, v);
    out[32 + lane] = __reduce_min_sync(~0u, v);
    out[64 + lane] = __reduce_max_sync(~0u, (unsigned)v);
    out[96 + lane] = __reduce_xor_sync(~0u, (unsigned)v);
    out[128 + lane] = __reduce_and_sync(~0u, (unsigned)v | 0xff);
    out[160 + lane] = __reduce_or_sync(~0u, (unsigned)v & 0x0f0f);
#else
    int add = v, low = v;
    unsigned high = v, x = v, a = v | 0xff, o = v & 0x0f0f;
    for (int d = 16; d; d /= 2) {
        add += __shfl_xor_sync(~0u, add, d);
        low = min(low, __shfl_xor_sync(~0u, low, d));
        high = max(high, __shfl_xor_sync(~0u, high, d));
        x ^= __shfl_xor_sync(~0u, x, d);
        a &= __shfl_xor_sync(~0u, a, d);
        o |= __shfl_xor_sync(~0u, o, d);
    }
    out[lane] = add;
    out[32 + lane] = low;
    out[64 + lane] = high;
    out[96 + lane] = x;
    out[128 + lane] = a;
    out[160 + lane] = o;
#endif
}

extern "C" __global__ void warp_barriers(int* out) {
    __shared__ volatile int s[64];
    int t = threadIdx.x, base = t & 32;
    s[t] = t;
    for (int d = 1; d < 32; d *= 2) {
        __syncwarp();
        int v = s[base + ((t + d) & 31)];
        __syncwarp();
        s[t] = s[t] + v;
    }
    out[t] = s[t];
}

namespace cg = cooperative_groups;

extern "C" __global__ void groups(const int* in, int* out, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int t = block.thread_rank(), v = in[t];
    for (int d = 4; d; d /= 2) v += tile.shfl_down(v, d);
    block.sync();
    if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = v;
    if (in[t] & 1) {
        cg::coalesced_group odd = cg::coalesced_threads();
        if (odd.thread_rank() == 0) out[n + t / 32] = odd.size();
    }
}
