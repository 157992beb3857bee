// Rounds of loads from memory that no cache holds, and arrivals at barriers of asynchronous copies.
typedef unsigned u32;
typedef unsigned long long u64;
__device__ __forceinline__ u32 clk() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

// rounds of loads from A arrays, each thread one word a round, the whole grid in step through
// memory
template <int A>
__device__ void rounds(u32* out, const u32* a, const u32* b, u32 n, u32 total) {
    u32 t0 = clk();
    u32 s = 0;
    u32 step = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
        u32 x = a[i];
        if (A > 1) x ^= b[i];
        s += x;
        i += x >> 31;
    }
    u32 t1 = clk();
    __syncthreads();
    u32 t2 = clk();
    if (threadIdx.x == 0) {
        out[3 * blockIdx.x] = t1 - t0;
        out[3 * blockIdx.x + 1] = t2 - t0;
        out[3 * blockIdx.x + 2] = s;
    } else if (s == 12345)
        out[0] = s;
}
extern "C" __global__ void rounds1(u32* out, const u32* a, const u32* b, u32 n, u32 total) {
    rounds<1>(out, a, b, n, total);
}
extern "C" __global__ void rounds2(u32* out, const u32* a, const u32* b, u32 n, u32 total) {
    rounds<2>(out, a, b, n, total);
}

// arrivals at an mbarrier, all lanes or one, and looks that find their phase over
template <int K>
__device__ void arrive(u32* out, u32 n) {
    __shared__ u64 bar[4];
    u32 b = (u32)__cvta_generic_to_shared(bar);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(b), "r"(1 << 19) : "memory");
    __syncthreads();
    u32 t0 = clk();
    u32 p = 0;
    for (u32 i = 0; i < n; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (K == 0)
                asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s,[%0];}" ::"r"(b)
                             : "memory");
            if (K == 1 && (threadIdx.x & 31) == 0)
                asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s,[%0];}" ::"r"(b)
                             : "memory");
            if (K == 2)
                asm volatile(
                    "{.reg .pred q; mbarrier.test_wait.parity.shared.b64 q,[%1],1; selp.u32 "
                    "%0,1,0,q;}"
                    : "+r"(p)
                    : "r"(b)
                    : "memory");
            if (K == 3)
                asm volatile(
                    "{.reg .pred q; mbarrier.try_wait.parity.shared.b64 q,[%1],1; selp.u32 "
                    "%0,1,0,q;}"
                    : "+r"(p)
                    : "r"(b)
                    : "memory");
            if (K == 4)
                asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(b) : "memory");
        }
    }
    u32 t1 = clk();
    __syncthreads();
    u32 t2 = clk();
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = t2 - t0;
        out[2 * blockIdx.x + 1] = t1 - t0 + (p & 0);
    }
}
#define A(K)                                                 \
    extern "C" __global__ void arrive_##K(u32* out, u32 n) { \
        arrive<K>(out, n);                                   \
    }
A(0) A(1) A(2) A(3) A(4)
