// One access pattern per launch, chosen by arguments, so that expected counts follow from addresses.
//
// Loads keep their value alive with a comparison that never holds: the inputs are zero.

typedef unsigned char u8;
typedef unsigned short u16;

__device__ unsigned bits(u8 v) { return v; }
__device__ unsigned bits(u16 v) { return v; }
__device__ unsigned bits(unsigned v) { return v; }
__device__ unsigned bits(uint2 v) { return v.x ^ v.y; }
__device__ unsigned bits(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

template <class T>
__device__ T made(unsigned v) {
    T result = {};
    *(u8*)&result = v;
    return result;
}

// Each active lane accesses element offset + stride * thread.
template <class T>
__global__ void global_load(const T* in, unsigned* never, int stride, int offset, unsigned mask) {
    if (mask >> (threadIdx.x & 31) & 1)
        if (bits(in[offset + stride * (int)threadIdx.x]) == 77) *never = 1;
}

template <class T>
__global__ void global_store(T* out, int stride, int offset, unsigned mask) {
    if (mask >> (threadIdx.x & 31) & 1) out[offset + stride * (int)threadIdx.x] = made<T>(1);
}

// Each lane of the mask accesses the shared element that an index array names.
#define SHARED(T, name)                                                            \
    extern "C" __global__ void shared_load_##name(const int* index, unsigned mask, \
                                                  unsigned* never) {               \
        extern __shared__ uint4 memory[];                                          \
        T* cells = (T*)memory;                                                     \
        T v = made<T>(0);                                                          \
        int at = index[threadIdx.x];                                               \
        if (mask >> threadIdx.x & 1) v = cells[at];                                \
        if (bits(v) == 77) *never = 1;                                             \
    }                                                                              \
    extern "C" __global__ void shared_store_##name(const int* index, unsigned mask, \
                                                   unsigned* never) {              \
        extern __shared__ uint4 memory[];                                          \
        T* cells = (T*)memory;                                                     \
        int at = index[threadIdx.x];                                               \
        if (mask >> threadIdx.x & 1) cells[at] = made<T>(threadIdx.x);             \
        __syncthreads();                                                           \
        if (*(volatile u8*)(cells + index[0]) == 77) *never = 1;                   \
    }
SHARED(u8, 1)
SHARED(u16, 2)
SHARED(unsigned, 4)
SHARED(uint2, 8)
SHARED(uint4, 16)

// Reductions (no result) and atomics (with result) on cell[thread / share].
extern "C" __global__ void reductions(int* cells, int share) {
    atomicAdd(cells + threadIdx.x / share, 1);
}
extern "C" __global__ void atomics(int* cells, int* seen, int share) {
    seen[threadIdx.x] = atomicAdd(cells + threadIdx.x / share, 1);
}
extern "C" __global__ void shared_atomics(int* out, int share) {
    __shared__ int cells[64];
    cells[threadIdx.x] = 0;
    __syncthreads();
    out[threadIdx.x] = atomicAdd(cells + threadIdx.x / share, 1);
}

// The body's FFMA runs `turns` times in every thread.
extern "C" __global__ void counted_loop(float* data, int turns) {
    float v = data[threadIdx.x];
#pragma unroll 1
    for (int i = 0; i < turns; ++i) v = fmaf(v, 1.5f, 0.25f);
    data[threadIdx.x] = v;
}

// Thread t runs t % spread turns: the warp runs as long as its longest thread.
extern "C" __global__ void divergent_loop(float* data, int spread) {
    float v = data[threadIdx.x];
#pragma unroll 1
    for (int i = 0; i < threadIdx.x % spread; ++i) v = fmaf(v, 1.5f, 0.25f);
    data[threadIdx.x] = v;
}

extern "C" __global__ void doubles(double* data, int turns) {
    double v = data[threadIdx.x];
#pragma unroll 1
    for (int i = 0; i < turns; ++i) v = fma(v, 1.5, 0.25);
    data[threadIdx.x] = v;
}

extern "C" __global__ void local_cells(int* out, int turns) {
    volatile int cells[16];
    for (int i = 0; i < turns; ++i) cells[i & 15] = i;
    int sum = 0;
    for (int i = 0; i < turns; ++i) sum += cells[(i + 1) & 15];
    out[threadIdx.x] = sum;
}

extern "C" __global__ void branches(int* out, int limit) {
    int t = threadIdx.x & 31;
    if (t < limit) {
        for (int i = 0; i < 3; ++i) atomicAdd(out, 1);
    } else {
        for (int i = 0; i < 5; ++i) atomicAdd(out + 1, 1);
    }
}

extern "C" __global__ void barriers(int* out, int turns) {
    for (int i = 0; i < turns; ++i) __syncthreads();
    out[threadIdx.x] = turns;
}
