// Warps that add to lines drawn by lot, by how many lanes share a word, how many words of a sector
// and sectors of a line they add to.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 drawn(u32 x) {
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
    return x;
}

// Shifts: 1 << lanes of a word, 1 << words of a sector, 1 << sectors of a line.
#define KERNEL(NAME, ...)                                                                  \
    extern "C" __global__ void added_words_##NAME(u64 data, u32 lines, u32 turns, u32 lanes, \
                                                  u32 words, u32 sectors) {                \
        u32 lane = threadIdx.x & 31;                                                       \
        u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;                           \
        u32 place = lane >> lanes, sum = 0;                                                \
        u32 word = place & ((1 << words) - 1), sector = place >> words & ((1 << sectors) - 1); \
        u32 line = place >> (words + sectors);                                             \
        u32 inside = sector * 32 + word * (32 >> words);                                   \
        _Pragma("unroll 1")                                                                \
        for (u32 i = 0; i < turns; i++) {                                                  \
            u64 at = data + (u64)(drawn((warp * 4096 + i) * 32 + line) & (lines - 1)) * 128 + inside; \
            u32 a = 0;                                                                     \
            __VA_ARGS__;                                                                   \
            sum += a;                                                                      \
        }                                                                                  \
        if (sum == 123456789) *(u32 *)data = sum;                                          \
    }
KERNEL(int, asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(i) : "memory"))
KERNEL(float, asm volatile("red.global.add.f32 [%0], %1;" ::"l"(at), "f"(1.0f) : "memory"))
KERNEL(double, asm volatile("red.global.add.f64 [%0], %1;" ::"l"(at), "d"(1.0) : "memory"))
KERNEL(pair, asm volatile("red.global.add.v2.f32 [%0], {%1, %1};" ::"l"(at), "f"(1.0f) : "memory"))
KERNEL(long, asm volatile("red.global.add.u64 [%0], %1;" ::"l"(at), "l"((u64)i) : "memory"))
KERNEL(ask, asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(a) : "l"(at), "r"(i) : "memory"))
