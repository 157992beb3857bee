// One load at a time: each addition waits for its load before the next load is issued.
__global__ void before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 64; k++) sum += in[k * n + i];
    out[i] = sum;
}

// Eight loads are in flight before the first addition.
__global__ void after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < 64; k++) sum += in[k * n + i];
    out[i] = sum;
}
