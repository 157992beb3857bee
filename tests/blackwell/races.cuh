// A kernel around what may race: operands that are written, tensor memory that is taken and given back.
// SHAPE: of its clusters; MEET: how all of them meet; OUT: where its results go.
#include "tcgen05.cuh"
#define RACY(NAME, SHAPE, MEET, OUT)                                                                \
    __device__ void NAME##_(unsigned *out, unsigned base, unsigned own, unsigned *a, unsigned *b,   \
                            unsigned long long *barrier);                                           \
    extern "C" __global__ void SHAPE NAME(unsigned *out) {                                          \
        __shared__ unsigned slot;                                                                   \
        __shared__ alignas(1024) unsigned a[1024];                                                  \
        __shared__ alignas(1024) unsigned b[128];                                                   \
        __shared__ unsigned long long barriers[2];                                                  \
        if (T < 2) begin(barriers + T, 1);                                                          \
        if (W == 0) take(&slot);                                                                    \
        for (int i = T; i < 1024; i += 128) a[i] = out[T];                                          \
        b[T] = out[T];                                                                              \
        proxy();                                                                                    \
        MEET();                                                                                     \
        unsigned base = slot;                                                                       \
        NAME##_(OUT, base, base + (W << 21), a, b, barriers);                                       \
        MEET();                                                                                     \
        if (W == 0) give(base);                                                                     \
    }                                                                                               \
    __device__ void NAME##_(unsigned *out, unsigned base, unsigned own, unsigned *a, unsigned *b,   \
                            unsigned long long *barrier)
