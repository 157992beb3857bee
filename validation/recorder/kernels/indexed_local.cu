// Local arrays that each lane walks through, where to go next read from the array.
template <class T, int TIMES, int MORE>
__device__ __forceinline__ void walk(int *out, int n, int spread, int store) {
    T a[256];
    for (int i = 0; i < 256; i++) a[i] = (T)((i * TIMES + MORE) & 255);
    int p = (threadIdx.x % 32) * spread & 255;
    for (int i = 0; i < n; i++) {
        int q = (int)a[p];
        if (store) a[p] = (T)((q + 1) & 255);
        p = (p + q) & 255;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = p;
}

#define KERNEL(NAME, TYPE, ...)                                               \
    extern "C" __global__ void NAME(int *out, int n, int spread, int store) { \
        walk<TYPE, __VA_ARGS__>(out, n, spread, store);                       \
    }
// From p to 7p + 3: lanes stay as far apart as they begin
KERNEL(walk_byte, unsigned char, 6, 3)
KERNEL(walk_int, int, 6, 3)
KERNEL(walk_double, double, 6, 3)
// From p to 8p + 1: all lanes meet at 73 after three steps, and stay there unless they store
KERNEL(meet_byte, unsigned char, 7, 1)
KERNEL(meet_int, int, 7, 1)
KERNEL(meet_double, double, 7, 1)
