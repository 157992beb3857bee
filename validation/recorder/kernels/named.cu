// Loads from global memory that L1 has, and now and then an instruction of another kind: what the wait for a
// place in their queue is called. named.py puts other reads in place of those of the SM's number.
typedef unsigned u32;
typedef unsigned long long u64;

enum Kind { NOTHING, NUMBER, SHARED, SPECIAL };

template <int K, int EACH>
__device__ __forceinline__ void named(u32 *out, u64 data, u32 rounds, u32 none) {
    __shared__ u32 words[1028];
    const u32 x = threadIdx.x;
    words[x] = x;
    __syncthreads();
    u32 place = (u32)__cvta_generic_to_shared(words) + 4 * x, sum = x;
    u64 at = data + 4 * x;
#pragma unroll 1
    for (u32 i = 0; i < rounds; i++) {
        u32 r[16], s[16];
#pragma unroll
        for (int j = 0; j < 16; j++) {
            s[j] = sum + j;
            if (j % EACH == 0) {
                if (K == NUMBER) asm volatile("{.reg .pred p; setp.ne.u32 p, %1, %2; @p mov.u32 %0, %%smid;}" : "+r"(s[j]) : "r"(x), "r"(none));
                if (K == SHARED) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(s[j]) : "r"(place + 4 * (j & 3)) : "memory");
                if (K == SPECIAL) asm volatile("{.reg .f32 x; mov.b32 x, %0; ex2.approx.ftz.f32 x, x; mov.b32 %0, x;}" : "+r"(s[j]));
            }
            asm volatile("ld.global.u32 %0, [%1];" : "=r"(r[j]) : "l"(at + 4096 * j) : "memory");
        }
#pragma unroll
        for (int j = 0; j < 16; j++) sum ^= r[j] ^ (j % EACH == 0 ? s[j] : 0);
        at += none >> 20 & 4, place += none >> 20 & 4;
    }
    if (sum == 12345) out[x] = sum;
}

#define KERNEL(K, EACH)                                                                \
    extern "C" __global__ void __launch_bounds__(1024)                                 \
    named_##K##_##EACH(u32 *out, u64 data, u32 rounds, u32 none) {                     \
        named<K, EACH>(out, data, rounds, none);                                       \
    }
#define KERNELS(K) KERNEL(K, 1) KERNEL(K, 2) KERNEL(K, 4) KERNEL(K, 8) KERNEL(K, 16)
KERNEL(NOTHING, 16) KERNELS(NUMBER) KERNELS(SHARED) KERNELS(SPECIAL)
