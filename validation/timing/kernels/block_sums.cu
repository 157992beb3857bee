// Sums of ints per block with one atomic, as a published ladder of an RTX 4060 describes them: one
// int a thread; one int4 a thread through four times the shared memory, the grid not made smaller;
// one int4 a thread in registers; and that with shuffles for the last steps.
typedef unsigned u32;

template <int N> __device__ void tree(int* part, int* out) {
    for (size_t half = N / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

template <int N> __global__ void one_int(const int* in, int* out, int n) {
    __shared__ int part[N];
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = at < n ? in[at] : 0;
    __syncthreads();
    tree<N>(part, out);
}

template <int N> __global__ void int4_shared(const int* in, int* out, int n) {
    __shared__ int part[4 * N];
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    int4 v = make_int4(0, 0, 0, 0);
    if (at * 4 < n) v = ((const int4*)in)[at];
    ((int4*)part)[threadIdx.x] = v;
    __syncthreads();
    size_t first = threadIdx.x * 4;
    int sum = part[first] + part[first + 1] + part[first + 2] + part[first + 3];
    __syncthreads();
    part[threadIdx.x] = sum;
    __syncthreads();
    tree<N>(part, out);
}

__device__ int four(const int* in, u32 at, int n) {
    if (at * 4 >= n) return 0;
    int4 v = ((const int4*)in)[at];
    return v.x + v.y + v.z + v.w;
}

template <int N> __global__ void int4_registers(const int* in, int* out, int n) {
    __shared__ int part[N];
    part[threadIdx.x] = four(in, blockIdx.x * blockDim.x + threadIdx.x, n);
    __syncthreads();
    tree<N>(part, out);
}

template <int N> __global__ void int4_shuffle(const int* in, int* out, int n) {
    __shared__ int part[N];
    u32 t = threadIdx.x;
    part[t] = four(in, blockIdx.x * blockDim.x + t, n);
    __syncthreads();
    for (size_t half = N / 2; half > 32; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t < 32) {
        int v = part[t] + part[t + 32];
        for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
        if (t == 0) atomicAdd(out, v);
    }
}
