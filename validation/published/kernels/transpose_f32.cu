// Transposes of a float matrix: direct, through a 32 x 32 tile with or without padding, by 16 bytes.
#define TILE 32

extern "C" __global__ void naive(const float* in, float* out, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y < rows && x < columns) out[x * rows + y] = in[y * columns + x];
}

template <int PAD>
__global__ void tiled(const float* in, float* out, int rows, int columns) {
    __shared__ float tile[TILE][TILE + PAD];
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && column < columns)
        tile[threadIdx.y][threadIdx.x] = in[row * columns + column];
    __syncthreads();
    int to_row = blockIdx.x * blockDim.x + threadIdx.y;
    int to_column = blockIdx.y * blockDim.y + threadIdx.x;
    if (to_row < columns && to_column < rows)
        out[to_row * rows + to_column] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void by_16_bytes(const float* in, float* out, int rows, int columns) {
    __shared__ float tile[TILE][TILE + 1];
    int x = threadIdx.x * 4, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    if (row < rows && column + 3 < columns) {
        float4 v = *reinterpret_cast<const float4*>(&in[row * columns + column]);
        tile[y][x] = v.x;
        tile[y][x + 1] = v.y;
        tile[y][x + 2] = v.z;
        tile[y][x + 3] = v.w;
    }
    __syncthreads();
    int to_row = blockIdx.x * TILE + y, to_column = blockIdx.y * TILE + x;
    if (to_row < columns && to_column + 3 < rows) {
        float4 v = make_float4(tile[x][y], tile[x + 1][y], tile[x + 2][y], tile[x + 3][y]);
        *reinterpret_cast<float4*>(&out[to_row * rows + to_column]) = v;
    }
}
