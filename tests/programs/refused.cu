// Calls and launches that the runtime refuses, with the names of their errors: what an H200 prints
// stands in validation/data/own_programs_sm90.json.
#include <cstdio>

__global__ void k(int *x) {
    if (x) *x = 1;
}
__global__ void __launch_bounds__(64) small(int *x) {
    if (x) *x = 1;
}

static const char *name(cudaError_t error) {
    cudaGetLastError();
    return cudaGetErrorName(error);
}
#define T(...)                                                                                  \
    {                                                                                           \
        k<<<__VA_ARGS__>>>(nullptr);                                                            \
        cudaError_t a = cudaGetLastError();                                                     \
        const char *b = cudaGetErrorName(cudaDeviceSynchronize());                              \
        printf("%-28s %s %s\n", #__VA_ARGS__, cudaGetErrorName(a), b);                          \
    }

static void launches() {
    T(1, 1025) T(1, 2048) T(1, dim3(1, 1, 65)) T(1, dim3(1, 1, 64)) T(1, dim3(33, 32))
    T(1, dim3(2048, 1, 1)) T(0, 32) T(1, 0) T(dim3(1, 65536), 32) T(dim3(1, 1, 65536), 32)
    T(2147483648u, 32) T(1, 32, 49153) T(1, 32, 1 << 20) T(1, 32, 232449) T(1, dim3(0,1,1))
    T(dim3(1,0,1), 32)
    small<<<1, 128>>>(nullptr);
    printf("launch bounds: %s\n", name(cudaGetLastError()));
    int *n = nullptr;
    void *args[] = {&n}, *f = (void *)k;
    printf("kernel: %s\n", name(cudaLaunchKernel(f, dim3(1), dim3(2048), args, 0, 0)));
    printf("coop: %s\n", name(cudaLaunchCooperativeKernel(f, dim3(1), dim3(2048), args, 0, 0)));
    printf("coop large: %s\n",
           name(cudaLaunchCooperativeKernel(f, dim3(1 << 20), dim3(32), args, 0, 0)));
    cudaLaunchConfig_t c = {};
    c.gridDim = 1, c.blockDim = 2048;
    printf("ex: %s\n", name(cudaLaunchKernelEx(&c, k, (int *)nullptr)));
    cudaLaunchAttribute at[1];
    at[0].id = cudaLaunchAttributeClusterDimension;
    at[0].val.clusterDim = {3, 1, 1};
    c.blockDim = 32, c.gridDim = 4, c.attrs = at, c.numAttrs = 1;
    printf("cluster 3 of 4: %s\n", name(cudaLaunchKernelEx(&c, k, (int *)nullptr)));
    at[0].val.clusterDim.x = 16, c.gridDim = 16;
    printf("cluster 16: %s\n", name(cudaLaunchKernelEx(&c, k, (int *)nullptr)));
    at[0].val.clusterDim.x = 4;
    printf("cluster 4: %s\n", name(cudaLaunchKernelEx(&c, k, (int *)nullptr)));
    printf("%s\n", name(cudaDeviceSynchronize()));
}
static void calls() {
    int v;
    void *p;
    printf("peek: %s\n", name(cudaMalloc(nullptr, 4)));
    printf("zero: %s\n", name(cudaMalloc(&p, 0)));
    printf("free twice: %s", name(cudaMalloc(&p, 64)));
    printf(" %s", name(cudaFree(p)));
    printf(" %s\n", name(cudaFree(p)));
    printf("event: %s\n", name(cudaEventElapsedTime(nullptr, nullptr, nullptr)));
    cudaEvent_t a, b;
    float ms;
    cudaEventCreate(&a), cudaEventCreate(&b);
    printf("unrecorded: %s\n", name(cudaEventElapsedTime(&ms, a, b)));
    printf("copy out: %s\n", name(cudaMemcpy(&v, nullptr, 4, cudaMemcpyDeviceToHost)));
    printf("symbol: %s\n", name(cudaMemcpyToSymbol((const void *)&v, &v, 4)));
    auto most = cudaFuncAttributeMaxDynamicSharedMemorySize;
    printf("attr: %s\n", name(cudaFuncSetAttribute(k, most, 1 << 20)));
    printf("attr: %s\n", name(cudaFuncSetAttribute(k, most, 232448)));
    T(1, 32, 232448) T(1, 32, 232449)
    cudaStream_t s;
    printf("flags: %s\n", name(cudaStreamCreateWithFlags(&s, 77)));
    printf("memset: %s\n", name(cudaMemset(nullptr, 0, 4)));
    printf("negative device: %s\n", name(cudaSetDevice(-1)));
    cudaPointerAttributes pa;
    const char *found = name(cudaPointerGetAttributes(&pa, &v));
    printf("host pointer: %s %d\n", found, (int)pa.type);
    int q;
    printf("attribute: %s\n", name(cudaDeviceGetAttribute(&q, (cudaDeviceAttr)9999, 0)));
    found = name(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&q, k, 2048, 0));
    printf("occupancy: %s %d\n", found, q);
}
// Just outside of the arrays, inside of the pages that a GPU maps.
__global__ void beside(int *x, int *out) {
    int i = threadIdx.x;
    x[i + 64] = i;
    __syncthreads();
    out[i] = x[127 - i];
}
static void near_by() {
    int *x, *y, found[64];
    cudaMalloc(&x, 256);
    cudaMalloc(&y, 256);
    for (int round = 0; round < 2; round++) beside<<<1, 64>>>(x, y);
    printf("%s\n", name(cudaDeviceSynchronize()));
    cudaMemcpy(found, y, sizeof found, cudaMemcpyDeviceToHost);
    printf("%d %d\n", found[0], found[63]);
}

int main(int argc, char **) {
    cudaFree(nullptr);
    if (argc > 1) return near_by(), 0;
    launches();
    calls();
    return 0;
}
