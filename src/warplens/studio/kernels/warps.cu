// Odd lanes take one way, even lanes the other: every warp executes both.

__global__ void uneven(const int* in, int* out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, x = 0;
    bool is_odd = threadIdx.x % 2;
    if (is_odd)
        for (int i = 0; i < 64; i++) x = x * 3 + in[(t + i) & 1023];
    else
        for (int i = 0; i < 64; i++) x = x * 5 - in[(t + i) & 1023];
    out[t] = x;
}
