// Every lane of a mask folds words of its own, unrolled; `other` follows its own rows.
template <int N>
__device__ unsigned fold(const unsigned* p, unsigned sum, int steps) {
    for (int t = 0; t < steps; ++t, p += N)
#pragma unroll
        for (int k = 0; k < N; ++k) sum = sum * 31u + p[k];
    return sum;
}

#define ROWS(N)                                                                              \
    extern "C" __global__ void rows##N(const unsigned* in, const int* start, unsigned* out,  \
                                       unsigned mask, int steps) {                           \
        int i = blockIdx.x * 32 + threadIdx.x;                                               \
        int first = start[i];                                                                \
        if (mask >> threadIdx.x & 1) out[i] = fold<N>(in + first, 7u, steps);                \
    }
ROWS(3)
ROWS(4)
ROWS(7)
ROWS(8)
ROWS(16)
