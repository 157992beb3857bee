// Features that are refused by name.
extern "C" __global__ void texture(cudaTextureObject_t t, float *o) { o[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }
extern "C" __global__ void surface(cudaSurfaceObject_t s, float *o) { surf1Dread(o, s, threadIdx.x * 4); }
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
extern "C" __global__ void bulk_fill() {
    extern __shared__ int data[];
    asm volatile("st.bulk.weak.shared::cta [%0], 64, 0;" ::"l"((unsigned long long)__cvta_generic_to_shared(data)) : "memory");
}
#endif
