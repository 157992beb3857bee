// y = a * x + y, and the same with a stride between the lanes of a warp.
__global__ void saxpy(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void strided(const float* x, float* y, float a, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8 % n;
    y[i] = a * x[i] + y[i];
}
