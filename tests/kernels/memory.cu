// Memory spaces: global, constant, shared, local and generic, in all widths.

__device__ int global_table[64] = {5, 4, 3, 2, 1};
__device__ long long global_sum;
__constant__ short constant_table[40] = {-3, 7, 11, 13, 17, 19, 23};
__device__ int* global_pointer = global_table + 2;

extern "C" __global__ void global_variables(int* out) {
    int t = threadIdx.x;
    global_table[t + 5] = t * 3;
    __syncthreads();
    out[t] = global_table[(t * 7) % 53] + global_pointer[1];
    atomicAdd((unsigned long long*)&global_sum, (unsigned long long)t);
    __syncthreads();
    if (t == 0) out[48] = (int)global_sum;
}

extern "C" __global__ void constant_indexed(const int* index, int* out) {
    int t = threadIdx.x;
    out[t] = constant_table[index[t]] + constant_table[3];
}

extern "C" __global__ void local_array(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a[24];
    for (int k = 0; k < 24; ++k) a[k] = in[i] + k * k;
    for (int k = 0; k < 24; ++k) {
        int j = (in[i] + 5 * k) % 24;
        int t = a[j];
        a[j] = a[k];
        a[k] = t;
    }
    int h = 0;
    for (int k = 0; k < 24; ++k) h = h * 31 + a[k];
    out[i] = h;
}

__device__ __noinline__ int through_pointer(const int* p, int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum = sum * 3 + p[i];
    return sum;
}
extern "C" __global__ void generic_pointers(const int* in, int* out) {
    __shared__ int s[32];
    int local[8], t = threadIdx.x;
    s[t] = in[t] * 2;
    for (int i = 0; i < 8; ++i) local[i] = in[t] + i;
    __syncthreads();
    const int* p = t % 3 == 0 ? in + t % 20 : t % 3 == 1 ? s + t % 20 : local;
    out[t] = through_pointer(p, 8);
    out[32 + t] = __isGlobal(p) + 2 * __isShared(p) + 4 * __isLocal(p);
}

extern "C" __global__ void widths(const unsigned char* in, unsigned char* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char* p = in + 32 * i;
    unsigned char* q = out + 32 * i;
    *(uint4*)q = *(const uint4*)p;
    *(uint2*)(q + 16) = *(const uint2*)(p + 16);
    *(unsigned*)(q + 24) = *(const unsigned*)(p + 24);
    *(unsigned short*)(q + 28) = *(const unsigned short*)(p + 28);
    q[30] = p[30];
    *(signed char*)(q + 31) = *(const signed char*)(p + 31) >> 1;
}

extern "C" __global__ void sign_extension(const signed char* a, const short* b, long long* out,
                                          int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = (long long)a[i] * 100000 + b[i];
}

struct Mixed {
    char c;
    double d;
    short s[3];
    float3 v;
    long long l;
};
extern "C" __global__ void struct_parameter(Mixed m, int pad, double* out) {
    int t = threadIdx.x;
    out[t] = m.c + m.d * t + m.s[t % 3] + m.v.x + m.v.y * m.v.z + (double)m.l + pad;
}

// Writes go to a[0..n), reads come from the reversed copy in dynamic shared memory.
extern "C" __global__ void dynamic_shared(int* data) {
    extern __shared__ int s[];
    __shared__ int fixed[3];
    int t = threadIdx.x, n = blockDim.x;
    s[t] = data[t];
    if (t < 3) fixed[t] = t + 100;
    __syncthreads();
    data[t] = s[n - 1 - t] + fixed[t % 3];
}

extern "C" __global__ void shared_vectors(const float4* in, double* out) {
    __shared__ float4 s[33];
    __shared__ double d[64];
    int t = threadIdx.x;
    s[(t * 5) % 33] = in[t];
    d[t] = t * 0.5;
    d[t + 32] = t * 0.25;
    __syncthreads();
    float4 v = s[((t + 1) % 32 * 5) % 33];
    double2 w = ((const double2*)d)[t];
    out[t] = (double)v.y + (double)v.w * w.x - w.y;
}

union Bits {
    double d;
    unsigned u[2];
    unsigned char b[8];
};
extern "C" __global__ void union_bytes(const double* in, unsigned* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    Bits v;
    v.d = in[i];
    unsigned h = 0;
    for (int k = 0; k < 8; ++k) h = h * 257 + v.b[(k + i) & 7];
    v.b[i & 7] ^= 0x40;
    out[i] = h ^ v.u[0] ^ v.u[1];
}

extern "C" __global__ void cached_loads(const int* __restrict__ a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = __ldg(a + i) + __ldcg(a + (i * 7) % n) + __ldcs(a + (i * 3) % n) + __ldca(a + i);
    asm volatile("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(out[i]) : "l"(a + i));
    __stcg(out + i, out[i] + v);
}

extern "C" __global__ void linked_list(const int* next, const int* value, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (int p = i; p != -1; p = next[p]) sum += value[p];
    out[i] = sum;
}

// Indexes and extents of 1-, 2- and 3-dimensional launches with partial warps.
extern "C" __global__ void thread_indexes(unsigned* out) {
    unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned lane, threads = blockDim.x * blockDim.y * blockDim.z;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    unsigned i = b * threads + t;
    out[i] = threadIdx.x | threadIdx.y << 8 | threadIdx.z << 12 | lane << 16 | warpSize << 24;
    out[gridDim.x * gridDim.y * gridDim.z * threads + i] =
        blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16;
}
