// Lanes that copy a row each, few small elements at a time, and blocks that store a column each.
typedef unsigned u32;
typedef unsigned char u8;
typedef unsigned short u16;

// `COUNT` loads at once and then as many stores; `from` and `to` may be the same rows
template <class T, int COUNT>
__device__ __forceinline__ void copy(const T *from, T *to, int width) {
    u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
    from += (size_t)thread * width;
    to += (size_t)thread * width;
#pragma unroll 1
    for (int i = 0; i < width; i += COUNT) {
        T seen[COUNT];
#pragma unroll
        for (int k = 0; k < COUNT; k++) seen[k] = from[i + k];
#pragma unroll
        for (int k = 0; k < COUNT; k++) to[i + k] = (T)(seen[k] + 1);
    }
}

#define COPY(NAME, T, COUNT)                                                                \
    extern "C" __global__ void copy_##NAME##_##COUNT(const T *__restrict__ from,            \
                                                     T *__restrict__ to, int width) {       \
        copy<T, COUNT>(from, to, width);                                                    \
    }
#define COPIES(NAME, T) COPY(NAME, T, 1) COPY(NAME, T, 4)
COPIES(1, u8)
COPIES(2, u16)
COPIES(4, u32)

// A lane has a row, a block a column of it: what lies beside it other blocks store
#define COLUMN(NAME, T)                                                                     \
    extern "C" __global__ void column_##NAME(T *to, int width, int rows) {                  \
        for (int i = blockIdx.y * blockDim.x + threadIdx.x; i < rows;                       \
             i += gridDim.y * blockDim.x)                                                   \
            to[(size_t)i * width + blockIdx.x] = (T)i;                                      \
    }
COLUMN(1, u8)
COLUMN(2, u16)
COLUMN(4, u32)
