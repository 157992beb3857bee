// Each block of two warps uses 48 KB of shared memory for a few words: few warps fit.
__global__ void before(const float* in, float* out, int n) {
    __shared__ float stage[12 * 1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < n ? in[i] : 0;
    for (int k = 0; k < 16; k++) {
        stage[threadIdx.x * 4] = x;
        x = in[(i + k * 4096 + int(stage[threadIdx.x * 4] * 0.0f)) % n] + x;
    }
    if (i < n) out[i] = x;
}

// Only the words that are used.
__global__ void after(const float* in, float* out, int n) {
    __shared__ float stage[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i < n ? in[i] : 0;
    for (int k = 0; k < 16; k++) {
        stage[threadIdx.x * 4] = x;
        x = in[(i + k * 4096 + int(stage[threadIdx.x * 4] * 0.0f)) % n] + x;
    }
    if (i < n) out[i] = x;
}
