// What every file of pairs begins with, behind its other headers.
#include "../../bugged.cuh"
#ifndef KERNEL
#define KERNEL(name) extern "C" __global__ void name(int* a, int* b, int* c)
#endif
#define T threadIdx.x
#define B blockIdx.x
