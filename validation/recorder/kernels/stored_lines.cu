// What L1 keeps of what a block stores, and what stores take of L1's room: a block loads one array,
// stores to another, then loads the first or the second again.
typedef unsigned u32;

__device__ __forceinline__ void put(u32 *p, u32 v, int kind) {
    if (kind == 0) *p = v;
    if (kind == 1) __stcs(p, v);
    if (kind == 2) __stcg(p, v);
    if (kind == 3) __stwt(p, v);
}

// `first` and `second`: words; `again`: which array is loaded again, 0: none.
#define BODY(WRITE)                                                                           \
    u32 sum = 0;                                                                              \
    for (u32 i = threadIdx.x; i < first; i += blockDim.x) sum += a[i];                        \
    __syncthreads();                                                                          \
    for (u32 i = threadIdx.x; i < second; i += blockDim.x) {                                  \
        WRITE;                                                                                \
    }                                                                                         \
    __syncthreads();                                                                          \
    if (again == 1)                                                                           \
        for (u32 i = threadIdx.x; i < first; i += blockDim.x) sum ^= a[i];                       \
    if (again == 2)                                                                           \
        for (u32 i = threadIdx.x; i < second; i += blockDim.x) sum += b[i];                   \
    if (sum == 12345) out[threadIdx.x] = sum;

#define STORED(NAME, WRITE)                                                                   \
    extern "C" __global__ void stored_##NAME(u32 *out, u32 *a, u32 *b, u32 first, u32 second, \
                                             u32 again) {                                     \
        BODY(WRITE)                                                                           \
    }
STORED(plain, put(b + i, i, 0))
STORED(streaming, put(b + i, i, 1))
STORED(global_cache, put(b + i, i, 2))
STORED(through, put(b + i, i, 3))
STORED(short, ((unsigned short *)b)[2 * i] = (unsigned short)i; ((unsigned short *)b)[2 * i + 1] = 1)
STORED(half_sectors, if ((i & 4) == 0) b[i] = i)
STORED(every_second, if ((i & 1) == 0) b[i] = i)
STORED(loaded, sum += __ldg(b + i))
STORED(loaded_streaming, sum += __ldcs(b + i))
