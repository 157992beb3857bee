// Bodies that all attract each other: each thread first reads its own one, from the array that all
// blocks then read (`of_all`), or from another (`apart`). `flush` fills L2 with something else.
__device__ __forceinline__ void attract(float* out, const float4* bodies, const float4* own, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 me = own[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (unsigned j = 0; j < n; j++) {
        const float4 other = bodies[j];
        const float x = other.x - me.x, y = other.y - me.y, z = other.z - me.z;
        const float r = rsqrtf(x * x + y * y + z * z + 1e-3f);
        const float f = other.w * r * r * r;
        ax += f * x, ay += f * y, az += f * z;
    }
    out[i] = ax + ay + az;
}
extern "C" __global__ void of_all(float* out, const float4* bodies, unsigned n) {
    attract(out, bodies, bodies, n);
}
extern "C" __global__ void apart(float* out, const float4* bodies, const float4* own, unsigned n) {
    attract(out, bodies, own, n);
}
extern "C" __global__ void flush(float4* out, const float4* in, unsigned n) {
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i].x;
    if (sum == 1.5f) out[0].x = sum;
}
extern "C" __global__ void nothing() {}
