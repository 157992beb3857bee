// One warp per scheduler, and each instruction depends on the previous one.
__global__ void before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int k = 0; k < n; k++) x = x * x + 0.25f;
    out[i] = x;
}

// The same work in four independent chains: a quarter of the steps each.
__global__ void after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], y = x + 1, z = x + 2, w = x + 3;
    for (int k = 0; k < n / 4; k++) {
        x = x * x + 0.25f;
        y = y * y + 0.25f;
        z = z * z + 0.25f;
        w = w * w + 0.25f;
    }
    out[i] = x + y + z + w;
}
