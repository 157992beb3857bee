// Short blocks, which begin with the numbers of their threads, beside others that execute one kind of
// instruction: what the first instructions of a warp wait for.
typedef unsigned u32;
typedef unsigned long long u64;

enum Kind { SPECIAL, SHARED, CONFLICT, STORE };

template <int K>
__device__ __forceinline__ void starts(u32 *out, u64 data, u32 rounds, u32 zero) {
    __shared__ u32 words[1024];
    const u32 x = threadIdx.x, y = threadIdx.y, b = blockIdx.x, lane = x % 32;
    u32 place = (u32)__cvta_generic_to_shared(words) + (K == CONFLICT ? 32 * lane : 4 * lane);
    u64 at = data + 4 * (32 * y + lane);
    u32 sum = x + y + b;
#pragma unroll 1
    for (u32 i = 0; i < rounds; i++) {
        u32 r[4];
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            r[j] = sum + j;
            if (K == SPECIAL) asm volatile("{.reg .f32 x; mov.b32 x, %1; ex2.approx.ftz.f32 x, x; mov.b32 %0, x;}" : "=r"(r[j]) : "r"(r[j]));
            if (K == SHARED || K == CONFLICT) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r[j]) : "r"(place + 128 * j) : "memory");
            if (K == STORE) asm volatile("st.global.u32 [%0], %1;" ::"l"(at + 4096 * j), "r"(r[j]) : "memory");
        }
#pragma unroll
        for (u32 j = 0; j < 4; j++) sum = sum * 5 ^ r[j];
        place += zero, at += zero;
    }
    if (sum == 12345) out[x] = sum;
}

#define KERNEL(K)                                                                          \
    extern "C" __global__ void starts_##K(u32 *out, u64 data, u32 rounds, u32 zero) {      \
        starts<K>(out, data, rounds, zero);                                                \
    }
KERNEL(SPECIAL) KERNEL(SHARED) KERNEL(CONFLICT) KERNEL(STORE)
