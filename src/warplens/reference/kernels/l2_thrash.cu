// All blocks read the whole array three times: L2 has evicted its start when a pass ends.
__global__ void before(const float4* in, float* out, int n) {
    float sum = 0;
    for (int pass = 0; pass < 3; pass++) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            sum = sum * 0.5f + in[i].x + in[i].y + in[i].z + in[i].w;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Three passes over a part of the array that fits into L2, then the next part.
__global__ void after(const float4* in, float* out, int n) {
    float sum = 0;
    int step = gridDim.x * blockDim.x;
    for (int part = 0; part < n; part += 8 * step)
        for (int pass = 0; pass < 3; pass++) {
            for (int k = 0; k < 8; k++) {
                int i = part + k * step + blockIdx.x * blockDim.x + threadIdx.x;
                if (i < n) sum = sum * 0.5f + in[i].x + in[i].y + in[i].z + in[i].w;
            }
            __syncthreads();
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
