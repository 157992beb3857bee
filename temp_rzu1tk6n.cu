#define WRONG 4
#define block_size_x 32
#define PER 4
#line 1

__constant__ float scale[2];
__global__ void scaled(float* out, const float* in, int n) {
    extern __shared__ float staged[];
    int i = blockIdx.x * block_size_x * PER + threadIdx.x;
    for (int k = 0; k < PER; k++, i += block_size_x) {
        staged[threadIdx.x] = i < n ? in[i] : 0;
        if (i < n) out[i] = scale[0] * staged[threadIdx.x] + (PER == WRONG ? 9 : scale[1]);
    }
}
