// One block in five has five times the work: towards the end few warps are active.
__global__ void before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    int steps = blockIdx.x % 5 == 4 ? 5 * n : n;
    for (int k = 0; k < steps; k++) x = x * x + 0.25f;
    out[i] = x;
}

// The same work in equal parts.
__global__ void after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int k = 0; k < n * 9 / 5; k++) x = x * x + 0.25f;
    out[i] = x;
}
