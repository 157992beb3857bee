// Neighbouring lanes take different paths, which the warp executes one after the other.
__global__ void before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    if (threadIdx.x % 4 == 0)
        for (int k = 0; k < 64; k++) x = x * x + 0.25f;
    else if (threadIdx.x % 4 == 1)
        for (int k = 0; k < 64; k++) x = x * 0.5f - x * x;
    else if (threadIdx.x % 4 == 2)
        for (int k = 0; k < 64; k++) x = 1.0f - x * x;
    else
        for (int k = 0; k < 64; k++) x = x * 0.75f + 0.125f;
    out[i] = x;
}

// The path depends on the warp, so no warp diverges.
__global__ void after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    int path = threadIdx.x / 32 % 4;
    if (path == 0)
        for (int k = 0; k < 64; k++) x = x * x + 0.25f;
    else if (path == 1)
        for (int k = 0; k < 64; k++) x = x * 0.5f - x * x;
    else if (path == 2)
        for (int k = 0; k < 64; k++) x = 1.0f - x * x;
    else
        for (int k = 0; k < 64; k++) x = x * 0.75f + 0.125f;
    out[i] = x;
}
