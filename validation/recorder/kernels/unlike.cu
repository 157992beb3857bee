// Blocks that stay for as long as they are told, some of which end at once.
typedef unsigned u32;

extern "C" __global__ void unlike(u32 *out, const u32 *cycles) {
    u32 sm, mine = cycles[blockIdx.x];
    if (threadIdx.x == 0) {
        long long begin = clock64();
        while (clock64() - begin < mine) __nanosleep(20);
        asm("mov.u32 %0, %%smid;" : "=r"(sm));
        out[blockIdx.x] = sm;
    }
    __syncthreads();
}
