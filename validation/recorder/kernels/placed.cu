// Blocks that stay for a while: on which SM each of them is, and when it begins.
typedef unsigned u32;
typedef unsigned long long u64;

extern "C" __global__ void placed(u32 *out, u32 stay) {
    u32 sm;
    u64 begun, now;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(begun)::"memory");
    if (threadIdx.x == 0) out[blockIdx.x] = sm;
    do asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    while (now - begun < stay);
}
