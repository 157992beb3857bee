// Room for machine code as in carrier.cu, in many kernels of one module: patched code is counted
// for the first module that a process loads.
struct Constants {
    unsigned words[64];
};

#define TEN(x) x x x x x x x x x x
#define ROOM(n)                                                                                        \
    extern "C" __global__ void carrier##n(const uint4* in, uint4* out, uint4* scratch, Constants c) {  \
        unsigned sum = 0;                                                                              \
        TEN(TEN(TEN(asm volatile("{ .reg .u32 t; mov.u32 t, %%clock; add.u32 %0, %0, t; }" : "+r"(sum));))) \
        out[threadIdx.x & 511] = make_uint4(sum, in[0].x, c.words[threadIdx.x & 63], scratch[0].x);    \
    }
#define EIGHT(n) ROOM(n##0) ROOM(n##1) ROOM(n##2) ROOM(n##3) ROOM(n##4) ROOM(n##5) ROOM(n##6) ROOM(n##7)
EIGHT(0) EIGHT(1) EIGHT(2) EIGHT(3) EIGHT(4) EIGHT(5) EIGHT(6) EIGHT(7)
