// Long blocks that begin together: how long as many as an SM holds take, with and without barriers.
typedef unsigned u32;

#define STEPS(N) _Pragma("unroll") for (int k = 0; k < N; k++)

// Chains of multiply-adds: each waits for the last one.
extern "C" __global__ void chains(float *out, u32 turns, float a, float b) {
    float x = threadIdx.x;
    for (u32 i = 0; i < turns; i++) STEPS(32) x = x * a + b;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// Two and four chains side by side.
extern "C" __global__ void two_chains(float *out, u32 turns, float a, float b) {
    float x = threadIdx.x, y = blockIdx.x;
    for (u32 i = 0; i < turns; i++) STEPS(16) x = x * a + b, y = y * a + b;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + y;
}
extern "C" __global__ void four_chains(float *out, u32 turns, float a, float b) {
    float x = threadIdx.x, y = blockIdx.x, z = x + 1.0f, w = y + 1.0f;
    for (u32 i = 0; i < turns; i++)
        STEPS(8) x = x * a + b, y = y * a + b, z = z * a + b, w = w * a + b;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + y + z + w;
}

// A tile in shared memory for every round, as products of matrices have.
extern "C" __global__ void tiles(float *out, u32 turns, float a, float b) {
    __shared__ float tile[1024];
    float x = threadIdx.x, y = blockIdx.x, z = x + 1.0f, w = y + 1.0f;
    for (u32 i = 0; i < turns; i++) {
        tile[threadIdx.x] = x;
        __syncthreads();
        STEPS(8) {
            float t = tile[k * 16 + (threadIdx.x & 15)];
            x = x * a + t, y = y * b + t, z = z * a + t, w = w * b + t;
        }
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + y + z + w;
}

// Square roots: the unit for special functions takes eight cycles for a warp.
extern "C" __global__ void roots(float *out, u32 turns, float a, float b) {
    float x = threadIdx.x, y = blockIdx.x;
    for (u32 i = 0; i < turns; i++) STEPS(4) {
        asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
        x = x * a + b, y = y * a + x, x = x * b + y, y = y * b + a;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + y;
}
