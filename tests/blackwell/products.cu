// One product of tensor memory each: shared memory and 512 columns come as images, all columns go
// back. `a` and `b` are descriptors relative to the dynamic shared memory (a: or an address).
struct Operands {
    unsigned long long a, b;
    unsigned descriptor, adds, d, scale_a, scale_b, masks[4], metadata;
};

__device__ unsigned place_of(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned begin(unsigned *slot, unsigned long long *barrier, uint4 *data,
                          const uint4 *image, int pieces, const unsigned *before) {
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 512;" ::"r"(place_of(slot)) : "memory");
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(place_of(barrier)) : "memory");
    for (int i = threadIdx.x; i < pieces; i += blockDim.x) data[i] = image[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    unsigned base = *slot, own = base + (threadIdx.x / 32 << 21);
    for (int c = 0; c < 512; c++)
        asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(own + c), "r"(before[threadIdx.x * 512 + c]));
    asm volatile("tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    return base;
}

__device__ void commit(unsigned long long *barrier) {
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(place_of(barrier)) : "memory");
}

__device__ void end(unsigned base, unsigned long long *barrier, unsigned *after) {
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @p bra D; bra W; D:}" ::"r"(place_of(barrier)) : "memory");
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    unsigned own = base + (threadIdx.x / 32 << 21);
    for (int c = 0; c < 512; c++) {
        unsigned v;
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(v) : "r"(own + c));
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        after[threadIdx.x * 512 + c] = v;
    }
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 512;" ::"r"(base));
}

#define KERNEL(NAME, ...)                                                                           \
    extern "C" __global__ void NAME(const uint4 *image, int pieces, Operands o,                     \
                                    const unsigned *before, unsigned *after) {                      \
        extern __shared__ __align__(1024) uint4 data[];                                             \
        __shared__ unsigned slot;                                                                   \
        __shared__ unsigned long long barrier;                                                      \
        unsigned base = begin(&slot, &barrier, data, image, pieces, before);                        \
        unsigned long long a = o.a + (place_of(data) >> 4), b = o.b + (place_of(data) >> 4);        \
        unsigned d = base + o.d, from = base + (unsigned)o.a;                                       \
        unsigned sa = base + o.scale_a, sb = base + o.scale_b;                                      \
        if (threadIdx.x == 0) {                                                                     \
            __VA_ARGS__;                                                                            \
            commit(&barrier);                                                                       \
        }                                                                                           \
        end(base, &barrier, after);                                                                 \
    }
#define COUNTS "{.reg .pred p; setp.ne.u32 p, %3, 0;\n tcgen05.mma"
#define GIVEN "l"(b), "r"(o.descriptor), "r"(o.adds), "r"(d)
#define SHARED(FORM) asm volatile(COUNTS FORM " [%4], %0, %1, %2, p;}" ::"l"(a), GIVEN : "memory")
#define MEMORY(FORM) asm volatile(COUNTS FORM " [%4], [%0], %1, %2, p;}" ::"r"(from), GIVEN : "memory")
#define SCALED(FORM) asm volatile(COUNTS FORM " [%4], %0, %1, %2, [%5], [%6], p;}" ::"l"(a), GIVEN, "r"(sa), "r"(sb) : "memory")
#define SPARSE(FORM) asm volatile(COUNTS ".sp" FORM " [%4], %0, %1, [%5], %2, p;}" ::"l"(a), GIVEN, "r"(base + o.metadata) : "memory")
#define SPARSE_WS(FORM) asm volatile(COUNTS ".ws.sp" FORM " [%4], %0, %1, [%5], %2, p;}" ::"l"(a), GIVEN, "r"(base + o.metadata) : "memory")
#define SPARSE_SCALED(FORM) asm volatile(COUNTS ".sp" FORM " [%4], %0, %1, [%7], %2, [%5], [%6], p;}" ::"l"(a), GIVEN, "r"(sa), "r"(sb), "r"(base + o.metadata) : "memory")

KERNEL(f16, SHARED(".cta_group::1.kind::f16"))
KERNEL(tf32, SHARED(".cta_group::1.kind::tf32"))
KERNEL(f8f6f4, SHARED(".cta_group::1.kind::f8f6f4"))
#ifdef OF_SM_100  // later chips lack them
KERNEL(i8, SHARED(".cta_group::1.kind::i8"))
KERNEL(f16_shifted, asm volatile(COUNTS ".cta_group::1.kind::f16 [%4], %0, %1, %2, p, 3;}" ::"l"(a), GIVEN : "memory"))
#endif
KERNEL(f16_memory, MEMORY(".cta_group::1.kind::f16"))
KERNEL(f16_ws, SHARED(".ws.cta_group::1.kind::f16"))
KERNEL(tf32_ws, SHARED(".ws.cta_group::1.kind::tf32"))
KERNEL(mxf8f6f4, SCALED(".cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X"))
KERNEL(mxf4, SCALED(".cta_group::1.kind::mxf4.block_scale.scale_vec::2X"))
KERNEL(mxf4nvf4, SCALED(".cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::2X"))
KERNEL(nvf4, SCALED(".cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X"))
KERNEL(f16_masked, asm volatile(COUNTS ".cta_group::1.kind::f16 [%4], %0, %1, %2, {%5, %6, %7, %8}, p;}" ::"l"(a), GIVEN, "r"(o.masks[0]), "r"(o.masks[1]), "r"(o.masks[2]), "r"(o.masks[3]) : "memory"))
KERNEL(sparse_f16, SPARSE(".cta_group::1.kind::f16"))
KERNEL(sparse_tf32, SPARSE(".cta_group::1.kind::tf32"))
KERNEL(sparse_f8f6f4, SPARSE(".cta_group::1.kind::f8f6f4"))
KERNEL(sparse_mxf8f6f4, SPARSE_SCALED(".cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X"))
KERNEL(sparse_mxf4, SPARSE_SCALED(".cta_group::1.kind::mxf4.block_scale.scale_vec::2X"))
KERNEL(sparse_nvf4, SPARSE_SCALED(".cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X"))
KERNEL(sparse_f16_ws, SPARSE_WS(".cta_group::1.kind::f16"))
KERNEL(sparse_tf32_ws, SPARSE_WS(".cta_group::1.kind::tf32"))
KERNEL(sparse_f8f6f4_ws, SPARSE_WS(".cta_group::1.kind::f8f6f4"))
KERNEL(sparse_f16_memory, asm volatile(COUNTS ".sp.cta_group::1.kind::f16 [%4], [%0], %1, [%5], %2, p;}" ::"r"(from), GIVEN, "r"(base + o.metadata) : "memory"))
#ifdef OF_SM_100
KERNEL(sparse_i8, SPARSE(".cta_group::1.kind::i8"))
#endif
KERNEL(shift, asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(d) : "memory"))
#define COPY(NAME, FORM) KERNEL(NAME, asm volatile("tcgen05.cp.cta_group::1." FORM " [%0], %1;" ::"r"(d), "l"(b) : "memory"))
COPY(copy_128x256b, "128x256b")
COPY(copy_4x256b, "4x256b")
COPY(copy_128x128b, "128x128b")
COPY(copy_64x128b_02_13, "64x128b.warpx2::02_13")
COPY(copy_64x128b_01_23, "64x128b.warpx2::01_23")
COPY(copy_32x128b, "32x128b.warpx4")
