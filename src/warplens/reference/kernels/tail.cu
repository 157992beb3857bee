// Launched as 280 large blocks where 264 fit: 16 SMs run half as long again as the others.
__global__ void before(const float* in, float* out, int n) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = in[i % 1024];
        for (int k = 0; k < 50; k++) x = x * x + 0.25f;
        sum += x;
    }
    out[(blockIdx.x * blockDim.x + threadIdx.x) % 1024] = sum;
}

// The same loop, launched as 2,240 small blocks, which spread evenly.
__global__ void after(const float* in, float* out, int n) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = in[i % 1024];
        for (int k = 0; k < 50; k++) x = x * x + 0.25f;
        sum += x;
    }
    out[(blockIdx.x * blockDim.x + threadIdx.x) % 1024] = sum;
}
