// Sums a hundred million integers as an article does that shows where its program's time goes:
// four of them a thread, then a tree in shared memory, then the last 64 by shuffles.
#include <cstdio>
#include <vector>

#define CHECK(call)                                                                             \
    if (cudaError_t status = (call)) {                                                          \
        fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                         \
        return 1;                                                                               \
    }

__global__ void sum_of_all(const int4 *x, int *out, int n) {
    __shared__ int part[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    int4 v = i < n ? x[i] : make_int4(0, 0, 0, 0);
    part[t] = v.x + v.y + v.z + v.w;
    __syncthreads();
    if (t < 64) part[t] += part[t + 64];
    __syncthreads();
    if (t >= 32) return;
    int sum = part[t] + part[t + 32];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (t == 0) atomicAdd(out, sum);
}

int main() {
    const int n = 100000000;
    std::vector<int> x(n, 1);
    int *in, *out, sum = 0;
    CHECK(cudaMalloc(&in, n * sizeof(int)));
    CHECK(cudaMalloc(&out, sizeof(int)));
    CHECK(cudaMemcpy(in, x.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(out, &sum, sizeof(int), cudaMemcpyHostToDevice));
    sum_of_all<<<(n / 4 + 127) / 128, 128>>>((const int4 *)in, out, n / 4);
    CHECK(cudaMemcpy(&sum, out, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", sum);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    return 0;
}
