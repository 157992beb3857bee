// Ten programs in one, whose timelines are recorded on a GPU: the first argument says which.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        cudaError_t status = (call);                                                            \
        if (status != cudaSuccess) {                                                            \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                     \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void polynomial(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], s = 0;
    for (int k = 0; k < 64; k++) s = s * v + 1.0f / (k + 1);
    x[i] = s;
}
__global__ void jacobi(int n, const float *a, float *b) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        b[y * n + x] = 0.25f * (a[y * n + x - 1] + a[y * n + x + 1] + a[(y - 1) * n + x] +
                                a[(y + 1) * n + x]);
}
__global__ void transpose(int n, const float *a, float *b) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) b[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void reduce(int n, const float *x, float *sums) {
    __shared__ float parts[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
__global__ void product(int n, const float *a, const float *b, float *c) {
    __shared__ float as[16][16], bs[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        as[threadIdx.y][threadIdx.x] = a[y * n + t + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + x];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
__global__ void histogram(int n, const unsigned *x, unsigned *bins) {
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[x[i] & 255], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

template <class T> static T *device(size_t n) {
    T *p;
    CHECK(cudaMalloc(&p, n * sizeof(T)));
    return p;
}
template <class T> static std::vector<T> filled(size_t n) {
    std::vector<T> x(n);
    for (size_t i = 0; i < n; i++) x[i] = T((i * 2654435761u >> 7) % 1000);
    return x;
}
static const auto IN = cudaMemcpyHostToDevice, OUT = cudaMemcpyDeviceToHost;
static int grid(size_t n, int block) { return int((n + block - 1) / block); }

static void vectors() { // pageable copies around one kernel
    const int n = 16 << 20;
    auto x = filled<float>(n), y = x;
    float *dx = device<float>(n), *dy = device<float>(n);
    CHECK(cudaMemcpy(dx, x.data(), n * 4ul, IN));
    CHECK(cudaMemcpy(dy, y.data(), n * 4ul, IN));
    saxpy<<<grid(n, 256), 256>>>(n, 2, dx, dy);
    CHECK(cudaMemcpy(y.data(), dy, n * 4ul, OUT));
    printf("%g\n", y[12345]);
}
static void pinned() { // the same with pinned memory, three times
    const int n = 8 << 20;
    float *x, *dx = device<float>(n);
    CHECK(cudaMallocHost(&x, n * 4ul));
    memset(x, 0, n * 4ul);
    for (int round = 0; round < 3; round++) {
        CHECK(cudaMemcpy(dx, x, n * 4ul, IN));
        polynomial<<<grid(n, 256), 256>>>(n, dx);
        CHECK(cudaMemcpy(x, dx, n * 4ul, OUT));
    }
    printf("%g\n", x[77]);
}
static void streams() { // copies and kernels of four streams overlap
    const int parts = 8, n = 1 << 20;
    float *x, *dx = device<float>(parts * n);
    CHECK(cudaMallocHost(&x, parts * n * 4ul));
    memset(x, 0, parts * n * 4ul);
    cudaStream_t stream[4];
    for (auto &s : stream) CHECK(cudaStreamCreate(&s));
    for (int p = 0; p < parts; p++) {
        cudaStream_t s = stream[p % 4];
        CHECK(cudaMemcpyAsync(dx + p * n, x + p * n, n * 4ul, IN, s));
        polynomial<<<grid(n, 256), 256, 0, s>>>(n, dx + p * n);
        CHECK(cudaMemcpyAsync(x + p * n, dx + p * n, n * 4ul, OUT, s));
    }
    CHECK(cudaDeviceSynchronize());
    printf("%g\n", x[5 * n]);
}
static void stencil() { // twenty rounds of Jacobi
    const int n = 1024;
    auto a = filled<float>(n * n);
    float *da = device<float>(n * n), *db = device<float>(n * n);
    CHECK(cudaMemcpy(da, a.data(), n * n * 4ul, IN));
    CHECK(cudaMemcpy(db, da, n * n * 4ul, cudaMemcpyDeviceToDevice));
    for (int i = 0; i < 20; i++) {
        jacobi<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(n, da, db);
        std::swap(da, db);
    }
    CHECK(cudaMemcpy(a.data(), da, n * n * 4ul, OUT));
    printf("%g\n", a[n * 500 + 500]);
}
static void transposes() {
    const int n = 2048;
    auto a = filled<float>(n * n);
    float *da = device<float>(n * n), *db = device<float>(n * n);
    CHECK(cudaMemcpy(da, a.data(), n * n * 4ul, IN));
    for (int i = 0; i < 4; i++) transpose<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(n, da, db);
    CHECK(cudaMemcpy(a.data(), db, n * n * 4ul, OUT));
    printf("%g\n", a[n * 3 + 5]);
}
static void reductions() {
    const int n = 16 << 20, blocks = 528;
    auto x = filled<float>(n);
    float *dx = device<float>(n), *sums = device<float>(blocks), total;
    CHECK(cudaMemcpy(dx, x.data(), n * 4ul, IN));
    for (int i = 0; i < 3; i++) {
        reduce<<<blocks, 512>>>(n, dx, sums);
        reduce<<<1, 512>>>(blocks, sums, sums);
        CHECK(cudaMemcpy(&total, sums, 4, OUT));
    }
    printf("%g\n", total);
}
static void products() {
    const int n = 512;
    auto a = filled<float>(n * n), c = a;
    float *da = device<float>(n * n), *db = device<float>(n * n), *dc = device<float>(n * n);
    CHECK(cudaMemcpy(da, a.data(), n * n * 4ul, IN));
    CHECK(cudaMemcpy(db, a.data(), n * n * 4ul, IN));
    product<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(n, da, db, dc);
    CHECK(cudaMemcpy(c.data(), dc, n * n * 4ul, OUT));
    printf("%g\n", c[n + 1]);
}
static void histograms() {
    const int n = 8 << 20;
    auto x = filled<unsigned>(n);
    unsigned *dx = device<unsigned>(n), *bins = device<unsigned>(256), found[256];
    CHECK(cudaMemcpy(dx, x.data(), n * 4ul, IN));
    CHECK(cudaMemset(bins, 0, sizeof found));
    for (int i = 0; i < 2; i++) histogram<<<264, 256>>>(n, dx, bins);
    CHECK(cudaMemcpy(found, bins, sizeof found, OUT));
    printf("%u\n", found[9]);
}
static void small() { // two hundred small copies and launches
    const int n = 1024;
    auto x = filled<float>(n);
    float *dx = device<float>(n), *dy = device<float>(n);
    CHECK(cudaMemset(dy, 0, n * 4ul));
    for (int i = 0; i < 100; i++) {
        CHECK(cudaMemcpy(dx, x.data(), n * 4ul, IN));
        saxpy<<<n / 128, 128>>>(n, 1, dx, dy);
        saxpy<<<n / 128, 128>>>(n, 2, dx, dy);
        CHECK(cudaMemcpy(x.data(), dx, n * 4ul, OUT));
    }
    CHECK(cudaMemcpy(x.data(), dy, n * 4ul, OUT));
    printf("%g\n", x[10]);
}
static void moves() { // fills, copies inside of the device, rows
    const size_t n = 64 << 20;
    char *a = device<char>(n), *b = device<char>(n);
    std::vector<char> rows(4096 * 4096), back(rows);
    CHECK(cudaMemset(a, 7, n));
    CHECK(cudaMemcpy(b, a, n, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2D(a, 8192, rows.data(), 4096, 4096, 4096, IN));
    CHECK(cudaMemcpy2D(back.data(), 4096, a, 8192, 4096, 4096, OUT));
    CHECK(cudaMemset2D(b, 8192, 3, 4096, 4096));
    polynomial<<<grid(1 << 20, 128), 128>>>(1 << 20, (float *)b);
    CHECK(cudaDeviceSynchronize());
    printf("%d\n", back[4095]);
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(); } known[] = {
        {"vectors", vectors}, {"pinned", pinned}, {"streams", streams}, {"stencil", stencil},
        {"transposes", transposes}, {"reductions", reductions}, {"products", products},
        {"histograms", histograms}, {"small", small}, {"moves", moves}};
    for (auto &one : known)
        if (argc > 1 && !strcmp(argv[1], one.name)) return one.run(), 0;
    return 2;
}
