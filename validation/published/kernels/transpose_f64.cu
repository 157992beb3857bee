// Transposes of a square matrix of doubles; element (row, column) stands at column * n + row.
#define TILE 32
#define AT(row, column) ((size_t)(column) * n + (row))

extern "C" __global__ void naive(int n, const double* in, double* out) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) out[AT(row, column)] = in[AT(column, row)];
}

extern "C" __global__ void naive_swapped(int n, const double* in, double* out) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) out[AT(column, row)] = in[AT(row, column)];
}

template <int PAD, bool COLUMN_WRITE>
__global__ void tiled(int n, const double* in, double* out) {
    __shared__ double tile[TILE][TILE + PAD];
    int x = threadIdx.x, y = threadIdx.y;
    int left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    if (left + x < n && top + y < n) {
        double value = in[AT(left + x, top + y)];
        if (COLUMN_WRITE) tile[x][y] = value;
        else tile[y][x] = value;
    }
    __syncthreads();
    if (top + x < n && left + y < n) {
        out[AT(top + x, left + y)] = COLUMN_WRITE ? tile[y][x] : tile[x][y];
    }
}
