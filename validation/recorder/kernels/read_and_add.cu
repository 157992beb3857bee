// Blocks that read pieces of an array and add to a word: nothing of it, once a block, or once a warp.
// `mask` cuts the array (in vectors of 16 bytes), so that it may lie in L2; blocks add to words
// `apart` floats from each other, `words` of them (a power of two).
extern "C" __global__ void __launch_bounds__(128)
read_and_add(const float4* __restrict__ in, float* __restrict__ out, unsigned mask, int each,
             int adds, unsigned words, unsigned apart) {
    unsigned at = blockIdx.x * 128u * each + threadIdx.x;
    float sum = 1.0f;
#pragma unroll 8
    for (int i = 0; i < each; i++, at += 128) {
        const float4 v = in[at & mask];
        sum += v.x + v.y + v.z + v.w;
    }
    float* to = out + (size_t)((blockIdx.x * 0x9E3779B1u >> 16) & (words - 1)) * apart;
    if (adds == 0) {
        if (sum == 12345.0f) *to = sum;
    } else if (adds == 1) {
        if (__syncthreads_or(sum == 12345.0f) == 0 && threadIdx.x == 0) atomicAdd(to, sum);
    } else if (threadIdx.x % 32 == 0) {
        atomicAdd(to, sum);
    }
}
