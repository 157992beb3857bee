// How long a try_wait of an mbarrier suspends, and kernels that wait beside others that do not.
#include <cuda/barrier>
typedef unsigned long long u64;
typedef unsigned int u32;

__device__ u64 nanoseconds() {
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__device__ u32 place(const u64* bar) { return (u32)__cvta_generic_to_shared(bar); }

__device__ void begin(u64* bar, u32 count) {
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(place(bar)), "r"(count));
    __syncthreads();
}

__device__ bool look(const u64* bar, u32 parity, u32 hint, int kind) {
    u32 done;
    if (kind == 0)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(place(bar)), "r"(parity) : "memory");
    else if (kind == 1)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(place(bar)), "r"(parity) : "memory");
    else
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2, %3; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(place(bar)), "r"(parity), "r"(hint) : "memory");
    return done;
}

// One look at a barrier that nobody completes: cycles and nanoseconds until it gives up.
extern "C" __global__ void waits_give_up(u64* out, int kind, u32 hint) {
    __shared__ u64 bar;
    begin(&bar, 1000);
    for (int i = 0; i < 4; i++) {
        u64 n = nanoseconds();
        long long c = clock64();
        bool done = look(&bar, 0, hint, kind);
        long long d = clock64();
        if ((threadIdx.x & 31) == 0) {
            u64* row = out + (threadIdx.x / 32 * 4 + i) * 3;
            row[0] = d - c;
            row[1] = nanoseconds() - n;
            row[2] = done;
        }
    }
}

// Warp 1 arrives after `delay` cycles; warp 0 loops over looks. Looks made, and cycles from the
// arrival until warp 0 goes on.
extern "C" __global__ void waits_until(u64* out, int kind, u32 hint, long long delay) {
    __shared__ u64 bar;
    __shared__ long long arrived;
    begin(&bar, 32);
    if (threadIdx.x < 32) {
        long long c = clock64();
        u64 looks = 1;
        while (!look(&bar, 0, hint, kind)) looks++;
        long long d = clock64();
        if (threadIdx.x == 0) {
            out[0] = looks;
            out[1] = d - c;
            out[2] = d - *(volatile long long*)&arrived;
        }
    } else {
        long long c = clock64();
        while (clock64() - c < delay) {}
        if (threadIdx.x == 32) *(volatile long long*)&arrived = clock64();
        __syncwarp();
        asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(place(&bar)) : "memory");
    }
}

__device__ float work(float x, int n) {
    for (int i = 0; i < n; i++) x = x * 0.999f + 0.5f;
    return x;
}

// Rounds of unequal work and a barrier of the block: of libcu++, and the hardware's.
extern "C" __global__ void rounds_barrier(float* data, int rounds) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ float tile[256];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    float x = data[blockIdx.x * 256 + threadIdx.x];
    for (int r = 0; r < rounds; r++) {
        x = work(x, 40 + 40 * ((threadIdx.x / 32 + r) & 7));
        tile[threadIdx.x] = x;
        bar.arrive_and_wait();
        x += tile[(threadIdx.x + 32) & 255];
        bar.arrive_and_wait();
    }
    data[blockIdx.x * 256 + threadIdx.x] = x;
}

extern "C" __global__ void rounds_sync(float* data, int rounds) {
    __shared__ float tile[256];
    float x = data[blockIdx.x * 256 + threadIdx.x];
    for (int r = 0; r < rounds; r++) {
        x = work(x, 40 + 40 * ((threadIdx.x / 32 + r) & 7));
        tile[threadIdx.x] = x;
        __syncthreads();
        x += tile[(threadIdx.x + 32) & 255];
        __syncthreads();
    }
    data[blockIdx.x * 256 + threadIdx.x] = x;
}

// Each block adds its sum to its predecessor's: by flags, or left to another launch.
extern "C" __global__ void chain_flags(const float* in, float* sums, int* flags) {
    __shared__ float part[256];
    part[threadIdx.x] = work(in[blockIdx.x * 256 + threadIdx.x], 50);
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    }
    if (threadIdx.x == 0) {
        float before = 0;
        if (blockIdx.x > 0) {
            while (((volatile int*)flags)[blockIdx.x - 1] == 0) {}
            __threadfence();
            before = ((volatile float*)sums)[blockIdx.x - 1];
        }
        ((volatile float*)sums)[blockIdx.x] = before + part[0];
        __threadfence();
        ((volatile int*)flags)[blockIdx.x] = 1;
    }
}

extern "C" __global__ void chain_plain(const float* in, float* sums, int* flags) {
    __shared__ float part[256];
    part[threadIdx.x] = work(in[blockIdx.x * 256 + threadIdx.x], 50);
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0] + flags[blockIdx.x];
}

// One thread of each block adds to a list: under a lock, or by an atomic.
extern "C" __global__ void list_lock(float* data, int* lock, float* list) {
    float x = work(data[blockIdx.x * 128 + threadIdx.x], 200);
    data[blockIdx.x * 128 + threadIdx.x] = x;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        list[1] = list[1] + 1.0f;
        list[0] = list[0] + x;
        __threadfence();
        atomicExch(lock, 0);
    }
}

extern "C" __global__ void list_atomic(float* data, int* lock, float* list) {
    float x = work(data[blockIdx.x * 128 + threadIdx.x], 200);
    data[blockIdx.x * 128 + threadIdx.x] = x;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(list + 1, 1.0f);
        atomicAdd(list, x);
    }
}
