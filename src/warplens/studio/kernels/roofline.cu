// y = 3 (2 x + y) in two passes over y; each moves all of it through DRAM.

__global__ void two_passes(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i] + y[i];
    __syncthreads();
    volatile float* again = y;
    if (i < n) again[i] = 3.0f * again[i];
}
