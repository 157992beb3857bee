// Block sums in shared memory. Something is missing between the steps.

__global__ void block_sums(const int* in, int* out) {
    __shared__ int part[256];
    int t = threadIdx.x;
    part[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int s = 128; s; s /= 2)
        if (t < s) part[t] += part[t + s];
    if (t == 0) out[blockIdx.x] = part[0];
}
