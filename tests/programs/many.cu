// Many small programs in one: the first argument says which one main() is.
#include <cassert>
#include <cooperative_groups.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_profiler_api.h>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                    \
            printf("%s: %s\n", cudaGetErrorName(status), cudaGetErrorString(status));   \
            exit(EXIT_FAILURE);                                                         \
        }                                                                               \
    } while (0)

__global__ void scale(float *x, int n, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
__global__ void count_up(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += i;
}
__global__ void bad_store(int *x) { x[threadIdx.x + (1 << 20)] = 1; }
__global__ void checked(const int *x) { assert(x[threadIdx.x] < 3); }
__global__ void talk(int who) {
    if (threadIdx.x == 0) printf("kernel %d, block %d\n", who, blockIdx.x);
}

__constant__ float coefficients[4];
__device__ int total;
__managed__ int shared_total = 5;
__global__ void polynomial(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = ((coefficients[3] * x[i] + coefficients[2]) * x[i] + coefficients[1]) * x[i] +
               coefficients[0];
    if (i < n) atomicAdd(&total, 1);
    if (i == 0) shared_total += 37;
}

__global__ void reduce_all(const int *x, int *sums, int n) {
    auto grid = cooperative_groups::this_grid();
    int sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
    atomicAdd(&sums[blockIdx.x], sum);
    grid.sync();
    if (grid.thread_rank() == 0)
        for (unsigned i = 1; i < gridDim.x; i++) sums[0] += sums[i];
}

static int sums_to(const std::vector<int> &x) {
    long total = std::accumulate(x.begin(), x.end(), 0l);
    printf("%ld\n", total);
    return 0;
}

static int devices() {
    int n;
    CHECK(cudaGetDeviceCount(&n));
    for (int i = 0; i < n; i++) {
        cudaDeviceProp p;
        CHECK(cudaGetDeviceProperties(&p, i));
        int sms;
        CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, i));
        printf("%s: %d.%d, %d SMs, %zu bytes of shared memory, warp %d, %d\n", p.name, p.major,
               p.minor, p.multiProcessorCount, p.sharedMemPerBlock, p.warpSize,
               sms == p.multiProcessorCount);
    }
    int runtime, driver;
    CHECK(cudaRuntimeGetVersion(&runtime));
    CHECK(cudaDriverGetVersion(&driver));
    printf("%d %d\n", runtime >= 13000, driver >= 13000);
    return 0;
}

static int errors() {
    void *p;
    printf("%s\n", cudaGetErrorName(cudaMalloc(&p, 1ull << 60)));
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    printf("%s\n", cudaGetErrorName(cudaSetDevice(99)));
    scale<<<1, 2048>>>(nullptr, 0, 1);
    printf("%s\n", cudaGetErrorName(cudaPeekAtLastError()));
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    scale<<<1, 32, 1 << 20>>>(nullptr, 0, 1);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    int host = 0;
    printf("%s\n", cudaGetErrorName(cudaFree(&host)));
    printf("%s\n", cudaGetErrorName(cudaMemcpy(&host, &host, 4, cudaMemcpyHostToDevice)));
    printf("%s\n", cudaGetErrorName(cudaMemcpy(&host, &host, 4, (cudaMemcpyKind)7)));
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

static int fault() {
    int *x;
    CHECK(cudaMalloc(&x, 128));
    bad_store<<<1, 32>>>(nullptr); // near an allocation a GPU would not notice
    printf("launch: %s\n", cudaGetErrorString(cudaGetLastError()));
    cudaError_t status = cudaDeviceSynchronize();
    printf("wait: %s\n", cudaGetErrorString(status));
    printf("then: %s\n", cudaGetErrorName(cudaMalloc(&x, 128)));
    CHECK(cudaGetLastError());
    return 0;
}

static int asserts() {
    int *x;
    CHECK(cudaMallocManaged(&x, 128));
    for (int i = 0; i < 32; i++) x[i] = i / 8;
    checked<<<1, 32>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 3;
}

static int streams(int rounds) {
    const int n = 1 << 18, parts = 4;
    float *host, *device;
    CHECK(cudaMallocHost(&host, n * sizeof *host));
    CHECK(cudaMalloc(&device, n * sizeof *device));
    for (int i = 0; i < n; i++) host[i] = i;
    cudaStream_t stream[parts];
    for (auto &s : stream) CHECK(cudaStreamCreate(&s));
    for (int round = 0; round < rounds; round++)
        for (int p = 0; p < parts; p++) {
            int size = n / parts;
            float *h = host + p * size, *d = device + p * size;
            CHECK(cudaMemcpyAsync(d, h, size * 4, cudaMemcpyHostToDevice, stream[p]));
            scale<<<size / 256, 256, 0, stream[p]>>>(d, size, 2);
            CHECK(cudaMemcpyAsync(h, d, size * 4, cudaMemcpyDeviceToHost, stream[p]));
        }
    for (auto &s : stream) CHECK(cudaStreamSynchronize(s));
    for (auto &s : stream) CHECK(cudaStreamDestroy(s));
    for (int i = 0; i < n; i++)
        if (host[i] != float(i) * (1 << rounds)) return 1;
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
    printf("right\n");
    return 0;
}

static int events() {
    const int n = 1 << 20;
    float *x, ms = -1;
    CHECK(cudaMalloc(&x, n * 4));
    CHECK(cudaMemset(x, 0, n * 4));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    scale<<<n / 256, 256>>>(x, n, 2);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    printf("%d\n", ms > 0.001 && ms < 100); // a GPU loads the code in between
    return 0;
}

static int managed() {
    const int n = 1000;
    int *x;
    CHECK(cudaMallocManaged(&x, n * sizeof *x));
    for (int i = 0; i < n; i++) x[i] = 1;
    count_up<<<4, 256>>>(x, n);
    CHECK(cudaDeviceSynchronize());
    int status = sums_to(std::vector<int>(x, x + n));
    CHECK(cudaFree(x));
    return status;
}

static int symbols() {
    float chosen[4] = {1, 2, 3, 4}, *x, *y, read[4];
    const int n = 100;
    CHECK(cudaMemcpyToSymbol(coefficients, chosen, sizeof chosen));
    CHECK(cudaMemcpyFromSymbol(read, coefficients, 8, 8));
    CHECK(cudaMallocManaged(&x, n * 4));
    CHECK(cudaMallocManaged(&y, n * 4));
    for (int i = 0; i < n; i++) x[i] = i;
    polynomial<<<1, 128>>>(x, y, n);
    CHECK(cudaDeviceSynchronize());
    int counted;
    size_t size;
    void *place;
    CHECK(cudaMemcpyFromSymbol(&counted, total, sizeof counted));
    CHECK(cudaGetSymbolSize(&size, coefficients));
    CHECK(cudaGetSymbolAddress(&place, total));
    CHECK(cudaMemset(place, 0, 4));
    printf("%g %g %d %zu %d %g\n", y[2], read[1], counted, size, shared_total, y[10]);
    return 0;
}

static int peer() {
    const int n = 4096;
    int *a, *b;
    std::vector<int> x(n, 1), y(n);
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&a, n * 4));
    CHECK(cudaMemcpy(a, x.data(), n * 4, cudaMemcpyDefault));
    count_up<<<n / 256, 256>>>(a, n);
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&b, n * 4));
    CHECK(cudaMemcpyPeer(b, 1, a, 0, n * 4));
    count_up<<<n / 256, 256>>>(b, n);
    CHECK(cudaMemcpy(y.data(), b, n * 4, cudaMemcpyDeviceToHost));
    cudaPointerAttributes of;
    CHECK(cudaPointerGetAttributes(&of, b));
    printf("device %d, type %d\n", of.device, of.type);
    return sums_to(y);
}

static int pools() { // a pool's memory is another GPU's as well once that has access
    const int n = 4096;
    int *x;
    cudaMemPool_t pool;
    cudaMemAccessFlags flags;
    cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
    std::vector<int> y(n);
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolGetAccess(&flags, pool, &access.location));
    printf("%d ", flags);
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    CHECK(cudaMemPoolGetAccess(&flags, pool, &access.location));
    printf("%d\n", flags);
    CHECK(cudaMallocAsync(&x, n * 4, nullptr));
    CHECK(cudaMemsetAsync(x, 0, n * 4, nullptr));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(1));
    count_up<<<n / 256, 256>>>(x, n);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemcpy(y.data(), x, n * 4, cudaMemcpyDeviceToHost));
    return sums_to(y);
}

static int graph() {
    const int n = 1024;
    int *x;
    std::vector<int> y(n);
    CHECK(cudaMalloc(&x, n * 4));
    CHECK(cudaMemset(x, 0, n * 4));
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 3; i++) count_up<<<n / 256, 256, 0, stream>>>(x, n);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < 5; i++) CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(y.data(), x, n * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(graph));
    return sums_to(y);
}

static int grid_sync() {
    int n = 10000, *x, *sums, blocks;
    CHECK(cudaMallocManaged(&x, n * 4));
    CHECK(cudaMallocManaged(&sums, 4096));
    for (int i = 0; i < n; i++) x[i] = i;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reduce_all, 128, 0));
    void *arguments[] = {&x, &sums, &n};
    CHECK(cudaLaunchCooperativeKernel(reduce_all, 8, 128, arguments));
    CHECK(cudaDeviceSynchronize());
    printf("%d %d\n", blocks, sums[0]);
    dim3 many(1 << 20);
    cudaError_t status = cudaLaunchCooperativeKernel(reduce_all, many, dim3(128), arguments);
    printf("%s\n", cudaGetErrorName(status));
    return 0;
}

static int talks() {
    talk<<<2, 32>>>(1);
    printf("launched\n");
    CHECK(cudaDeviceSynchronize());
    talk<<<1, 32>>>(2);
    talk<<<1, 32>>>(3);
    CHECK(cudaDeviceSynchronize());
    printf("done\n");
    return 0;
}

static int leak() {
    void *p, *q;
    CHECK(cudaMalloc(&p, 1000));
    CHECK(cudaMalloc(&q, 2000));
    CHECK(cudaFree(p));
    return 0;
}

static int exceptions() {
    struct Buffer {
        float *p;
        explicit Buffer(size_t n) {
            if (cudaMalloc(&p, n) != cudaSuccess) throw std::runtime_error("no memory");
        }
        ~Buffer() {
            cudaFree(p);
            printf("freed\n");
        }
    };
    try {
        Buffer small(1 << 10);
        Buffer large(1ull << 60);
    } catch (const std::exception &error) {
        printf("caught: %s\n", error.what());
        return 0;
    }
    return 1;
}

static int threads() {
    const int n = 4096, parts = 4;
    std::vector<std::thread> running;
    std::vector<long> sums(parts);
    for (int t = 0; t < parts; t++)
        running.emplace_back([&, t] {
            int *x;
            std::vector<int> y(n, t);
            CHECK(cudaMalloc(&x, n * 4));
            CHECK(cudaMemcpy(x, y.data(), n * 4, cudaMemcpyHostToDevice));
            for (int i = 0; i < 8; i++) count_up<<<n / 256, 256>>>(x, n);
            cudaError_t mine = cudaSetDevice(t == 0 ? 7 : 0);
            CHECK(cudaMemcpy(y.data(), x, n * 4, cudaMemcpyDeviceToHost));
            if ((mine != cudaSuccess) != (t == 0)) exit(9);
            if ((cudaGetLastError() != cudaSuccess) != (t == 0)) exit(10); // a thread's own
            sums[t] = std::accumulate(y.begin(), y.end(), 0l);
        });
    for (auto &t : running) t.join();
    for (int t = 0; t < parts; t++) printf("%ld\n", sums[t]);
    return 0;
}

static int managed_in(int start) {
    int *x;
    CHECK(cudaMallocManaged(&x, 400));
    for (int i = 0; i < 100; i++) x[i] = start;
    count_up<<<1, 128>>>(x, 100);
    CHECK(cudaDeviceSynchronize());
    return sums_to(std::vector<int>(x, x + 100));
}

static int forks(const char *self) {
    fflush(stdout);
    for (int i = 0; i < 2; i++) { // before the first call: each child has GPUs of its own
        pid_t child = fork();
        if (child == 0) {
            managed_in(i);
            fflush(stdout);
            if (i == 0) _exit(4);
            execl(self, self, "managed", nullptr);
        }
        int status;
        waitpid(child, &status, 0);
        printf("child ended with %d\n", WEXITSTATUS(status));
        fflush(stdout);
    }
    managed_in(2);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) { // behind it: CUDA is of no use, as on a GPU
        void *p;
        printf("%s\n", cudaGetErrorName(cudaMalloc(&p, 4)));
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    return managed_in(3);
}

static int registered() {
    const int n = 5000;
    std::vector<int> x(n + 100, 1);
    int *mapped, *start = x.data() + 50;
    CHECK(cudaHostRegister(start, n * 4, cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer((void **)&mapped, start, 0));
    count_up<<<(n + 255) / 256, 256>>>(mapped, n);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaHostUnregister(start));
    return sums_to(x);
}

static int rows() {
    const int width = 100, height = 50, depth = 3;
    std::vector<int> in(width * height * depth), out(in.size());
    std::iota(in.begin(), in.end(), 0);
    size_t pitch;
    int *x;
    CHECK(cudaMallocPitch((void **)&x, &pitch, width * 4, height));
    CHECK(cudaMemcpy2D(x, pitch, in.data(), width * 4, width * 4, height, cudaMemcpyDefault));
    CHECK(cudaMemset2D(x, pitch, 0, 8, height));
    CHECK(cudaMemcpy2D(out.data(), width * 4, x, pitch, width * 4, height, cudaMemcpyDefault));
    sums_to(out);
    cudaPitchedPtr box;
    cudaExtent extent = make_cudaExtent(width * 4, height, depth);
    CHECK(cudaMalloc3D(&box, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(in.data(), width * 4, width, height);
    copy.dstPtr = box;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    std::swap(copy.srcPtr, copy.dstPtr);
    copy.dstPtr.ptr = out.data();
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    printf("%d\n", in == out);
    return 0;
}

static int host_functions() {
    static std::string said;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    talk<<<1, 32, 0, stream>>>(7);
    CHECK(cudaLaunchHostFunc(stream, [](void *data) { said += (const char *)data; }, (void *)"a"));
    CHECK(cudaStreamAddCallback(
        stream, [](cudaStream_t, cudaError_t e, void *data) { said += e ? "?" : (const char *)data; },
        (void *)"b", 0));
    CHECK(cudaStreamSynchronize(stream));
    printf("%s\n", said.c_str());
    return 0;
}

static int attributes() {
    cudaFuncAttributes of;
    CHECK(cudaFuncGetAttributes(&of, scale));
    int grid, block;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 0));
    CHECK(cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
    cudaFuncAttributes later;
    CHECK(cudaFuncGetAttributes(&later, scale));
    printf("%d %zu %d %d %d\n", of.maxThreadsPerBlock, of.sharedSizeBytes, of.numRegs > 0, block,
           later.maxDynamicSharedSizeBytes);
    return 0;
}

static int profiled() { // what is launched before, while and after profiling is asked for
    CHECK(cudaFree(nullptr));
    scale<<<1, 32>>>(nullptr, 0, 1);
    CHECK(cudaProfilerStart());
    count_up<<<1, 32>>>(nullptr, 0);
    CHECK(cudaProfilerStop());
    talk<<<1, 32>>>(1);
    CHECK(cudaDeviceSynchronize());
    return 0;
}

static int host_reads_device() {
    int *x;
    CHECK(cudaMalloc(&x, 4));
    fflush(stdout);
    printf("%d\n", *x); // the program's mistake: it ends with SIGSEGV, as on a GPU
    return 0;
}

static int hangs() {
    int *x;
    CHECK(cudaMalloc(&x, 4));
    printf("ready\n");
    fflush(stdout);
    for (;;) sleep(1);
}

__constant__ int is_wrong;
__global__ void lanes(int *out) {
    __shared__ int values[32];
    values[threadIdx.x] = threadIdx.x;
    if (is_wrong) out[threadIdx.x] = values[31 - threadIdx.x];
    if (threadIdx.x < 16 * is_wrong) out[threadIdx.x] += __shfl_sync(~0u, threadIdx.x, 3);
}
static int mistakes() {
    int *x, *y, *z, one = 1;
    CHECK(cudaMemcpyToSymbol(is_wrong, &one, sizeof one));
    CHECK(cudaMalloc(&x, 256));
    CHECK(cudaMallocAsync(&y, 256, 0));
    CHECK(cudaMalloc(&z, 512));
    lanes<<<1, 32>>>(x);
    CHECK(cudaFreeAsync(y, 0));
    cudaFreeAsync(y, 0);
    CHECK(cudaFree(x));
    cudaFree(x + 3);
    scale<<<1, 32>>>((float *)x, 32, 2);
    cudaDeviceSynchronize();
    return 0;
}

int main(int argc, char **argv) {
    std::string name = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    if (name == "forks") return forks(argv[0]);
    if (name == "streams") return streams(number);
    if (name == "exit") {
        CHECK(cudaFree(nullptr));
        return number;
    }
    if (name == "abort") {
        CHECK(cudaFree(nullptr));
        abort();
    }
    if (name == "raise") raise(number);
    if (name == "unchecked") {
        bad_store<<<1, 32>>>(nullptr);
        return 0;
    }
    std::map<std::string, int (*)()> programs = {
        {"devices", devices}, {"errors", errors}, {"fault", fault}, {"asserts", asserts},
        {"events", events}, {"managed", managed}, {"symbols", symbols}, {"peer", peer}, {"pools", pools}, {"profiled", profiled},
        {"graph", graph}, {"grid_sync", grid_sync}, {"talks", talks}, {"leak", leak},
        {"exceptions", exceptions}, {"threads", threads}, {"registered", registered},
        {"rows", rows}, {"host_functions", host_functions}, {"attributes", attributes},
        {"host_reads_device", host_reads_device}, {"hangs", hangs}, {"mistakes", mistakes},
    };
    return programs.count(name) ? programs[name]() : 64;
}
