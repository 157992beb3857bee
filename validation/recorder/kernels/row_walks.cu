// Lanes that walk along rows of their own: loads of one or two arrays and stores to one or two.
typedef unsigned u32;
typedef unsigned short u16;

// `mask` keeps a lane within the first elements of its row, which L1 then holds
template <class T, int LOADS, int STORES>
__device__ __forceinline__ void walk(const T *a, const T *b, T *c, T *d, int width, int steps,
                                     int mask) {
    size_t row = (size_t)(blockIdx.x * blockDim.x + threadIdx.x) * width;
    a += row, b += row, c += row, d += row;
    u32 sum = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < steps; i += 4) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int at = (i & mask) + k;
            u32 seen = sum;
            if (LOADS > 0) seen = a[at];
            if (LOADS > 1) seen += b[at];
            if (STORES > 0) c[at] = (T)(seen + 1);
            if (STORES > 1) d[at] = (T)(seen + 2);
            if (STORES == 0) sum += seen;
        }
    }
    if (STORES == 0) c[0] = (T)sum;
}

#define WALK(NAME, T, LOADS, STORES)                                                         \
    extern "C" __global__ void walk_##NAME##_##LOADS##STORES(const T *a, const T *b, T *c,   \
                                                             T *d, int width, int steps,     \
                                                             int mask) {                     \
        walk<T, LOADS, STORES>(a, b, c, d, width, steps, mask);                              \
    }
#define WALKS(NAME, T)                                                                       \
    WALK(NAME, T, 1, 0) WALK(NAME, T, 2, 0) WALK(NAME, T, 0, 1) WALK(NAME, T, 0, 2)          \
    WALK(NAME, T, 1, 1) WALK(NAME, T, 2, 1) WALK(NAME, T, 1, 2) WALK(NAME, T, 2, 2)
WALKS(2, u16)
WALKS(4, u32)
