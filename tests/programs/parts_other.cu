// The other file.
__constant__ int step;
__device__ __noinline__ int from_another_file(int x) { return x * x; }
void set_step(int value) { cudaMemcpyToSymbol(step, &value, sizeof value); }
