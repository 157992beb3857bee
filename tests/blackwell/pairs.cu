// Products of two blocks: each brings its rows of A, half of B's columns, and has its rows of D.
__device__ unsigned place_of(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

#define KERNEL(NAME, ...)                                                                           \
    extern "C" __global__ void __cluster_dims__(2, 1, 1)                                            \
        NAME(const uint4 *images, int pieces, unsigned long long a, unsigned long long b,           \
             unsigned descriptor, const unsigned *before, unsigned *after, unsigned scales) {       \
        extern __shared__ __align__(1024) uint4 data[];                                             \
        __shared__ unsigned slot;                                                                   \
        __shared__ unsigned long long barrier;                                                      \
        const uint4 *image = images + blockIdx.x * pieces;                                          \
        before += blockIdx.x * 128 * 512, after += blockIdx.x * 128 * 512;                          \
        if (threadIdx.x < 32)                                                                       \
            asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 512;" ::"r"(place_of(&slot)) : "memory"); \
        if (threadIdx.x == 0)                                                                       \
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(place_of(&barrier)) : "memory"); \
        for (int i = threadIdx.x; i < pieces; i += blockDim.x) data[i] = image[i];                  \
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                \
        __syncthreads();                                                                            \
        unsigned base = slot, own = base + (threadIdx.x / 32 << 21);                                \
        for (int c = 0; c < 512; c++)                                                               \
            asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(own + c), "r"(before[threadIdx.x * 512 + c])); \
        asm volatile("tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync;" ::: "memory"); \
        asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); \
        asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");                             \
        if (threadIdx.x == 0 && blockIdx.x % 2 == 0) {                                              \
            unsigned long long off = place_of(data) >> 4 & 0x3FFF;                                  \
            a += off, b += off;                                                                     \
            unsigned sa = base + scales, sb = sa + 4;                                               \
            __VA_ARGS__;                                                                            \
            asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(place_of(&barrier)), "h"((short)3) : "memory"); \
        }                                                                                           \
        asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @p bra D; bra W; D:}" ::"r"(place_of(&barrier)) : "memory"); \
        asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");                             \
        for (int c = 0; c < 512; c++) {                                                             \
            unsigned v;                                                                             \
            asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(v) : "r"(own + c)); \
            asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");                            \
            after[threadIdx.x * 512 + c] = v;                                                       \
        }                                                                                           \
        asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); \
        if (threadIdx.x < 32)                                                                       \
            asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 512;" ::"r"(base));     \
    }

KERNEL(f16, asm volatile("tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, 0;" ::"r"(base), "l"(a), "l"(b), "r"(descriptor) : "memory"))
KERNEL(mxf8f6f4, asm volatile("tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale.scale_vec::1X [%0], %1, %2, %3, [%4], [%5], 0;" ::"r"(base), "l"(a), "l"(b), "r"(descriptor), "r"(sa), "r"(sb) : "memory"))
KERNEL(copied, asm volatile("tcgen05.cp.cta_group::2.32x128b.warpx4 [%0], %1;" ::"r"(base), "l"(a) : "memory"))
