// A picture of `width` columns filtered with R x R weights from constant memory; the picture has a
// border of R - 1. A thread computes TX x TY pixels that are a block apart; SHARED stages the
// block's part of the picture in shared memory, PAD words wider than it is.
constexpr int R = 7, W = BX * TX + R - 1, H = BY * TY + R - 1;
__constant__ float weights[R * R];

extern "C" __global__ void __launch_bounds__(BX * BY)
convolution(const float* __restrict__ in, float* __restrict__ out, int width) {
    const int x0 = blockIdx.x * BX * TX, y0 = blockIdx.y * BY * TY, pitch = width + R - 1;
    const int tx = threadIdx.x, ty = threadIdx.y;
    float sum[TY][TX] = {};
#if SHARED
    __shared__ float tile[H][W + PAD];
    for (int y = ty; y < H; y += BY)
        for (int x = tx; x < W; x += BX) tile[y][x] = in[(size_t)(y0 + y) * pitch + x0 + x];
    __syncthreads();
#define PIXEL(y, x) tile[y][x]
#else
#define PIXEL(y, x) __ldg(&in[(size_t)(y0 + (y)) * pitch + x0 + (x)])
#endif
#pragma unroll
    for (int i = 0; i < R; i++)
#pragma unroll
        for (int j = 0; j < R; j++) {
            const float w = weights[i * R + j];
#pragma unroll
            for (int p = 0; p < TY; p++)
#pragma unroll
                for (int q = 0; q < TX; q++) sum[p][q] += w * PIXEL(ty + p * BY + i, tx + q * BX + j);
        }
#pragma unroll
    for (int p = 0; p < TY; p++)
#pragma unroll
        for (int q = 0; q < TX; q++)
            out[(size_t)(y0 + ty + p * BY) * width + x0 + tx + q * BX] = sum[p][q];
}
