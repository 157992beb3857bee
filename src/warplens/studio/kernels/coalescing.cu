// One warp sums a row of 256 floats; every lane takes eight neighbours.

__global__ void row_sums(const float* in, float* out, int columns) {
    int row = blockIdx.x, part = columns / 32;
    float sum = 0;
    for (int i = 0; i < part; i++) sum += in[row * columns + threadIdx.x * part + i];
    for (int s = 16; s; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x == 0) out[row] = sum;
}
