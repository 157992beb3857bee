// Tensor memory used wrongly, each kernel in one way.
__device__ unsigned place_of(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned take(unsigned *slot) {
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(place_of(slot)) : "memory");
    __syncthreads();
    return *slot;
}
__device__ void give(unsigned base) {
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(base));
}
__device__ unsigned load(unsigned at) {
    unsigned v;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1]; tcgen05.wait::ld.sync.aligned;" : "=r"(v) : "r"(at) : "memory");
    return v;
}
__device__ void multiply(unsigned base, unsigned long long a, unsigned long long b, unsigned descriptor) {
    asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, 0;" ::"r"(base), "l"(a), "l"(b), "r"(descriptor) : "memory");
}
__device__ void commit(unsigned long long *barrier) {
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(place_of(barrier)) : "memory");
}
__device__ void wait(unsigned long long *barrier) {
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @p bra D; bra W; D:}" ::"r"(place_of(barrier)) : "memory");
}
// 16 x 128 rows from shared address 2048 on, within `data`; a version of sm_100
#define MATRIX (128ull | 8ull << 16 | 16ull << 32 | 1ull << 46)
#define SHAPE (1u << 4 | 8u << 24 | 2u << 17)
#define KERNEL(NAME)                                                                                \
    __device__ void NAME##_(unsigned *out, unsigned base, unsigned long long *barrier);            \
    extern "C" __global__ void NAME(unsigned *out) {                                                \
        __shared__ unsigned slot;                                                                   \
        __shared__ volatile unsigned data[2048];                                                    \
        __shared__ unsigned long long barrier;                                                      \
        for (int i = threadIdx.x; i < 2048; i += blockDim.x) data[i] = 0;                           \
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                \
        if (threadIdx.x == 0)                                                                       \
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(place_of(&barrier)) : "memory"); \
        unsigned base = take(&slot);                                                                \
        NAME##_(out, base, &barrier);                                                               \
    }                                                                                               \
    __device__ void NAME##_(unsigned *out, unsigned base, unsigned long long *barrier)
#define OWN (base + (threadIdx.x / 32 << 21))

KERNEL(right) {
    if (threadIdx.x == 0) multiply(base, MATRIX, MATRIX, SHAPE), commit(barrier);
    wait(barrier);
    out[threadIdx.x] = load(OWN);
    give(base);
}
KERNEL(not_freed) { out[threadIdx.x] = load(OWN); }
KERNEL(not_allocated) { out[threadIdx.x] = load(OWN + 64); give(base); }
KERNEL(freed_before) { give(base); __syncthreads(); out[threadIdx.x] = load(OWN); }
KERNEL(freed_twice) { give(base); give(base); }
KERNEL(lanes_of_others) { out[threadIdx.x] = load(base + (3 - threadIdx.x / 32 << 21)); give(base); }
KERNEL(part_of_a_warp) { if (threadIdx.x % 2) out[threadIdx.x] = load(OWN); give(base); }
KERNEL(not_committed) {
    if (threadIdx.x == 0) multiply(base, MATRIX, MATRIX, SHAPE);
    __syncthreads();
    out[threadIdx.x] = load(OWN);
    give(base);
}
KERNEL(not_awaited) {
    if (threadIdx.x == 0) multiply(base, MATRIX, MATRIX, SHAPE), commit(barrier);
    __syncthreads();
    out[threadIdx.x] = load(OWN);
    give(base);
}
KERNEL(outside_of_shared) {
    if (threadIdx.x == 0) multiply(base, MATRIX, MATRIX | 0x3f00, SHAPE), commit(barrier);
    wait(barrier);
    give(base);
}
KERNEL(of_hopper) {
    if (threadIdx.x == 0) multiply(base, MATRIX & ~(3ull << 46), MATRIX, SHAPE), commit(barrier);
    wait(barrier);
    give(base);
}
KERNEL(no_such_type) {
    if (threadIdx.x == 0) multiply(base, MATRIX, MATRIX, SHAPE | 3 << 7), commit(barrier);
    wait(barrier);
    give(base);
}
KERNEL(no_such_shape) {
    if (threadIdx.x == 0) multiply(base, MATRIX, MATRIX, SHAPE & ~(31u << 24) | 3u << 24), commit(barrier);
    wait(barrier);
    give(base);
}
KERNEL(sparse) {
    if (threadIdx.x == 0) multiply(base, MATRIX, MATRIX, SHAPE | 6), commit(barrier);
    wait(barrier);
    give(base);
}
KERNEL(from_lane_16) {
    if (threadIdx.x == 0) multiply(base + (16 << 16), MATRIX, MATRIX, SHAPE), commit(barrier);
    wait(barrier);
    give(base);
}
