// What kernels of tcgen05 are made of. GROUP: the blocks of a product, 1 or 2.
#pragma once
#include "../bugged.cuh"
#define DO(NAME, ...) __device__ __forceinline__ void NAME() { asm volatile(__VA_ARGS__ ::: "memory"); }
DO(before, "tcgen05.fence::before_thread_sync;")
DO(after, "tcgen05.fence::after_thread_sync;")
DO(stored, "tcgen05.wait::st.sync.aligned;")
DO(proxy, "fence.proxy.async.shared::cta;")
__device__ __forceinline__ void meet() { before(), __syncthreads(), after(); }
#define T threadIdx.x
#define W (threadIdx.x / 32)
#ifdef OF_PAIRS
#define GROUP "2"
#define SHAPE (1u << 4 | 16u << 24 | 4u << 17)  // 256 x 32, halves to singles
#else
#define GROUP "1"
#define SHAPE (1u << 4 | 8u << 24 | 2u << 17)  // 128 x 16
#endif

__device__ unsigned place_of(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
// rows of 16 bytes, eight of them together; the second half of k `leading` bytes further
__device__ unsigned long long matrix(const void *s, int leading) {
    return place_of(s) >> 4 & 0x3FFF | (unsigned long long)(leading >> 4) << 16 | 8ull << 32 | 1ull << 46;
}
__device__ unsigned load(unsigned at) {
    unsigned v;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1]; tcgen05.wait::ld.sync.aligned;" : "=r"(v) : "r"(at) : "memory");
    return v;
}
__device__ void store(unsigned at, unsigned v) {
    asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1,%1,%1,%1,%1,%1,%1,%1};" ::"r"(at), "r"(v) : "memory");
}
__device__ void multiply(unsigned d, unsigned long long a, unsigned long long b, bool adds = false) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0;\n tcgen05.mma.cta_group::" GROUP ".kind::f16 [%0], %1, %2, %3, p;}" ::"r"(d), "l"(a), "l"(b), "r"(SHAPE), "r"((int)adds) : "memory");
}
__device__ void multiply_from(unsigned d, unsigned a, unsigned long long b) {
    asm volatile("tcgen05.mma.cta_group::" GROUP ".kind::f16 [%0], [%1], %2, %3, 0;" ::"r"(d), "r"(a), "l"(b), "r"(SHAPE) : "memory");
}
__device__ void copy(unsigned d, unsigned long long from) {
    asm volatile("tcgen05.cp.cta_group::" GROUP ".128x128b [%0], %1;" ::"r"(d), "l"(from) : "memory");
}
__device__ void commit(unsigned long long *barrier) {
#ifdef OF_PAIRS
    asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(place_of(barrier)), "h"((short)3) : "memory");
#else
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(place_of(barrier)) : "memory");
#endif
}
__device__ void wait(unsigned long long *barrier, int phase = 0) {
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra D; bra W; D:}" ::"r"(place_of(barrier)), "r"(phase) : "memory");
    after();
}
__device__ void begin(unsigned long long *barrier, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(place_of(barrier)), "r"(count) : "memory");
}
__device__ void arrive(unsigned long long *barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(place_of(barrier)) : "memory");
}
__device__ void take(unsigned *slot) {
    asm volatile("tcgen05.alloc.cta_group::" GROUP ".sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(place_of(slot)) : "memory");
}
__device__ void give(unsigned base) {
    asm volatile("tcgen05.dealloc.cta_group::" GROUP ".sync.aligned.b32 %0, 64;" ::"r"(base));
}
#define A matrix(a, 2048)
#define B matrix(b, 256)
