// A picture of 4096 x 4096 pixels filtered with 17 x 17 weights from constant memory, by way of
// shared memory; the picture has a border of 16. A thread computes TX x TY pixels that are a block
// apart. PAD makes rows of shared memory a word longer where blocks are narrower than a warp,
// READ_ONLY loads through the read-only path.
constexpr int SIDE = 4096, R = 17, PITCH = SIDE + R - 1;
constexpr int W = BX * TX + R - 1, H = BY * TY + R - 1;
__constant__ float weights[R * R];

extern "C" __global__ void __launch_bounds__(BX * BY)
filter(const float* in, float* out) {
    __shared__ float tile[H][W + PAD];
    const int x0 = blockIdx.x * BX * TX, y0 = blockIdx.y * BY * TY;
    const int tx = threadIdx.x, ty = threadIdx.y;
    for (int y = ty; y < H; y += BY)
        for (int x = tx; x < W; x += BX) {
            const float* from = in + (y0 + y) * PITCH + x0 + x;
            tile[y][x] = READ_ONLY ? __ldg(from) : *from;
        }
    __syncthreads();
    float sum[TY][TX] = {};
#pragma unroll
    for (int i = 0; i < R; i++)
#pragma unroll
        for (int j = 0; j < R; j++)
#pragma unroll
            for (int p = 0; p < TY; p++)
#pragma unroll
                for (int q = 0; q < TX; q++)
                    sum[p][q] += tile[ty + p * BY + i][tx + q * BX + j] * weights[i * R + j];
#pragma unroll
    for (int p = 0; p < TY; p++)
#pragma unroll
        for (int q = 0; q < TX; q++) {
            const int x = x0 + tx + q * BX, y = y0 + ty + p * BY;
            if (x < SIDE && y < SIDE) out[y * SIDE + x] = sum[p][q];
        }
}
