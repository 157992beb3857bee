// Lanes that store a row each, few small elements at a time.
typedef unsigned u32;

__device__ __forceinline__ u32 clk() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

__device__ __forceinline__ void put(char *at, u32 value, unsigned char) {
    asm volatile("st.global.u8 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
__device__ __forceinline__ void put(char *at, u32 value, unsigned short) {
    asm volatile("{.reg .b16 v; cvt.u16.u32 v, %1; st.global.u16 [%0], v;}" ::"l"(at), "r"(value)
                 : "memory");
}
__device__ __forceinline__ void put(char *at, u32 value, u32) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// `COUNT` stores at once, of one element each
template <class T, int COUNT>
__device__ __forceinline__ void rows(char *array, int pitch, int rounds, int wait) {
    u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
    char *at = array + (size_t)thread * pitch;
#pragma unroll 1
    for (int i = 0; i < rounds; i++) {
#pragma unroll
        for (int k = 0; k < COUNT; k++) put(at + k * sizeof(T), i + k, T());
        at += COUNT * sizeof(T);
        if (wait > 0) {
            u32 start = clk();
            while (clk() - start < (u32)wait) {}
        }
    }
}

#define KERNEL(NAME, TYPE, COUNT)                                                      \
    extern "C" __global__ void NAME##_##COUNT(char *array, int pitch, int rounds, int wait) { \
        rows<TYPE, COUNT>(array, pitch, rounds, wait);                                 \
    }
#define KERNELS(NAME, TYPE) \
    KERNEL(NAME, TYPE, 1) KERNEL(NAME, TYPE, 2) KERNEL(NAME, TYPE, 4) KERNEL(NAME, TYPE, 8)
KERNELS(store_1, unsigned char)
KERNELS(store_2, unsigned short)
KERNELS(store_4, u32)
