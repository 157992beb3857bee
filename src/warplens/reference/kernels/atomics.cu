// Every thread updates one of eight counters in global memory.
__global__ void before(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[i & 7], in[i]);
}

// Summed in shared memory first: eight global atomics per block remain.
__global__ void after(const int* in, int* out, int n) {
    __shared__ int part[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 8) part[threadIdx.x] = 0;
    __syncthreads();
    int x = i < n ? in[i] : 0;
    for (int s = 16; s >= 8; s /= 2) x += __shfl_down_sync(~0u, x, s);
    if (threadIdx.x % 32 < 8) atomicAdd(&part[threadIdx.x % 8], x);
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&out[threadIdx.x], part[threadIdx.x]);
}
