// A block reads 160 KB sixteen times: each pass evicts from L1 what the next one needs.
__global__ void before(const float* in, float* out, int n) {
    const float* mine = in + blockIdx.x * n;
    float sum = 0;
    for (int pass = 0; pass < 16; pass++)
        for (int k = threadIdx.x; k < n; k += blockDim.x) sum = sum * 0.5f + mine[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Each part of 8 KB is read sixteen times before the next one.
__global__ void after(const float* in, float* out, int n) {
    const float* mine = in + blockIdx.x * n;
    float sum = 0;
    for (int part = 0; part < n; part += 2048)
        for (int pass = 0; pass < 16; pass++)
            for (int k = threadIdx.x; k < 2048; k += blockDim.x)
                sum = sum * 0.5f + mine[part + k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
