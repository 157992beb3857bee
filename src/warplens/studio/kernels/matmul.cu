// c = a * b for n x n matrices; n is a multiple of 32. Every element is loaded n times.

__global__ void multiply(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}
