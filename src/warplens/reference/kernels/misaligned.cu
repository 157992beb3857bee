// Rows of a wider table, one float after a line: each load of a warp takes five sectors, not four.
__global__ void before(const float* rows, float* out, int n) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += rows[(thread / 32 * n + k) * 64 + 1 + threadIdx.x % 32];
    out[thread] = sum;
}

// What is read of a row starts at a line.
__global__ void after(const float* rows, float* out, int n) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += rows[(thread / 32 * n + k) * 64 + 32 + threadIdx.x % 32];
    out[thread] = sum;
}
