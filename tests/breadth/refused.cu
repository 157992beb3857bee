// Features that are refused by name.
extern "C" __global__ void texture(cudaTextureObject_t t, float *o) { o[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }
extern "C" __global__ void surface(cudaSurfaceObject_t s, float *o) { surf1Dread(o, s, threadIdx.x * 4); }
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
extern "C" __global__ void tensor_shift(unsigned d) {
    asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(d) : "memory");
}
#endif
