// Features that are refused by name.
extern "C" __global__ void texture(cudaTextureObject_t t, float *o) { o[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }
extern "C" __global__ void surface(cudaSurfaceObject_t s, float *o) { surf1Dread(o, s, threadIdx.x * 4); }
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
struct alignas(64) Map { unsigned long long words[16]; };
extern "C" __global__ void copy_by_width(const __grid_constant__ Map map) {
    extern __shared__ __align__(1024) int data[];
    unsigned at = (unsigned)__cvta_generic_to_shared(data);
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %2, %2}], [%3], {%4, %4};" ::"r"(at), "l"(&map), "r"(0), "r"(at + 4096), "h"((unsigned short)0) : "memory");
}
#endif
