// Which threads add depends on a remainder by a value that only the loop knows.
__global__ void before(const float* in, float* out, int n) {
    __shared__ float sums[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (t % (2 * s) == 0) sums[t] += sums[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}

// A mask gives the same remainder: the divisor is a power of two.
__global__ void after(const float* in, float* out, int n) {
    __shared__ float sums[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if ((t & (2 * s - 1)) == 0) sums[t] += sums[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}
