// Blocks that do nothing but work for a while and end, with or without stores on the way out.

// So many turns of 32 dependent additions, then STORES stores of every thread, a line apart.
template <int STORES>
__global__ void ends(float *out, float step, int turns) {
    float sum = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < turns; i++) {
#pragma unroll
        for (int j = 0; j < 32; j++) sum += step;
    }
    float *to = out + (blockIdx.x * blockDim.x + threadIdx.x & ~31) * STORES + (threadIdx.x & 31);
    if (STORES == 0 && sum == 0.5f) *out = sum;
#pragma unroll
    for (int j = 0; j < STORES; j++) to[32 * j] = sum;
}
