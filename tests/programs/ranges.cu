// NVTX ranges: nested, in a domain, started in one place and ended in another.
#include <cstdio>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

__global__ void alone(int *x) { x[threadIdx.x] = 1; }
__global__ void in_outer(int *x) { x[threadIdx.x] = 2; }
__global__ void in_inner(int *x) { x[threadIdx.x] = 3; }
__global__ void in_domain(int *x) { x[threadIdx.x] = 4; }
__global__ void in_started(int *x) { x[threadIdx.x] = 5; }

int main() {
    int *x;
    cudaMalloc(&x, 32 * sizeof *x);
    alone<<<1, 32>>>(x);
    int levels[] = {nvtxRangePushA("outer"), 0};
    in_outer<<<1, 32>>>(x);
    levels[1] = nvtxRangePushW(L"inner \u00e9");
    in_inner<<<1, 32>>>(x);
    nvtxRangePop();
    nvtxRangePop();
    nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
    nvtxEventAttributes_t event = {};
    event.version = NVTX_VERSION, event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "step");
    nvtxDomainRangePushEx(domain, &event);
    in_domain<<<1, 32>>>(x);
    nvtxDomainRangePop(domain);
    nvtxRangeId_t id = nvtxRangeStartA("whole");
    in_started<<<1, 32>>>(x);
    nvtxRangeEnd(id);
    printf("levels %d %d, %s\n", levels[0], levels[1], cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
