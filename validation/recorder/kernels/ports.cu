// Register-file ports: a loop of 256 instructions of one kind, whose registers and reuse marks
// ports.py replaces. All values live in 64 registers, so that any of them may stand anywhere.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 now() {
    u64 t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

#define PORTS(NAME, TYPE, LETTER, CODE)                                                         \
    extern "C" __global__ void ports_##NAME(u64 *clocks, TYPE *values, u32 turns) {             \
        TYPE x[64];                                                                             \
        _Pragma("unroll") for (int i = 0; i < 64; i++) x[i] = values[i * 32 + threadIdx.x % 32]; \
        __syncthreads();                                                                        \
        u64 begin = now();                                                                      \
        for (u32 k = 0; k < turns; k++) {                                                       \
            _Pragma("unroll") for (int i = 0; i < 256; i++)                                     \
                asm volatile(CODE                                                               \
                             : "+" LETTER(x[i % 64])                                            \
                             : LETTER(x[(i + 7) % 64]), LETTER(x[(i + 13) % 64]));              \
        }                                                                                       \
        u64 end = now();                                                                        \
        _Pragma("unroll") for (int i = 0; i < 64; i++) values[i * 32 + threadIdx.x % 32] = x[i]; \
        if (threadIdx.x % 32 == 0) {                                                            \
            clocks[threadIdx.x / 32 * 2] = begin;                                               \
            clocks[threadIdx.x / 32 * 2 + 1] = end;                                             \
        }                                                                                       \
    }

PORTS(ffma, float, "f", "fma.rn.f32 %0, %1, %2, %0;")
PORTS(fadd, float, "f", "add.rn.f32 %0, %1, %2;")
PORTS(imad, u32, "r", "mad.lo.u32 %0, %1, %2, %0;")
PORTS(lop3, u32, "r", "lop3.b32 %0, %1, %2, %0, 0x1e;")
