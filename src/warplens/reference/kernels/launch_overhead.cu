// One problem of 8,448 numbers per launch: most of the time is the launch itself.
__global__ void before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 2.0f;
}

// Thirty-two problems in one launch.
__global__ void after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int problem = 0; problem < 32; problem++)
        if (i < n) out[problem * n + i] = in[problem * n + i] * 2.0f;
}
