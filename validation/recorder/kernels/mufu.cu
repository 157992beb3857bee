// One multi-function-unit instruction per element. The build step replaces the function selector
// of the single MUFU by each of the others, so that the raw instruction is seen for every input.
// The loops have no tail: n is a multiple of the grid.

extern "C" __global__ void mufu_f32(unsigned *out, unsigned first, unsigned step) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = __uint_as_float(first + i * step), y;
    asm volatile("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    out[i] = __float_as_uint(y);
}

extern "C" __global__ void mufu_list(unsigned *out, const unsigned *in, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = __uint_as_float(in[i]), y;
    asm volatile("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    out[i] = __float_as_uint(y);
}

#define HALF(name, op)                                                                     \
    extern "C" __global__ void name(unsigned *out, const unsigned *in) {                   \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                \
        unsigned short x = (unsigned short)in[i], y;                                       \
        asm volatile(op " %0, %1;" : "=h"(y) : "h"(x));                                    \
        out[i] = y;                                                                        \
    }
HALF(mufu_ex2_f16, "ex2.approx.f16")
HALF(mufu_ex2_bf16, "ex2.approx.ftz.bf16")
HALF(mufu_tanh_f16, "tanh.approx.f16")
HALF(mufu_tanh_bf16, "tanh.approx.bf16")
