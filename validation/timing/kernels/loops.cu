// Loops of a few dependent instructions: what a taken branch costs.

// K additions a turn, PAD of them before, so that the loop lies elsewhere in its line of code.
template <int K, int PAD>
__global__ void loop(float *out, float step, int n) {
    float sum = threadIdx.x;
#pragma unroll
    for (int j = 0; j < PAD; j++) sum += step;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
#pragma unroll
        for (int j = 0; j < K; j++) sum += step;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// One of two ways a turn, K operations on each.
template <int K>
__global__ void either(float *out, float step, int n, unsigned bits) {
    float sum = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        if (bits >> (i & 31) & 1) {
#pragma unroll
            for (int j = 0; j < K; j++) sum += step;
        } else {
#pragma unroll
            for (int j = 0; j < K; j++) sum *= step;
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
