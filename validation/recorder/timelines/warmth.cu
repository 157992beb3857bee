// What L2 keeps for a kernel from what ran before it: kernels whose time is taken after work that
// leaves their array there, or does not. Prints a line for each launch of a kernel called taken_*.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        cudaError_t status = (call);                                                            \
        if (status != cudaSuccess) {                                                            \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                     \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

__device__ void reads(int n, const float4 *x, float *out) { // as fast as memory gives
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        float4 v = x[i];
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == -1) *out = sum;
}
__device__ void waits(int n, const float *x, float *out) { // one load of a thread at a time
    float sum = 0;
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum = sum * x[i] + 1;
    if (sum == -1) *out = sum;
}
__device__ void scales(int n, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 3 * x[i];
}
__device__ void updates(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 3 * x[i];
}
__device__ void fills(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 3;
}
__global__ void taken_reads(int n, const float4 *x, float *out) { reads(n, x, out); }
__global__ void taken_waits(int n, const float *x, float *out) { waits(n, x, out); }
__global__ void taken_scales(int n, const float *x, float *y) { scales(n, x, y); }
__global__ void taken_updates(int n, float *x) { updates(n, x); }
__global__ void taken_fills(int n, float *x) { fills(n, x); }
__global__ void taken_chases(int hops, const int *x, int *out) {
    int i = 0;
    for (int k = 0; k < hops; k++) i = x[i];
    *out = i;
}
__global__ void taken_empty() {}
__global__ void before_reads(int n, const float4 *x, float *out) { reads(n, x, out); }
__global__ void before_fills(int n, float *x) { fills(n, x); }

static const size_t MIB = 1 << 20, MOST = 128 * MIB;
static size_t OTHER = 512 * MIB;
static float *x, *y, *z, *other, *out, *pinned;
static std::vector<char> pageable(MOST);

static void read_by_kernel(const float *p, size_t bytes) {
    before_reads<<<1056, 256>>>(int(bytes / 4), (const float4 *)p, out);
}
static void written_by_kernel(float *p, size_t bytes) {
    before_fills<<<unsigned(bytes / 4 / 256), 256>>>(int(bytes / 4), p);
}
static void prepare(const char *state, size_t bytes) {
    bool dirty = !strncmp(state, "dirty", 5); // L2 is full of what was written
    if (dirty) {
        CHECK(cudaMemset(other, 1, OTHER));
        state += 5;
    } else {
        read_by_kernel(other, OTHER);
    }
    if (!strcmp(state, "read")) read_by_kernel(x, bytes);
    if (!strcmp(state, "written")) written_by_kernel(x, bytes);
    if (!strcmp(state, "pinned")) CHECK(cudaMemcpy(x, pinned, bytes, cudaMemcpyHostToDevice));
    if (!strcmp(state, "pageable"))
        CHECK(cudaMemcpy(x, pageable.data(), bytes, cudaMemcpyHostToDevice));
    if (!strcmp(state, "set")) CHECK(cudaMemset(x, 0, bytes));
    if (!strcmp(state, "device")) CHECK(cudaMemcpy(x, z, bytes, cudaMemcpyDeviceToDevice));
    if (!strcmp(state, "source")) CHECK(cudaMemcpy(z, x, bytes, cudaMemcpyDeviceToDevice));
    if (!strcmp(state, "sent")) CHECK(cudaMemcpy(pinned, x, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaDeviceSynchronize());
}
static void launch(const char *kernel, size_t bytes) {
    int n = int(bytes / 4), grid = n / 256;
    if (!strcmp(kernel, "reads")) taken_reads<<<1056, 256>>>(n, (float4 *)x, out);
    if (!strcmp(kernel, "waits")) taken_waits<<<264, 256>>>(n, x, out);
    if (!strcmp(kernel, "scales")) taken_scales<<<grid, 256>>>(n, x, y);
    if (!strcmp(kernel, "updates")) taken_updates<<<grid, 256>>>(n, x);
    if (!strcmp(kernel, "fills")) taken_fills<<<grid, 256>>>(n, x);
    CHECK(cudaDeviceSynchronize());
}
static void told(const char *kernel, const char *state, double mib, double after) {
    printf("%s %s %g %g\n", kernel, state, mib, after);
}
static void states() {
    for (int mib : {1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 96, 128})
        for (const char *kernel : {"reads", "waits", "scales", "updates", "fills"})
            for (const char *state : {"cold", "read", "written", "pinned", "pageable", "set",
                                      "device", "source", "sent", "dirty", "dirtypinned"}) {
                if (!strcmp(state, "pageable") && mib % 16) continue;
                for (int round = 0; round < 4; round++) {
                    prepare(state, mib * MIB);
                    launch(kernel, mib * MIB);
                    told(kernel, state, mib, 0);
                }
            }
}
// Twice in a row without anything between: what a kernel leaves for itself.
static void repeats() {
    for (int mib : {1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 96, 128})
        for (const char *kernel : {"reads", "waits", "scales", "updates", "fills"}) {
            prepare("cold", mib * MIB);
            for (int round = 0; round < 6; round++) {
                launch(kernel, mib * MIB);
                told(kernel, "itself", mib, 0);
            }
        }
}
// Other memory is read or written between.
static void between() {
    for (const char *state : {"read", "written"})
        for (int mib : {8, 24})
            for (const char *kernel : {"reads", "waits"})
                for (bool writes : {false, true})
                    for (int after : {4, 8, 16, 24, 32, 40, 48, 64, 96, 128})
                        for (int round = 0; round < 3; round++) {
                            prepare(state, mib * MIB);
                            if (writes) written_by_kernel(y, after * MIB);
                            else read_by_kernel(y, after * MIB);
                            launch(kernel, mib * MIB);
                            told(kernel, state, mib, writes ? -after : after);
                        }
}
static void chases() {
    for (int mib : {1, 4, 16, 24, 32, 48, 64}) {
        int n = int(mib * MIB / 128);
        std::vector<int> order(n), next(n * 32ul);
        std::iota(order.begin(), order.end(), 0);
        srand(1);
        for (int i = n - 1; i > 0; i--) std::swap(order[i], order[rand() % i]);
        for (int i = 0; i < n; i++) next[order[i] * 32ul] = order[(i + 1) % n] * 32;
        memcpy(pinned, next.data(), mib * MIB);
        CHECK(cudaMemcpy(z, pinned, mib * MIB, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(x, z, mib * MIB, cudaMemcpyDeviceToDevice));
        for (const char *state : {"cold", "read", "pinned", "device"})
            for (int round = 0; round < 3; round++) {
                prepare(state, mib * MIB);
                taken_chases<<<1, 1>>>(4096, (int *)x, (int *)out);
                CHECK(cudaDeviceSynchronize());
                told("chases", state, mib, 0);
            }
    }
}
static void grids() {
    for (int block : {32, 128, 256, 1024})
        for (int grid : {1, 132, 528, 1056, 2112, 4096, 8192, 16384, 65536})
            for (int round = 0; round < 4; round++) {
                taken_empty<<<grid, block>>>();
                CHECK(cudaDeviceSynchronize());
                told("empty", "none", block, grid);
            }
}

// The first thing that a program does is a copy.
static void fresh(const char *state, int mib) {
    CHECK(cudaMalloc(&x, MOST));
    CHECK(cudaMalloc(&out, 256));
    CHECK(cudaMallocHost(&pinned, MOST));
    bool is_pinned = !strcmp(state, "freshpinned");
    CHECK(cudaMemcpy(x, is_pinned ? (char *)pinned : pageable.data(), mib * MIB,
                     cudaMemcpyHostToDevice));
    for (int round = 0; round < 2; round++) {
        taken_waits<<<264, 256>>>(int(mib * MIB / 4), x, out);
        CHECK(cudaDeviceSynchronize());
        told("waits", state, mib, round);
    }
}

int main(int argc, char **argv) {
    if (argc == 3) return fresh(argv[1], atoi(argv[2])), 0;
    if (argc == 4) OTHER = 96 * MIB;
    CHECK(cudaMalloc(&x, MOST));
    CHECK(cudaMalloc(&y, MOST));
    CHECK(cudaMalloc(&z, MOST));
    CHECK(cudaMalloc(&other, OTHER));
    CHECK(cudaMalloc(&out, 256));
    CHECK(cudaMallocHost(&pinned, MOST));
    memset(pinned, 0, MOST);
    CHECK(cudaMemset(other, 0, OTHER));
    CHECK(cudaMemset(x, 0, MOST));
    if (argc == 4) { // a kernel, a state and MiB, or empty, blocks and threads
        if (!strcmp(argv[1], "empty")) taken_empty<<<atoi(argv[2]), atoi(argv[3])>>>();
        else prepare(argv[2], atoi(argv[3]) * MIB), launch(argv[1], atoi(argv[3]) * MIB);
        CHECK(cudaDeviceSynchronize());
        return 0;
    }
    grids();
    states();
    repeats();
    between();
    chases();
    return 0;
}
