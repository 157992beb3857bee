// Launched with 64 KB of dynamic shared memory that nothing accesses: three blocks fit on an SM.
__global__ void before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 16; k++) sum += in[(i + k * 4096) % n];
    out[i] = sum;
}

// The same, launched without.
__global__ void after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 16; k++) sum += in[(i + k * 4096) % n];
    out[i] = sum;
}
