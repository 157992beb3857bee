// Kernels that do something illegal when asked to, and `good`, which never does.

#include <assert.h>

__global__ void good(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i] + 1;
}

template <class T>
__global__ void store(char* p, long long offset, int thread) {
    T value = {};
    if (threadIdx.x == thread) *(T*)(p + offset) = value;
}
template <class T>
__global__ void read(const char* p, long long offset, T* out, int thread) {
    if (threadIdx.x == thread) *out = *(const T*)(p + offset);
}

extern "C" __global__ void add(int* p, long long offset) { atomicAdd((int*)((char*)p + offset), 1); }
extern "C" __global__ void exchange(int* p, long long offset, int* out) {
    *out = atomicExch((int*)((char*)p + offset), 1);
}
extern "C" __global__ void compare(unsigned long long* p, long long offset, unsigned long long* out) {
    *out = atomicCAS((unsigned long long*)((char*)p + offset), 0ull, 1ull);
}

extern "C" __global__ void shared_store(int at) {
    __shared__ int cells[64];
    ((volatile int*)cells)[at] = 1;
}
extern "C" __global__ void shared_load(int at, int* out) {
    __shared__ int cells[64];
    cells[threadIdx.x] = 0;
    __syncthreads();
    *out = ((volatile int*)cells)[at];
}
extern "C" __global__ void shared_dynamic(int at) {
    extern __shared__ int dynamic[];
    ((volatile int*)dynamic)[at] = 1;
}
extern "C" __global__ void shared_atomic(int at) {
    __shared__ int cells[8];
    cells[threadIdx.x & 7] = 0;
    __syncthreads();
    atomicAdd(cells + at, 1);
}
extern "C" __global__ void shared_misaligned(int byte) {
    __shared__ int cells[64];
    *(volatile int*)((char*)cells + byte) = 1;
}
extern "C" __global__ void local_store(int at, int* out) {
    volatile int cells[16];
    for (int i = 0; i < 16; ++i) cells[i] = i;
    cells[at] = 5;
    *out = cells[3];
}
extern "C" __global__ void local_load(int at, int* out) {
    volatile int cells[16];
    for (int i = 0; i < 16; ++i) cells[i] = i;
    *out = cells[at];
}

__device__ int table[32];
extern "C" __global__ void global_variable(int at) { ((volatile int*)table)[at] = 1; }

__device__ __noinline__ void through(int* p) { *(volatile int*)p = 7; }
extern "C" __global__ void generic_store(int* p, int choice, long long offset) {
    __shared__ int s[16];
    int local[4] = {};
    int* q = choice == 0 ? p : choice == 1 ? s : local;
    through((int*)((char*)q + offset));
    p[0] = local[0] + s[0];
}

extern "C" __global__ void trap_at(int thread) {
    if (blockIdx.x * blockDim.x + threadIdx.x == thread) __trap();
}
extern "C" __global__ void assert_below(const int* in, int limit) {
    assert(in[threadIdx.x] < limit);
}
extern "C" __global__ void endless(int* p) {
    while (*(volatile int*)p == 0) {}
}
extern "C" __global__ void endless_count(unsigned* p) {
    for (unsigned i = 0;; i += 2) {
        *p = i;
        if (i == 1) break;
    }
}
extern "C" __global__ void endless_barrier(int* p) {
    do __syncthreads();
    while (*(volatile int*)p == 0);
}
extern "C" __global__ void barriers_apart() {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;");
    else
        asm volatile("bar.sync 2, 64;");
}
extern "C" __global__ void barrier_too_few() { asm volatile("bar.sync 3, 96;"); }
extern "C" __global__ void barrier_never_left(int* p) {
    if (threadIdx.x >= 32)
        while (*(volatile int*)p == 0) {}
    __syncthreads();
}
extern "C" __global__ void warps_wait(int* out) {
    if (threadIdx.x == 0) __syncwarp(3);
    *out = 1;
}

__device__ __noinline__ int deep(int n, int* p) {
    volatile int room[8];
    room[n & 7] = n;
    if (*(volatile int*)p == 99) return n;
    return deep(n + 1, p) + room[(n + 1) & 7];
}
extern "C" __global__ void overflow_stack(int* p) { *p = deep(0, p); }

struct Pair {
    int a;
    float b;
};
__global__ void scalars(int* out, int i, unsigned u, float f, double d, char c, long long l, bool b,
                        Pair pair) {
    *out = i + u + (int)f + (int)d + c + (int)l + b + pair.a;
}
template <int N>
__global__ void sized(int* out) {
    *out = N;
}
extern "C" __global__ void __launch_bounds__(64) bounded(int* out) { *out = 1; }
extern "C" __global__ void big_static(int* out) {
    __shared__ int cells[10000];
    cells[threadIdx.x] = 1;
    __syncthreads();
    *out = cells[blockDim.x - 1 - threadIdx.x];
}
