// A few blocks do all the work; the other SMs idle.
__global__ void before(const float* in, float* out, int n) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        for (int k = 0; k < 16; k++) sum = sum * in[i] + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// The same loop, launched with a block per SM.
__global__ void after(const float* in, float* out, int n) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        for (int k = 0; k < 16; k++) sum = sum * in[i] + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
