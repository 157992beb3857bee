// Lanes that add to words drawn by lot, of some that all warps share.
typedef unsigned u32;

__device__ __forceinline__ u32 drawn(u32 x) {
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
    return x;
}

#define KERNEL(NAME, TYPE, ...)                                                            \
    extern "C" __global__ void NAME(TYPE *words, TYPE *out, int count, int rounds) {       \
        u32 thread = blockIdx.x * blockDim.x + threadIdx.x;                                \
        TYPE sum = 0;                                                                      \
        _Pragma("unroll 1")                                                                \
        for (int i = 0; i < rounds; i++) {                                                 \
            TYPE *at = words + drawn(thread * 4096u + i) % (u32)count;                     \
            __VA_ARGS__;                                                                   \
        }                                                                                  \
        if (sum == (TYPE)123456789) out[thread % 32] = sum;                                \
    }
KERNEL(add_int, u32, atomicAdd(at, 1u))
KERNEL(add_float, float, atomicAdd(at, 1.0f))
KERNEL(add_double, double, atomicAdd(at, 1.0))
KERNEL(most_int, u32, atomicMax(at, thread))
KERNEL(ask_int, u32, sum += atomicAdd(at, 1u))
KERNEL(ask_float, float, sum += atomicAdd(at, 1.0f))
KERNEL(swap_int, u32, sum += atomicCAS(at, 1u, thread))
KERNEL(swap_long, unsigned long long, sum += atomicCAS(at, 1ull, (unsigned long long)thread))
KERNEL(take_int, u32, sum += atomicCAS(at, 0u, thread + 1u))

// Loops that keep the most: each lane exchanges at least once, what it found if that is more.
template <class T, class Bits> __device__ __forceinline__ T by_bits(Bits bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
#define KEEPS(NAME, TYPE, BITS, MOST, LEAVES)                                              \
    extern "C" __global__ void NAME(TYPE *words, TYPE *out, int count, int rounds) {       \
        u32 thread = blockIdx.x * blockDim.x + threadIdx.x;                                \
        _Pragma("unroll 1")                                                                \
        for (int i = 0; i < rounds; i++) {                                                 \
            u32 lot = drawn(thread * 4096u + i);                                           \
            BITS *at = (BITS *)words + lot % (u32)count, old = *at, expected;              \
            TYPE mine = (TYPE)(lot >> 8);                                                  \
            do {                                                                           \
                expected = old;                                                            \
                if (LEAVES && by_bits<TYPE>(expected) >= mine) break;                      \
                TYPE most = LEAVES ? mine : MOST(mine, by_bits<TYPE>(expected));           \
                old = atomicCAS(at, expected, by_bits<BITS>(most));                        \
            } while (expected != old);                                                     \
        }                                                                                  \
    }
KEEPS(keep_float, float, u32, fmaxf, false)
KEEPS(keep_double, double, unsigned long long, fmax, false)
KEEPS(seek_float, float, u32, fmaxf, true)
KEEPS(seek_double, double, unsigned long long, fmax, true)
KERNEL(add_long, unsigned long long, atomicAdd(at, 1ull))

// Loops that add: each lane that comes later than another tries again. `apart`: one lane in so many.
template <class T, class Bits> __device__ __forceinline__ Bits as_bits(T value) {
    Bits bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}
#define SUMS(NAME, TYPE, BITS)                                                             \
    extern "C" __global__ void NAME(TYPE *words, TYPE *out, int count, int apart) {        \
        u32 thread = blockIdx.x * blockDim.x + threadIdx.x;                                \
        if (thread % (u32)apart) return;                                                   \
        BITS *at = (BITS *)words + drawn(thread) % (u32)count, old = *at, expected;        \
        do {                                                                               \
            expected = old;                                                                \
            TYPE more = by_bits<TYPE>(expected) + (TYPE)1;                                 \
            old = atomicCAS(at, expected, as_bits<TYPE, BITS>(more));                      \
        } while (expected != old);                                                         \
    }
SUMS(sum_float, float, u32)
SUMS(sum_double, double, unsigned long long)
SUMS(sum_int, u32, u32)
