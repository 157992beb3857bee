// Features that are refused by name.
extern "C" __global__ void texture(cudaTextureObject_t t, float *o) { o[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }
extern "C" __global__ void surface(cudaSurfaceObject_t s, float *o) { surf1Dread(o, s, threadIdx.x * 4); }
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
extern "C" __global__ void tensor_memory(unsigned *o) {
    __shared__ unsigned base;
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0],32;" ::"r"((unsigned)__cvta_generic_to_shared(&base)) : "memory");
    unsigned v;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0},[%1];" : "=r"(v) : "r"(base));
    asm volatile("tcgen05.wait::ld.sync.aligned; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0,32;" ::"r"(base));
    o[threadIdx.x] = v;
}
extern "C" __global__ void tensor_multiply(unsigned long long a, unsigned long long b, unsigned d) {
    asm volatile("{.reg .pred p; setp.eq.u32 p,%0,%0; tcgen05.mma.cta_group::1.kind::f16 [%0],%1,%2,%3,p;}" ::"r"(d), "l"(a), "l"(b), "r"(0x8000490) : "memory");
}
#endif
