// Every atomic operation and type, on global and shared memory, with and without result.

template <class T>
__device__ void integer_atomics(T* cells, const T* operand, int i) {
    T v = operand[i];
    atomicAdd(cells + 0, v);
    atomicMin(cells + 1, v);
    atomicMax(cells + 2, v);
    atomicAnd(cells + 3, v | (T)0xffff);
    atomicOr(cells + 4, v);
    atomicXor(cells + 5, v);
}

#define KERNEL(T, name)                                                                  \
    extern "C" __global__ void name(T* cells, T* shared_cells, const T* operand, int n) { \
        __shared__ T s[6];                                                               \
        if (threadIdx.x < 6) s[threadIdx.x] = shared_cells[threadIdx.x];                  \
        __syncthreads();                                                                 \
        int i = threadIdx.x;                                                             \
        if (i < n) {                                                                     \
            integer_atomics(cells, operand, i);                                          \
            integer_atomics(s, operand, i);                                              \
        }                                                                                \
        __syncthreads();                                                                 \
        if (threadIdx.x < 6) shared_cells[threadIdx.x] = s[threadIdx.x];                  \
    }
KERNEL(int, atomic_int)
KERNEL(unsigned, atomic_uint)
KERNEL(unsigned long long, atomic_ulonglong)

extern "C" __global__ void atomic_signed_long(long long* cells, const long long* operand, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicMin(cells, operand[i]);
    atomicMax(cells + 1, operand[i]);
    atomicAnd(cells + 2, operand[i]);
}

// The returned values of adds of 1 are a permutation; inc and dec wrap.
extern "C" __global__ void atomic_results(unsigned* cells, unsigned* seen, int n) {
    __shared__ unsigned s[3];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 3) s[threadIdx.x] = 0;
    __syncthreads();
    if (i >= n) return;
    seen[i] = atomicAdd(cells, 1u);
    seen[n + i] = atomicInc(cells + 1, 16u);
    seen[2 * n + i] = atomicDec(cells + 2, 16u);
    seen[3 * n + i] = atomicExch(cells + 3, (unsigned)i + 1);
    seen[4 * n + i] = atomicSub(cells + 4, 2u);
    seen[5 * n + i] = atomicAdd(s, 1u) + atomicInc(s + 1, 6u) * 0;
    seen[6 * n + i] = atomicExch(s + 2, (unsigned)i + 1);
}

extern "C" __global__ void atomic_float(float* cells, double* wide, const float* operand, int n) {
    __shared__ float s;
    __shared__ double d;
    if (threadIdx.x == 0) s = 0.0f, d = 0.0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(cells + i % 3, operand[i]);
        atomicAdd(&s, operand[i]);
        atomicAdd(wide + i % 3, (double)operand[i]);
        atomicAdd(&d, (double)operand[i]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        cells[3 + blockIdx.x] = s;
        wide[3 + blockIdx.x] = d;
    }
}

extern "C" __global__ void atomic_float_result(float* cell, float* seen) {
    seen[threadIdx.x] = atomicAdd(cell, 0.5f);
}

// A maximum of floats by compare-and-swap of their bits.
extern "C" __global__ void atomic_cas_loop(int* cell, const float* in, unsigned long long* wide,
                                           int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int seen = *cell, expected;
    do {
        expected = seen;
        if (__int_as_float(expected) >= in[i]) break;
        seen = atomicCAS(cell, expected, __float_as_int(in[i]));
    } while (seen != expected);
    unsigned long long old = *wide, assumed;
    do {
        assumed = old;
        old = atomicCAS(wide, assumed, assumed * 3 + 1);
    } while (old != assumed);
}

// 16-bit compare-and-swap, which sm_70 and later have.
extern "C" __global__ void atomic_cas_short(unsigned short* cells, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short* p = cells + i % 5;
    unsigned short seen = *p, expected;
    do {
        expected = seen;
        seen = atomicCAS(p, expected, (unsigned short)(expected + 7));
    } while (seen != expected);
}

extern "C" __global__ void atomic_scopes(int* cells) {
    int t = threadIdx.x;
    atomicAdd_block(cells, t);
    atomicMax_system(cells + 1, t);
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(cells + 2), "r"(t));
    asm volatile("{ .reg .b32 d; atom.acq_rel.gpu.global.or.b32 d, [%0], %1; }" ::"l"(cells + 3),
                 "r"(1 << (t & 15)));
}

extern "C" __global__ void atomic_generic(int* global_cells, int* out) {
    __shared__ int s[2];
    int t = threadIdx.x;
    if (t < 2) s[t] = 10 * t;
    __syncthreads();
    int* p = t & 1 ? s + (t >> 1 & 1) : global_cells + (t >> 1 & 1);
    atomicAdd(p, t);
    __syncthreads();
    if (t < 2) out[t] = s[t];
}

// Aggregates the adds of the active lanes of a warp into one.
extern "C" __global__ void atomic_aggregated(int* counter, int* place, const int* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || in[i] % 3 != 0) return;
    unsigned active = __activemask();
    int lane = threadIdx.x & 31, leader = __ffs(active) - 1, base = 0;
    if (lane == leader) base = atomicAdd(counter, __popc(active));
    base = __shfl_sync(active, base, leader);
    place[base + __popc(active & ((1u << lane) - 1))] = in[i];
}
