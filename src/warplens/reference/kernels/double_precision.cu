// A constant without an f suffix makes the whole computation double.
__global__ void before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    for (int k = 0; k < 32; k++) x = x * x * 0.5 + 0.25;
    out[i] = x;
}

__global__ void after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    for (int k = 0; k < 32; k++) x = x * x * 0.5f + 0.25f;
    out[i] = x;
}
