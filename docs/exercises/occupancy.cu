// Goal: 75 % or more theoretical occupancy on an H200, without local memory.
// Launched with grid 264, block 256.
__global__ void weighted(const float* in, float* out) {
    __shared__ float window[256 * 40];
    for (int k = 0; k < 40; k++) window[k * 256 + threadIdx.x] = in[(blockIdx.x * 256 + threadIdx.x + k) % 4096];
    float sum = 0;
    for (int k = 0; k < 40; k++) sum += window[k * 256 + threadIdx.x] * (k + 1);
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
