// Barriers and waiting: named barriers, flags between blocks, grid barriers, printf and assert.

#include <assert.h>

extern "C" __global__ void named_barriers(int* out) {
    __shared__ int s[128];
    int t = threadIdx.x, half = t / 64;
    for (int round = 0; round < 3; ++round) {
        s[t] = t + 100 * round;
        asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
        int v = s[half * 64 + (t + 13) % 64];
        asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
        out[round * 128 + t] = v;
    }
}

// One warp produces, another consumes; each only arrives where it need not wait.
extern "C" __global__ void producer_consumer(const int* in, int* out, int rounds) {
    __shared__ int buffer[32];
    int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        for (int r = 0; r < rounds; ++r) {
            asm volatile("bar.sync 2, 64;" ::: "memory");
            buffer[lane] = in[r * 32 + lane] * 3;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        }
    } else {
        asm volatile("bar.arrive 2, 64;" ::: "memory");
        for (int r = 0; r < rounds; ++r) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[r * 32 + lane] = buffer[31 - lane] + r;
            if (r + 1 < rounds) asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
}

extern "C" __global__ void barrier_reductions(const int* in, unsigned* out) {
    int t = threadIdx.x, p = in[t] > 3;
    unsigned count;
    asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; bar.red.popc.u32 %0, 3, q; }"
                 : "=r"(count) : "r"(p) : "memory");
    out[t] = count;
}

// Threads that have returned do not count at a barrier.
extern "C" __global__ void barrier_after_exit(int* out) {
    __shared__ int s[96];
    int t = threadIdx.x;
    if (t >= 64) return;
    s[t] = t * 2;
    __syncthreads();
    out[t] = s[63 - t];
}

// Block b waits for block b + 1 of a resident grid: index order alone would never end.
extern "C" __global__ void flag_chain(volatile int* flag, int* out) {
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        if (b + 1 < gridDim.x)
            while (flag[b + 1] == 0) {}
        __threadfence();
        out[b] = b + 1 < gridDim.x ? out[b + 1] + b : b;
        __threadfence();
        flag[b] = 1;
    }
}

// A barrier over the whole grid by counting arrivals; all blocks must be resident.
extern "C" __global__ void grid_barrier(unsigned* arrived, volatile int* a, volatile int* b,
                                        int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (int r = 0; r < rounds; ++r) {
        b[i] = a[(i + 1) % n] + a[(i + n - 1) % n] + 1;
        volatile int* t = a;
        a = b;
        b = t;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(arrived, 1u);
            while (*(volatile unsigned*)arrived < (r + 1) * gridDim.x) {}
            __threadfence();
        }
        __syncthreads();
    }
}

extern "C" __global__ void acquire_release(int* data, int* flag, int* out) {
    int seen;
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x + 7;
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("st.release.gpu.b32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
        return;
    }
    do {
        asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    } while (!seen);
    out[(blockIdx.x - 1) * blockDim.x + threadIdx.x] = data[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void nanosleep_backoff(int* lock, int* value) {
    if (threadIdx.x % 32) return;
    unsigned wait = 8;
    while (atomicCAS(lock, 0, 1)) {
        __nanosleep(wait);
        if (wait < 256) wait *= 2;
    }
    __threadfence();  // what the lock's last owner wrote is seen from here on
    *(volatile int*)value += 1;
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void clocks(long long* out) {
    long long start = clock64();
    unsigned short_start = clock();
    int sum = 0;
    for (int i = 0; i < threadIdx.x; ++i) sum += i * i;
    out[threadIdx.x] = clock64() >= start && (unsigned)clock() - short_start < 1u << 30 ? sum : -1;
}

extern "C" __global__ void print_lines(const double* value) {
    int t = threadIdx.x;
    if (t % 16 == 3)
        printf("thread %d of %s: %5.2f %c %x %lld%%\n", t, "block", value[t], 'a' + t, 255 + t,
               1234567890123ll * t);
}

extern "C" __global__ void assert_holds(const int* in, int* out) {
    assert(in[threadIdx.x] >= 0);
    out[threadIdx.x] = in[threadIdx.x] + 1;
}
