// Asynchronous copies: cp.async, pipelines, barriers of libcu++.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

#define KERNEL extern "C" __global__ void

#if __CUDA_ARCH__ >= 800
template <int BYTES>
__device__ void copied(const char *a, char *o) {
    __shared__ __align__(16) char s[128 * BYTES];
    unsigned where = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * BYTES);
    int take = threadIdx.x % (BYTES + 1);
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(where), "l"(a + threadIdx.x * BYTES), "r"(take) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0],[%1],%2,%3;" ::"r"(where), "l"(a + threadIdx.x * BYTES), "n"(BYTES), "r"(take) : "memory");
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    for (int i = 0; i < BYTES; i++) o[threadIdx.x * BYTES + i] = s[threadIdx.x * BYTES + i];
}
KERNEL zfill_4(const char *a, char *o) { copied<4>(a, o); }
KERNEL zfill_8(const char *a, char *o) { copied<8>(a, o); }
KERNEL zfill_16(const char *a, char *o) { copied<16>(a, o); }
KERNEL arrive_on_barrier(const int *a, int *o) {
    __shared__ int s[64];
    __shared__ unsigned long long bar;
    unsigned b = (unsigned)__cvta_generic_to_shared(&bar);
    unsigned where = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(b), "r"(64) : "memory");
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0],[%1],4;" ::"r"(where), "l"(a + threadIdx.x) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(b) : "memory");
    unsigned done = 0;
    while (!done)
        asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}"
                     : "=r"(done) : "r"(b), "r"(0) : "memory");
    o[threadIdx.x] = s[63 - threadIdx.x];
}
#endif

KERNEL staged(const float *a, float *o, int tiles) {
    __shared__ float s[2][64];
    __pipeline_memcpy_async(&s[0][threadIdx.x], a + threadIdx.x, 4);
    __pipeline_commit();
    float sum = 0;
    for (int t = 0; t < tiles; t++) {
        if (t + 1 < tiles) __pipeline_memcpy_async(&s[(t + 1) & 1][threadIdx.x], a + (t + 1) * 64 + threadIdx.x, 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[t & 1][63 - threadIdx.x];
        __syncthreads();
    }
    o[threadIdx.x] = sum;
}
KERNEL pipelined(const int *a, int *o, int tiles) {
    constexpr int stages = 2;
    __shared__ int s[stages][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int fetch = 0, t = 0; t < tiles; t++) {
        for (; fetch < tiles && fetch < t + stages; fetch++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[fetch % stages], a + fetch * 128, sizeof(int) * 128, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += s[t % stages][127 - threadIdx.x];
        pipe.consumer_release();
    }
    o[threadIdx.x] = sum;
}
KERNEL pipelined_thread(const int4 *a, int4 *o) {
    __shared__ int4 s[32];
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(s + threadIdx.x, a + threadIdx.x, cuda::aligned_size_t<16>(16), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    o[threadIdx.x] = s[threadIdx.x];
    pipe.consumer_release();
}
using barrier = cuda::barrier<cuda::thread_scope_block>;
KERNEL barrier_wait(const int *a, int *o) {
    __shared__ int s[96];
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int v = a[threadIdx.x];
    for (int i = 0; i < 3; i++) {
        s[threadIdx.x] = v;
        bar.arrive_and_wait();
        v += s[(threadIdx.x + 33) % 96];
        auto token = bar.arrive();
        bar.wait(std::move(token));
    }
    o[threadIdx.x] = v;
}
KERNEL barrier_drop(const int *a, int *o) {
    __shared__ int sum;
    __shared__ barrier bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); sum = 0; }
    __syncthreads();
    atomicAdd(&sum, a[threadIdx.x]);
    if (threadIdx.x >= 40) { bar.arrive_and_drop(); return; }
    bar.arrive_and_wait();
    int first = sum;
    bar.arrive_and_wait();
    o[threadIdx.x] = first;
}
KERNEL producer_consumer(const int *a, int *o, int n) {
    __shared__ int buffer[2][32];
    __shared__ barrier full[2], empty[2];
    if (threadIdx.x < 2) { init(full + threadIdx.x, 64); init(empty + threadIdx.x, 64); }
    __syncthreads();
    int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        for (int i = 0; i < n; i++) {
            empty[i & 1].arrive_and_wait();
            buffer[i & 1][lane] = a[i * 32 + lane];
            (void)full[i & 1].arrive();
        }
    } else {
        (void)empty[0].arrive(); (void)empty[1].arrive();
        for (int i = 0; i < n; i++) {
            full[i & 1].arrive_and_wait();
            o[i * 32 + lane] = buffer[i & 1][31 - lane];
            (void)empty[i & 1].arrive();
        }
    }
}
KERNEL barrier_memcpy(const int *a, int *o) {
    __shared__ alignas(16) int s[256];
    __shared__ barrier bar;
    auto block = cooperative_groups::this_thread_block();
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(block, s, a, cuda::aligned_size_t<16>(sizeof(s)), bar);
    bar.arrive_and_wait();
    o[threadIdx.x] = s[255 - threadIdx.x] + s[threadIdx.x];
}
KERNEL raw_mbarrier(int *o) {
#if __CUDA_ARCH__ >= 800
    __shared__ unsigned long long bar;
    unsigned b = (unsigned)__cvta_generic_to_shared(&bar);
    unsigned long long state; unsigned pending, done;
    asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(b), "r"(5) : "memory");
    asm volatile("mbarrier.arrive.shared.b64 %0,[%1];" : "=l"(state) : "r"(b) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0,%1;" : "=r"(pending) : "l"(state));
    o[0] = pending;
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0,[%1],3;" : "=l"(state) : "r"(b) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0,%1;" : "=r"(pending) : "l"(state));
    o[1] = pending;
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(b), "l"(state) : "memory");
    o[2] = done;
    asm volatile("mbarrier.arrive.shared.b64 %0,[%1];" : "=l"(state) : "r"(b) : "memory");
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}" : "=r"(done) : "r"(b), "l"(state) : "memory");
    o[3] = done;
    asm volatile("mbarrier.arrive.shared.b64 %0,[%1];" : "=l"(state) : "r"(b) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0,%1;" : "=r"(pending) : "l"(state));
    o[4] = pending;
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(b) : "memory");
#endif
}
