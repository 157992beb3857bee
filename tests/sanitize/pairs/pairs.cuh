// What every file of pairs begins with, behind its other headers: a kernel is built with its mistake
// (BUGGED) and without.
#ifdef BUGGED
#define BUG(...) __VA_ARGS__
#define FIX(...)
#else
#define BUG(...)
#define FIX(...) __VA_ARGS__
#endif
#ifndef KERNEL
#define KERNEL(name) extern "C" __global__ void name(int* a, int* b, int* c)
#endif
#define T threadIdx.x
#define B blockIdx.x
