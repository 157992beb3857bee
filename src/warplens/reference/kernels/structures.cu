// An array of structures: each lane uses 4 of the 32 bytes of its sector.
struct Particle { float x, y, z, vx, vy, vz, mass, charge; };
__global__ void before(const Particle* p, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = p[i].mass * 2.0f;
}

// A structure of arrays: neighbouring lanes read neighbouring words.
__global__ void after(const float* mass, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = mass[i] * 2.0f;
}
