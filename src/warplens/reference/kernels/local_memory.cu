// The index is unknown to the compiler, so the array is in local memory.
__global__ void before(const float* in, float* out, int n, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float window[8];
    for (int k = 0; k < 8; k++) window[k] = in[i] + k;
    for (int k = 0; k < steps; k++) window[k & 7] += window[(k + 3) & 7] * 0.5f;
    out[i] = window[0] + window[5];
}

// Unrolled by the period of the index: every element is a register.
__global__ void after(const float* in, float* out, int n, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float window[8];
    for (int k = 0; k < 8; k++) window[k] = in[i] + k;
    for (int base = 0; base < steps; base += 8)
#pragma unroll
        for (int k = 0; k < 8; k++) window[k] += window[(k + 3) & 7] * 0.5f;
    out[i] = window[0] + window[5];
}
