// Reads of special registers, sixteen in a round; lane_numbers.py puts others, and loads of constants, in their place.
typedef unsigned u32;

extern "C" __global__ void __launch_bounds__(1024) numbers(u32 *out, u32 rounds, u32 none) {
    u32 sum = threadIdx.x;
#pragma unroll 1
    for (u32 i = 0; i < rounds; i++) {
        u32 r[16];
#pragma unroll
        for (int j = 0; j < 16; j++) {
            r[j] = j;
            asm volatile("{.reg .pred p; setp.ne.u32 p, %1, %2; @p mov.u32 %0, %%smid;}" : "+r"(r[j]) : "r"(threadIdx.x), "r"(none));
        }
#pragma unroll
        for (int j = 0; j < 16; j++) sum ^= r[j];
    }
    if (sum == 12345) out[threadIdx.x] = sum;
}
