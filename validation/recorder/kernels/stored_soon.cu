// Lanes that load some words of a row of their own, add to them, and store them one right after
// the other; then the next ones.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ void rest(u32 cycles) {
    if (cycles == 0) return;
    long long begin = clock64();
    while (clock64() - begin < cycles) { }
}

#define KERNEL(N)                                                                                  \
    extern "C" __global__ void stored_soon_##N(u32 *out, u64 data, u32 pitch, u32 words,           \
                                               u32 rounds, u32 lanes, u32 after) {                 \
        if (threadIdx.x % 32 >= lanes) return;                                                     \
        u64 row = data + (u64)(blockIdx.x * blockDim.x + threadIdx.x) * pitch;                     \
        u32 sum = 0;                                                                               \
        for (u32 i = 0; i < words; i++) {                                                          \
            u32 word;                                                                              \
            asm volatile("ld.global.u32 %0, [%1];" : "=r"(word) : "l"(row + i * 4) : "memory");    \
            sum += word;                                                                           \
        }                                                                                          \
        for (u32 r = 0; r < rounds; r++) {                                                         \
            _Pragma("unroll 1") for (u32 i = 0; i < words; i += N) {                               \
                u32 word[N], all = 0;                                                              \
                _Pragma("unroll") for (u32 k = 0; k < N; k++) {                                    \
                    asm volatile("ld.global.u32 %0, [%1];"                                         \
                                 : "=r"(word[k]) : "l"(row + (i + k) * 4) : "memory");             \
                    all |= word[k];                                                                \
                }                                                                                  \
                if (all == 0xFFFFFFFFu) break; /* all have come */                                 \
                _Pragma("unroll") for (u32 k = 0; k < N; k++)                                      \
                    asm volatile("st.global.u32 [%0], %1;"                                         \
                                 ::"l"(row + (i + k) * 4), "r"(word[k] + 1) : "memory");           \
                rest(after);                                                                       \
            }                                                                                      \
        }                                                                                          \
        if (sum == 12345) out[threadIdx.x] = sum;                                                  \
    }

KERNEL(1)
KERNEL(2)
KERNEL(4)
KERNEL(8)
KERNEL(16)
