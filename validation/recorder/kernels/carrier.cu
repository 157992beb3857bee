// Space for machine code that is put together elsewhere (assembler.py): a kernel of 4,000
// instructions with the resources that such code may use. Never run as it is.
struct Constants {
    unsigned words[64];
};

#define TEN(x) x x x x x x x x x x
extern "C" __global__ void carrier(const uint4* in, uint4* out, uint4* scratch, Constants constants) {
    __shared__ uint4 shared[512];
    unsigned at = threadIdx.x & 511, sum = 0;
    unsigned local[64];
    for (int i = 0; i < 64; i++) local[i] = in[i].y;
    shared[at] = in[at];
    __syncthreads();
    TEN(TEN(TEN(asm volatile("{ .reg .u32 t; mov.u32 t, %%clock; add.u32 %0, %0, t; }" : "+r"(sum));
                asm volatile("{ .reg .u32 t; mov.u32 t, %%clock; add.u32 %0, %0, t; }" : "+r"(sum));)))
    out[at] = make_uint4(sum, shared[at ^ 1].x, constants.words[at & 63], local[scratch[at].x & 63]);
}
