// Shuffles, votes, matches, named barriers, clocks; divergent uses with their slow paths.
__global__ void collectives(int* p) {
    int v = p[threadIdx.x];
    v += __shfl_xor_sync(~0u, v, 3);
    v += __shfl_down_sync(~0u, v, p[3]);
    v += __ballot_sync(~0u, v > 3) + __any_sync(~0u, v == 7);
    if (v > 9) v += __shfl_sync(__activemask(), v, 2);
    v += __popc(__match_any_sync(~0u, v));
    v += __syncthreads_count(v & 1);
    __nanosleep(100);
    v += clock() + (int)clock64();
    p[threadIdx.x] = v;
#if __CUDA_ARCH__ >= 800
    p[5] = __reduce_add_sync(~0u, v);
#endif
}

__global__ void named(int* p) {
    asm volatile("bar.arrive 2, 64;");
    asm volatile("bar.sync 3, 64;");
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    p[lane] = 1;
}
