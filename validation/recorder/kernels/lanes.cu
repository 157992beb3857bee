// Loads whose lanes are each in a row, and a sector, of their own, and reductions that walk through
// words that all warps add to.
extern "C" {
// A block per column, a thread per row.
__global__ void column(const float* x, float* o, int rows, int pitch) {
    float s = 0;
    for (int i = threadIdx.x; i < rows; i += blockDim.x) s += x[i * pitch + blockIdx.x];
    if (s == 12345.6f) o[blockIdx.x] = s;
}
__global__ void column_halves(const unsigned short* x, float* o, int rows, int pitch) {
    float s = 0;
    for (int i = threadIdx.x; i < rows; i += blockDim.x) s += x[i * pitch + blockIdx.x];
    if (s == 12345.6f) o[blockIdx.x] = s;
}
// A thread per row.
__global__ void row(const float* x, float* o, int rows, int width) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int i = 0; i < width; i++) s += x[r * width + i];
    o[r] = s;
}
__global__ void row_product(const float* x, const float* w, float* o, int rows, int width) {
    int r = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
    float s = 0;
    for (int i = 0; i < width; i++) s += x[r * width + i] * w[c * width + i];
    o[c * rows + r] = s;
}
// All lanes of all warps add to one word, then to the next.
__global__ void sweep(float* a, int words, int rounds) {
    for (int k = 0; k < rounds; k++)
        for (int i = 0; i < words; i++) atomicAdd(a + i, 1.f + threadIdx.x);
}
__global__ void sweep_two(float* a, float* b, int words, int rounds) {
    for (int k = 0; k < rounds; k++)
        for (int i = 0; i < words; i++) {
            atomicAdd(a + i, 1.f + threadIdx.x);
            atomicAdd(b + i, 2.f + threadIdx.x);
        }
}
// The same, with a row of each thread's own between.
__global__ void sweep_rows(float* a, float* b, const float* x, float* y, int words) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < words; i++) {
        float v = x[r * words + i];
        atomicAdd(a + i, v);
        atomicAdd(b + i, v * 2);
        y[r * words + i] += v;
    }
}
// Lanes beside each other.
__global__ void sweep_lines(float* a, int words, int rounds) {
    for (int k = 0; k < rounds; k++)
        for (int i = threadIdx.x % 32; i < words; i += 32) atomicAdd(a + i, 1.f + threadIdx.x);
}
// Each warp begins elsewhere.
__global__ void sweep_apart(float* a, int words) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (int i = 0; i < words; i++) atomicAdd(a + (i + warp * 97) % words, 1.f + threadIdx.x);
}
}
