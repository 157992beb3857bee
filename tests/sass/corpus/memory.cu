// Global, constant, shared (static and dynamic), local and generic memory in several widths.
__constant__ float filter[64] = {1, 2, 3};
__device__ int initialised[5] = {1, 2, 3, 4, 5};
__device__ int plain;
extern __shared__ float dynamic[];

__global__ void stencil(float* p, int n) {
    int i = threadIdx.x;
    dynamic[i] = p[i];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < n; k++) sum += dynamic[(i + k) & 127] * filter[k];
    __shared__ float4 quads[64];
    quads[i] = make_float4(sum, 1, 2, 3);
    __syncthreads();
    float4 other = quads[i ^ 1];
    p[i + n] = other.x + other.w;
}

__global__ void locals(int* p, int k) {
    int a[64];
    for (int i = 0; i < 64; i++) a[i] = p[i];
    a[k] = 3;
    p[k] = a[p[k] & 63];
    int* either = (k & 1) ? a : p;
    either[k] = 7;
    p[3] = a[2] + initialised[k];
    plain = k;
}

__global__ void hints(int4* p, const int4* q, int* r) {
    int4 v = __ldg(q + threadIdx.x);
    __stcs(p + threadIdx.x, v);
    r[0] = __ldcv(r + 1);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
    asm volatile("st.release.sys.s32 [%0],%1;" ::"l"(r + 8), "r"(3));
}

__global__ void transpose(float* out, const float* in, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    out[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] =
        tile[threadIdx.x][threadIdx.y];
}
