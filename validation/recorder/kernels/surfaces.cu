// Formatted writes of surfaces, reductions in every form, and what else takes words and gives words.
// A table has a row for x, y, z, the layer, and four words; a thread for each column.
#define KERNEL(name, text)                                                                         \
    extern "C" __global__ void name(unsigned long long s, const unsigned* c, uint4* out, int n) {  \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i >= n) return;                                                                        \
        unsigned long long w = c[i + 4 * n] | (unsigned long long)c[i + 5 * n] << 32;              \
        asm volatile(text ::"l"(s), "r"(c[i]), "r"(c[i + n]), "r"(c[i + 2 * n]),                   \
                     "r"(c[i + 3 * n]), "r"(c[i + 4 * n]), "r"(c[i + 5 * n]),                      \
                     "r"(c[i + 6 * n]), "r"(c[i + 7 * n]), "l"(w));                                \
    }
#define FORMATTED(shape, rank, at, mode)                                                           \
    KERNEL(put_##shape##_##mode##_1, "sust.p." #rank ".b32." #mode " [%0, " at "], {%5};")         \
    KERNEL(put_##shape##_##mode##_2, "sust.p." #rank ".v2.b32." #mode " [%0, " at "], {%5, %6};")  \
    KERNEL(put_##shape##_##mode##_4,                                                               \
           "sust.p." #rank ".v4.b32." #mode " [%0, " at "], {%5, %6, %7, %8};")
#define ONE(shape, rank, at, mode, form, operation, type, value)                                   \
    KERNEL(red_##form##_##shape##_##mode##_##operation##_##type,                                   \
           "sured." #form "." #operation "." #rank "." #type "." #mode " [%0, " at "], " value ";")
#define REDUCED(shape, rank, at, mode)                                                             \
    ONE(shape, rank, at, mode, b, add, u32, "%5")                                                  \
    ONE(shape, rank, at, mode, b, add, u64, "%9")                                                  \
    ONE(shape, rank, at, mode, b, min, u32, "%5")                                                  \
    ONE(shape, rank, at, mode, b, min, s32, "%5")                                                  \
    ONE(shape, rank, at, mode, b, min, u64, "%9")                                                  \
    ONE(shape, rank, at, mode, b, min, s64, "%9")                                                  \
    ONE(shape, rank, at, mode, b, max, u32, "%5")                                                  \
    ONE(shape, rank, at, mode, b, max, s32, "%5")                                                  \
    ONE(shape, rank, at, mode, b, max, u64, "%9")                                                  \
    ONE(shape, rank, at, mode, b, max, s64, "%9")                                                  \
    ONE(shape, rank, at, mode, b, and, b32, "%5")                                                  \
    ONE(shape, rank, at, mode, b, or, b32, "%5")                                                   \
    ONE(shape, rank, at, mode, p, add, b32, "%5")                                                  \
    ONE(shape, rank, at, mode, p, min, b32, "%5")                                                  \
    ONE(shape, rank, at, mode, p, max, b32, "%5")                                                  \
    ONE(shape, rank, at, mode, p, and, b32, "%5")                                                  \
    ONE(shape, rank, at, mode, p, or, b32, "%5")                                                   \
    ONE(shape, rank, at, mode, p, min, b64, "%9")                                                  \
    ONE(shape, rank, at, mode, p, max, b64, "%9")
#define LAYERED(shape, rank, at)                                                                   \
    FORMATTED(shape, rank, at, zero)                                                               \
    FORMATTED(shape, rank, at, clamp)
#define SHAPE(shape, rank, at)                                                                     \
    LAYERED(shape, rank, at)                                                                       \
    REDUCED(shape, rank, at, zero)                                                                 \
    REDUCED(shape, rank, at, clamp)
SHAPE(1d, 1d, "{%1}")
SHAPE(2d, 2d, "{%1, %2}")
SHAPE(3d, 3d, "{%1, %2, %3, %3}")
LAYERED(1dl, a1d, "{%4, %1}")
LAYERED(2dl, a2d, "{%4, %1, %2, %2}")

#define WORDS(name, text)                                                                          \
    extern "C" __global__ void name(unsigned long long s, const unsigned* c, uint4* out, int n) {  \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i >= n) return;                                                                        \
        unsigned long long a[4];                                                                   \
        for (int k = 0; k < 4; k++)                                                                \
            a[k] = c[i + 2 * k * n] | (unsigned long long)c[i + (2 * k + 1) * n] << 32;            \
        unsigned long long lo = 0, hi = 0;                                                         \
        asm volatile(text : "+l"(lo), "+l"(hi) : "l"(a[0]), "l"(a[1]), "l"(a[2]), "l"(a[3]));      \
        out[i] = make_uint4(lo, lo >> 32, hi, hi >> 32);                                           \
    }
WORDS(product, "clmad.lo.u64 %0, %2, %3, %4; clmad.hi.u64 %1, %2, %3, %4;")
#define MONITOR(k) WORDS(pm##k, "{.reg .b32 t; mov.u32 t, %%pm" #k "; cvt.u64.u32 %0, t; "         \
                                "mov.u64 %1, %%pm" #k "_64;}")
MONITOR(0)
MONITOR(1)
MONITOR(2)
MONITOR(3)
MONITOR(4)
MONITOR(5)
MONITOR(6)
MONITOR(7)

// Bit 71 of HSETP2 makes it .H_AND, which no PTX compiles to: surface_cases.py sets it.
#define BOTH(type, compare, operation)                                                             \
    WORDS(both_##type##_##compare##_##operation,                                                   \
          "{.reg .pred a, b, d; .reg .b32 h, p, q; .reg .b64 t; cvt.u32.u64 h, %4; "               \
          "setp.ne.u32 d, h, 0; cvt.u32.u64 p, %2; cvt.u32.u64 q, %3; "                            \
          "setp." #compare "." #operation "." #type " a|b, p, q, d; selp.u64 %0, 1, 0, a; "        \
          "selp.u64 %1, 1, 0, b;}")
BOTH(f16x2, lt, and)
BOTH(f16x2, neu, and)
BOTH(f16x2, ge, or)
BOTH(f16x2, eq, xor)
BOTH(bf16x2, le, and)
BOTH(bf16x2, gtu, or)
