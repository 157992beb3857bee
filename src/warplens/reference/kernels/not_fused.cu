// Intrinsics that round separately prevent fusing.
__global__ void before(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = in[i], b = a + 1, c = a + 2, d = a + 3;
    for (int k = 0; k < 128; k++) {
        a = __fadd_rn(__fmul_rn(a, 0.5f), 0.25f);
        b = __fadd_rn(__fmul_rn(b, 0.5f), 0.25f);
        c = __fadd_rn(__fmul_rn(c, 0.5f), 0.25f);
        d = __fadd_rn(__fmul_rn(d, 0.5f), 0.25f);
    }
    out[i] = a + b + c + d;
}

__global__ void after(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = in[i], b = a + 1, c = a + 2, d = a + 3;
    for (int k = 0; k < 128; k++) {
        a = fmaf(a, 0.5f, 0.25f);
        b = fmaf(b, 0.5f, 0.25f);
        c = fmaf(c, 0.5f, 0.25f);
        d = fmaf(d, 0.5f, 0.25f);
    }
    out[i] = a + b + c + d;
}
