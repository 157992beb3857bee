// Every block mirrors a 32 x 32 tile at its diagonal. Columns of the tile lie in one bank.

__global__ void mirror(const float* in, float* out) {
    __shared__ float tile[32][32];
    const float* from = in + blockIdx.x * 1024;
    float* to = out + blockIdx.x * 1024;
    for (int i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = from[i * 32 + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) to[i * 32 + threadIdx.x] = tile[threadIdx.x][i];
}
