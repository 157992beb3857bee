// Asynchronous copies: a cp.async pipeline, and bulk copies with an mbarrier from sm_90 on.
#include <cuda_pipeline.h>

__global__ void pipeline(float4* out, const float4* in, int n) {
    __shared__ float4 stage[2][64];
    for (int k = 0; k < n; k++) {
        __pipeline_memcpy_async(&stage[k & 1][threadIdx.x], in + k * 64 + threadIdx.x, 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        out[k * 64 + threadIdx.x] = stage[(k + 1) & 1][63 - threadIdx.x];
    }
}

#if __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 1, 1) bulk(float* out, const float* in) {
    __shared__ alignas(128) float stage[256];
    __shared__ unsigned long long barrier;
    unsigned address = (unsigned)__cvta_generic_to_shared(stage);
    unsigned gate = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(gate));
        asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(gate));
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],1024,[%2];"
            ::"r"(address), "l"(in), "r"(gate));
    }
    __syncthreads();
    asm volatile(
        "{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @p bra D; bra W; D: }"
        ::"r"(gate));
    out[threadIdx.x] = stage[threadIdx.x ^ 1];
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
}
#endif
