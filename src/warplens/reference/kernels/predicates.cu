// The few wet cells are treated under a predicate in every round, where it is false for whole warps.
__global__ void before(const float* in, const int* wet, float* out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, is_wet = wet[i];
    float v = in[i], water = 0.0f;
    for (int k = 0; k < rounds; k++) {
        if (is_wet) { water = water * 0.5f + v; v = v * 0.9f + water; }
        v = v * 1.01f + 0.5f;
    }
    out[i] = v + water;
}

// Warps without a wet cell have a loop of their own.
__global__ void after(const float* in, const int* wet, float* out, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, is_wet = wet[i];
    float v = in[i], water = 0.0f;
    if (__any_sync(0xffffffff, is_wet)) {
        for (int k = 0; k < rounds; k++) {
            if (is_wet) { water = water * 0.5f + v; v = v * 0.9f + water; }
            v = v * 1.01f + 0.5f;
        }
    } else {
        for (int k = 0; k < rounds; k++) v = v * 1.01f + 0.5f;
    }
    out[i] = v + water;
}
