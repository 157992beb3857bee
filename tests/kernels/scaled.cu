// Products that the compiler scales as it rounds them (FMUL.D2, .D4, .D8, .M4, .M8).
extern "C" __global__ void scaled_products(const float *a, const float *b, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = a[i] * b[i] * 0.5f;
    out[n + i] = 0.25f * (a[i] * b[i]);
    out[2 * n + i] = a[i] * b[i] * 0.125f;
    out[3 * n + i] = a[i] * b[i] * 4.0f;
    out[4 * n + i] = a[i] * b[i] * 8.0f;
    out[5 * n + i] = __saturatef(a[i] * b[i] * 0.5f);
}
