// A tiled image, 8 rows of 32 in a tile: each row's address is made of its number.
__global__ void before(const float* in, float* out, int w, int rows) {
    unsigned x = threadIdx.x % w, first = threadIdx.x / w * 8;
    float sum = 0.0f;
    for (unsigned y = first; y < first + rows; y++)
        sum += in[(y / 8 * (w / 32) + x / 32) * 256 + y % 8 * 32 + x % 32];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// One address for each tile; its rows lie at constant offsets.
__global__ void after(const float* in, float* out, int w, int rows) {
    int x = threadIdx.x % w, first = threadIdx.x / w;
    const float* tile = in + (first * (w / 32) + x / 32) * 256 + x % 32;
    float sum = 0.0f;
    for (int y = 0; y < rows; y += 8, tile += w * 8)
#pragma unroll
        for (int row = 0; row < 8; row++) sum += tile[row * 32];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
