// Five resident blocks of 16 KB of shared memory each leave an L1 too small for the 12 KB that each
// of them reads repeatedly.
__global__ void before(const float4* in, float* out, int n) {
    __shared__ float own[4 * 1024];
    own[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float sum = own[threadIdx.x ^ 1];
    for (int pass = 0; pass < 24; pass++)
        for (int k = threadIdx.x; k < n; k += blockDim.x) {
            float4 v = in[blockIdx.x * n + k];
            sum = sum * 0.5f + v.x + v.y + v.z + v.w;
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// The same, launched with half the carve-out: fewer blocks at a time, but their data stays in L1.
__global__ void after(const float4* in, float* out, int n) {
    __shared__ float own[4 * 1024];
    own[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float sum = own[threadIdx.x ^ 1];
    for (int pass = 0; pass < 24; pass++)
        for (int k = threadIdx.x; k < n; k += blockDim.x) {
            float4 v = in[blockIdx.x * n + k];
            sum = sum * 0.5f + v.x + v.y + v.z + v.w;
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
