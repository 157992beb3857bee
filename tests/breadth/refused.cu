// Features that are refused by name.
extern "C" __global__ void texture(cudaTextureObject_t t, float *o) { o[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }
extern "C" __global__ void surface(cudaSurfaceObject_t s, float *o) { surf1Dread(o, s, threadIdx.x * 4); }
#if __CUDA_ARCH__ >= 900
struct alignas(64) Map { char bytes[128]; };
extern "C" __global__ void tensor_map(const __grid_constant__ Map map, int *o) {
    __shared__ alignas(128) int s[64];
    __shared__ unsigned long long bar;
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1,{%2}],[%3];"
                 ::"r"((unsigned)__cvta_generic_to_shared(s)), "l"(&map), "r"(0), "r"((unsigned)__cvta_generic_to_shared(&bar)) : "memory");
    o[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(int *o) { o[threadIdx.x] = 1; }
#endif
