// Nearly all instructions stand on one line: what is saved there is saved in the whole kernel.
__global__ void before(const unsigned* in, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = in[i];
#pragma unroll
    for (int k = 0; k < 96; k++) h = (h ^ h >> 15) * 0x85ebca6bu + k;
    out[i] = h;
}

// Twelve rounds mix the bits as well as ninety-six.
__global__ void after(const unsigned* in, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = in[i];
#pragma unroll
    for (int k = 0; k < 12; k++) h = (h ^ h >> 15) * 0x85ebca6bu + k;
    out[i] = h;
}
