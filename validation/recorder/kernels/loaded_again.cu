// A block loads an array twice, in one way and then in another.
typedef unsigned u32;

template <int KIND> __device__ __forceinline__ u32 load(const u32 *p) {
    if (KIND == 0) return *(const volatile u32 *)p;
    if (KIND == 1) return __ldcs(p);
    if (KIND == 2) return __ldlu(p);
    return __ldg(p);
}
template <int KIND> __device__ __forceinline__ u32 load(const uint4 *p) {
    uint4 r;
    if (KIND == 0) asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "l"(p));
    if (KIND == 1) r = __ldcs(p);
    if (KIND == 2) r = __ldlu(p);
    if (KIND == 3) r = __ldg(p);
    return r.x ^ r.y ^ r.z ^ r.w;
}

// Each warp loads `rows` of `row` elements of T, one after the other: all of a row, then all of it again.
template <typename T, int FIRST, int AGAIN>
__device__ void twice(u32 *out, const T *a, u32 row, u32 rows) {
    u32 sum = 0;
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (u32 r = 0; r < rows; r++) {
        const T *mine = a + (r * warps + warp) * row;
        for (u32 i = lane; i < row; i += 32) sum += load<FIRST>(mine + i);
        sum = __shfl_xor_sync(~0u, sum, 1);
        for (u32 i = lane; i < row; i += 32) sum ^= load<AGAIN>(mine + i);
    }
    if (sum == 12345) out[threadIdx.x] = sum;
}
#define KERNEL(NAME, T, FIRST, AGAIN)                                                                   \
    extern "C" __global__ void NAME##_##FIRST##_##AGAIN(u32 *out, const T *a, u32 row, u32 rows) {      \
        twice<T, FIRST, AGAIN>(out, a, row, rows);                                                      \
    }
#define KERNELS(NAME, T)                                                                                \
    KERNEL(NAME, T, 0, 0) KERNEL(NAME, T, 0, 1) KERNEL(NAME, T, 0, 2) KERNEL(NAME, T, 3, 3)             \
    KERNEL(NAME, T, 3, 1) KERNEL(NAME, T, 3, 2) KERNEL(NAME, T, 1, 1) KERNEL(NAME, T, 1, 0) KERNEL(NAME, T, 1, 3)
KERNELS(words, u32)
KERNELS(quads, uint4)
