// Lanes that each load a word of a line of their own, and then a second word of it or none.
typedef unsigned u32;

__device__ __forceinline__ u32 clk() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

// One of 2^21 lines: each number another one
__device__ __forceinline__ u32 line(u32 x) {
    x = x * 0x0f35a5u & 0x1fffffu; x ^= x >> 11; x = x * 0x1b873bu & 0x1fffffu; x ^= x >> 9;
    x = x * 0x09e375u & 0x1fffffu; x ^= x >> 11;
    return x;
}

#define KERNEL(NAME, LOAD)                                                                 \
    extern "C" __global__ void NAME(const char *array, u32 *out, int rounds, int first,    \
                                    int second, int wait) {                                \
        u32 thread = blockIdx.x * blockDim.x + threadIdx.x;                                \
        _Pragma("unroll 1")                                                                \
        for (int i = 0; i < rounds; i++) {                                                 \
            const char *at = array + ((size_t)line(thread * rounds + i) << 7);             \
            u32 one, two;                                                                  \
            asm volatile(LOAD " %0, [%1];" : "=r"(one) : "l"(at + first) : "memory");      \
            if (one) { /* Zeros: what follows waits for the word */                        \
                out[thread % 32] = one;                                                    \
                return;                                                                    \
            }                                                                              \
            if (wait > 0) {                                                                \
                u32 start = clk();                                                         \
                while (clk() - start < (u32)wait) {}                                       \
            }                                                                              \
            if (second >= 0) {                                                             \
                asm volatile(LOAD " %0, [%1];" : "=r"(two) : "l"(at + second) : "memory"); \
                if (two) {                                                                 \
                    out[thread % 32] = two;                                                \
                    return;                                                                \
                }                                                                          \
            }                                                                              \
        }                                                                                  \
    }
KERNEL(load_plain, "ld.global.u32") // As C++ loads: .ca is another instruction (STRONG.SM)
KERNEL(load_cg, "ld.global.cg.u32")
KERNEL(load_nc, "ld.global.nc.u32")
