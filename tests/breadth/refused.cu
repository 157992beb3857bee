// Features that are refused by name.
extern "C" __global__ void texture(cudaTextureObject_t t, float *o) { o[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }
extern "C" __global__ void surface(cudaSurfaceObject_t s, float *o) { surf1Dread(o, s, threadIdx.x * 4); }
#if __CUDA_ARCH__ >= 800
extern "C" __global__ void sparse(const unsigned *a, float *o) {
    float d[4] = {0, 0, 0, 0};
    asm volatile("mma.sp" ORDERED ".sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6,%7},{%0,%1,%2,%3},%8,0x0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]));
    o[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
#endif
#if __CUDA_ARCH__ >= 900
struct alignas(64) Map { char bytes[128]; };
extern "C" __global__ void tensor_map(const __grid_constant__ Map map, int *o) {
    __shared__ alignas(128) int s[64];
    __shared__ unsigned long long bar;
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0],[%1,{%2,%2,%2}],[%3],{%4};"
                 ::"r"((unsigned)__cvta_generic_to_shared(s)), "l"(&map), "r"(0), "r"((unsigned)__cvta_generic_to_shared(&bar)), "h"((short)0) : "memory");
    o[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void packed_minimum(unsigned *p) {
    asm volatile("red.global.min.noftz.v2.f16x2 [%0],{%1,%2};" ::"l"(p), "r"(1), "r"(2) : "memory");
}
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
extern "C" __global__ void warpgroup(float *o, unsigned long long a, unsigned long long b) {
    float d[4] = {0, 0, 0, 0};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0,%1,%2,%3},%4,%5,%6,0,1,1,1,0,0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(0));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    o[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
#endif
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
