// Instructions that other kernels do not have: jumps by a table, constants by a uniform index,
// votes without a register, timed waits, copies of which the end is zeros.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;

#define KERNEL extern "C" __global__ void

KERNEL jumps(const int *a, int *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i];
    switch (blockIdx.x) {
        case 0: x += 3; break;
        case 1: x *= a[5]; break;
        case 2: x ^= a[7]; break;
        case 3: x = __popc(x) * x; break;
        case 4: x = a[x & 31]; break;
        case 5: x = x / (a[9] | 1); break;
        case 6: x -= a[11] % (x | 1); break;
        case 7: x = atomicAdd(o + 500, x) + x; break;
        case 8: x = __brev(x); break;
        case 9: x = x << (a[3] & 31); break;
    }
    o[i] = x;
}

__constant__ float filter[16] = {1, -2, 3, 0.5f, 4, 8, -16, 5, 6, 7, 9, 10, 0.25f, 11, 12, 13};
KERNEL filtered(const float *a, float *o, int n) {
    __shared__ float s[128];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < n; k++) sum += s[(threadIdx.x + k) & 127] * filter[k];
    o[threadIdx.x] = sum;
}
struct Mixed { unsigned char small; signed char sign; unsigned short half; bool flag; };
KERNEL bytes(int *o, Mixed m, unsigned char k) {
    if (m.flag) o[blockIdx.x * 32 + threadIdx.x] = m.small * k + m.half + m.sign;
    else o[blockIdx.x * 32 + threadIdx.x] = threadIdx.x / (k | 1);
}
KERNEL decided(const int *a, int *o) {
    int i = blockIdx.x * 32 + threadIdx.x, x = a[i];
    if (__any_sync(~0u, x == 5)) x += 100;
    if (__any_sync(~0u, x > 1040)) x *= 3;
    o[i] = x;
}
KERNEL block_decides(const int *a, int *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i];
    int all = __syncthreads_and(!(x == 7)), any = __syncthreads_or(x == 9);
    int none = __syncthreads_and(x < 990), count = __syncthreads_count(x & 1);
    o[i] = all + 2 * any + 4 * none + 8 * count;
}
KERNEL slept(const int *a, int *o) {
    unsigned t = threadIdx.x;
    long long before, after;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before) :: "memory");
    __nanosleep(a[t] & 63);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after) :: "memory");
    o[t] = (after >= before) + 2 * (after - before < 1000000000);
}
#if __CUDA_ARCH__ >= 800
KERNEL partial_copies(const int4 *a, int4 *o) {
    __shared__ int4 s[16][32];
    int t = threadIdx.x;
#pragma unroll
    for (int n = 0; n < 16; n++) __pipeline_memcpy_async(&s[n][t], a + n * 32 + t, 16, n);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int n = 0; n < 16; n++) o[n * 32 + t] = s[n][31 - t];
}
KERNEL asked_copies(const int4 *a, int4 *o, int n) {
    __shared__ int4 s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], a + threadIdx.x, 16, n);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    o[threadIdx.x] = s[63 - threadIdx.x];
}
KERNEL pairs_in_turn(const double *a, double *o, int tiles) {
    __shared__ double buffer[4][128];
    auto pipe = cuda::make_pipeline();
    for (int tile = 0; tile < tiles + 3; tile++) {
        pipe.producer_acquire();
        if (tile < tiles) cuda::memcpy_async(&buffer[tile % 4][threadIdx.x], a + tile * 128 + threadIdx.x, 8, pipe);
        pipe.producer_commit();
        if (tile >= 3) {
            cuda::pipeline_consumer_wait_prior<3>(pipe);
            __syncthreads();
            o[(tile - 3) * 128 + threadIdx.x] = buffer[(tile - 3) % 4][127 - threadIdx.x];
            __syncthreads();
            pipe.consumer_release();
        }
    }
}
#endif

#if __CUDA_ARCH__ >= 900
using barrier = cuda::barrier<cuda::thread_scope_block>;
KERNEL timed_waits(const int *a, int *o) {
    __shared__ barrier bar;
    __shared__ int s[128];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int x = a[threadIdx.x];
    for (int round = 0; round < 6; round++) {
        s[threadIdx.x] = x;
        auto token = bar.arrive();
        while (!bar.try_wait_for(std::move(token), cuda::std::chrono::nanoseconds(200))) {}
        x += s[(threadIdx.x + 1) & 127];
        __syncthreads();
    }
    o[threadIdx.x] = x;
}
KERNEL left_early(const int *a, int *o) {
    __shared__ barrier bar;
    __shared__ int s[128];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int x = a[threadIdx.x];
    for (int round = 0; round < 6; round++) {
        s[threadIdx.x] = x;
        if (threadIdx.x == 7 && round == 3) { bar.arrive_and_drop(); break; }
        bar.arrive_and_wait();
        x += s[threadIdx.x ^ 1];
        bar.arrive_and_wait();
    }
    o[threadIdx.x] = x;
}
KERNEL roles(const int2 *a, int2 *o, int tiles) {
    __shared__ int2 buffer[4][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 4> state;
    auto block = cg::this_thread_block();
    auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    int2 sum = {0, 0};
    for (int tile = 0; tile < tiles; tile++) {
        if (threadIdx.x < 32) {
            pipe.producer_acquire();
            for (int k = threadIdx.x; k < 128; k += 32)
                cuda::memcpy_async(&buffer[tile % 4][k], a + tile * 128 + k, cuda::aligned_size_t<8>(8), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            int2 v = buffer[tile % 4][(threadIdx.x * 5) & 127];
            sum.x += v.x;
            sum.y ^= v.y;
            pipe.consumer_release();
        }
    }
    o[threadIdx.x] = sum;
}
KERNEL dropped_alone(int *o) {
    __shared__ unsigned long long bar;
    unsigned b = (unsigned)__cvta_generic_to_shared(&bar), done;
    unsigned long long state;
    asm volatile("mbarrier.init.shared.b64 [%0],3;" ::"r"(b) : "memory");
    asm volatile("mbarrier.arrive.shared.b64 %0,[%1];" : "=l"(state) : "r"(b) : "memory");
    asm volatile("mbarrier.arrive_drop.shared.b64 _,[%0];" ::"r"(b) : "memory");
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(b), "l"(state) : "memory");
    o[0] = done;
    asm volatile("mbarrier.arrive.shared.b64 _,[%0];" ::"r"(b) : "memory");
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(b), "l"(state) : "memory");
    o[1] = done;
    asm volatile("mbarrier.arrive.shared.b64 %0,[%1],2;" : "=l"(state) : "r"(b) : "memory");
    asm volatile("{.reg .pred p; mbarrier.try_wait.shared.b64 p,[%1],%2,2000; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(b), "l"(state) : "memory");
    o[2] = done;
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(b) : "memory");
}
#endif
KERNEL trapped(int *o) {
    o[threadIdx.x] = 1;
    if (threadIdx.x == 70) __trap();
}
