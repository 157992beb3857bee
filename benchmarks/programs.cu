// Times launches and copies as a program sees them; prints one JSON object.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

__global__ void nothing(int *x) { if (threadIdx.x == 99) *x = 1; }

static double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main() {
    const size_t n = 400'000'000;
    const int launches = 500;
    int *x, device;
    cudaMalloc(&x, 4);
    nothing<<<1, 32>>>(x);
    nothing<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    double start = now();
    for (int i = 0; i < launches; i++) nothing<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    double launch = (now() - start) / launches;
    start = now();
    for (int i = 0; i < launches; i++) cudaDeviceSynchronize();
    double call = (now() - start) / launches;
    std::vector<char> a(n, 1), b(n, 2);
    char *d;
    cudaMalloc(&d, n);
    cudaMemcpy(d, a.data(), n, cudaMemcpyHostToDevice);
    start = now();
    cudaMemcpy(d, a.data(), n, cudaMemcpyHostToDevice);
    double copy = now() - start;
    start = now();
    cudaMemcpy(b.data(), d, n, cudaMemcpyDeviceToHost);
    double back = now() - start;
    start = now();
    memcpy(b.data(), a.data(), n);
    double plain = now() - start;
    cudaGetDevice(&device);
    printf("{\"launch_s\": %g, \"call_s\": %g, \"to_device_s\": %g, \"to_host_s\": %g, "
           "\"memcpy_s\": %g}\n", launch, call, copy, back, plain);
    return b[n - 1] != 1;
}
