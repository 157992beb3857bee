// Loops of compare and exchange by many blocks on the same words, and atomics whose result is used.
typedef unsigned u32;

// Each thread adds to its words, `stride` words apart, until its exchange succeeds.
#define LOOP(NAME, ...)                                                                    \
    extern "C" __global__ void NAME(u32 *data, u32 *tries, u32 words, u32 spread) {        \
        u32 tried = 0;                                                                     \
        for (u32 i = threadIdx.x; i < words; i += blockDim.x) {                            \
            u32 *at = data + i * spread;                                                   \
            __VA_ARGS__                                                                    \
        }                                                                                  \
        tries[blockIdx.x * blockDim.x + threadIdx.x] = tried;                              \
    }

LOOP(exchange, {
    u32 old = __ldcg(at), seen;
    do {
        seen = old;
        old = atomicCAS(at, seen, seen + 1);
        tried++;
    } while (old != seen);
})
LOOP(exchange_float, {
    u32 old = *(volatile u32 *)at, seen;
    do {
        seen = old;
        old = atomicCAS(at, seen, __float_as_uint(__uint_as_float(seen) + 1.0f));
        tried++;
    } while (old != seen);
})
LOOP(returning, { tried += atomicAdd(at, 1u); })
LOOP(returning_float, { tried += (u32)atomicAdd((float *)at, 1.0f); })
LOOP(reduction, { atomicAdd(at, 1u); })
LOOP(reduction_float, { atomicAdd((float *)at, 1.0f); })
LOOP(locked, {
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(at, 0u, 1u)) tried++;
        tried++;
        atomicExch(at, 0u);
    }
})
