// Launched with 33 threads per block: the second warp has one thread.
__global__ void before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    for (int k = 0; k < 200; k++) x = x * x + 0.25f;
    out[i] = x;
}

// The same, launched with 64.
__global__ void after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    for (int k = 0; k < 200; k++) x = x * x + 0.25f;
    out[i] = x;
}
