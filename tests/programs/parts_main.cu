// Separate compilation: the kernel calls a function and uses a variable of another file.
#include <cstdio>
#include <cuda_runtime.h>

__device__ int from_another_file(int x);
extern __constant__ int step;
void set_step(int value);

__global__ void work(int *out) { out[threadIdx.x] = from_another_file(threadIdx.x) + step; }

int main() {
    int *x;
    cudaMallocManaged(&x, 32 * sizeof *x);
    set_step(FIRST);
    work<<<1, 32>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    printf("%d %d\n", x[0], x[31]);
    return 0;
}
