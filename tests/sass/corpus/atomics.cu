// Atomics on global and shared memory, reductions without result, a spin lock.
__global__ void atomics(int* a, float* f, double* d, unsigned long long* u, unsigned* q) {
    int i = threadIdx.x;
    __shared__ int s[32];
    s[i] = 0;
    __syncthreads();
    atomicAdd(a, i);
    int old = atomicMax(a + 1, i);
    atomicCAS(a + 2, old, i);
    atomicExch(f, 1.f);
    atomicAdd(f + 1, 2.5f);
    atomicAdd(d, 1.0);
    atomicMin(u, 5ull + i);
    atomicInc(q, 7);
    atomicXor(q + 1, i);
    atomicAdd(&s[old & 31], 1);
    atomicCAS(&s[3], i, old);
    __syncthreads();
    a[i + 5] = s[i] + atomicAdd_system(a, 3);
    atomicCAS(u + 1, 3ull, (unsigned long long)i);
}

__global__ void lock(int* mutex, int* count) {
    bool done = false;
    while (!done) {
        if (atomicCAS(mutex, 0, 1) == 0) {
            *count += 1;
            __threadfence();
            atomicExch(mutex, 0);
            done = true;
        }
    }
}
