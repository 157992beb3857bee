// Cells of tensor memory that are read: with BUGGED nobody has written them since the allocation.
#include "misuse.cu"
#include "../bugged.cuh"
__device__ void store(unsigned at) {
    asm volatile("tcgen05.st.sync.aligned.32x32b.x16.b32 [%0], {%1,%1,%1,%1,%1,%1,%1,%1,%1,%1,%1,%1,%1,%1,%1,%1}; tcgen05.wait::st.sync.aligned;" ::"r"(at), "r"(0) : "memory");
}
__device__ void add(unsigned base, unsigned descriptor) {
    asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, 1;" ::"r"(base), "l"(MATRIX), "l"(MATRIX), "r"(descriptor) : "memory");
}
__device__ void multiply_from(unsigned d, unsigned a) {
    asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, 0;" ::"r"(d), "r"(a), "l"(MATRIX), "r"(SHAPE) : "memory");
}
KERNEL(loaded) {
    FIX(store(OWN);)
    out[threadIdx.x] = load(OWN + 3);
    give(base);
}
KERNEL(added_to) {
    FIX(store(OWN);)
    __syncthreads();
    if (threadIdx.x == 0) add(base, SHAPE), commit(barrier);
    wait(barrier);
    out[threadIdx.x] = load(OWN);
    give(base);
}
KERNEL(operand) {
    FIX(store(OWN + 32);)
    __syncthreads();
    if (threadIdx.x == 0) multiply_from(base, base + 32), commit(barrier);
    wait(barrier);
    out[threadIdx.x] = load(OWN);
    give(base);
}
KERNEL(beside_the_product) {
    if (threadIdx.x == 0) multiply(base, MATRIX, MATRIX, SHAPE), commit(barrier);
    wait(barrier);
    FIX(store(OWN + 16);)
    out[threadIdx.x] = load(OWN + 16);
    give(base);
}
KERNEL(taken_again) {
    store(OWN);
    give(base);
    __shared__ unsigned again;
    base = take(&again);
    FIX(store(OWN);)
    out[threadIdx.x] = load(OWN);
    give(base);
}
