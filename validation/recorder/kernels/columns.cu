// Warps whose lanes are in a row of a matrix each and walk along it, a sector at a time.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 row_of(u64 data, u64 pitch) {
    return data + pitch * (blockIdx.x * blockDim.x + threadIdx.x);
}

extern "C" __global__ void columns_load(u32 *out, u64 data, u64 pitch, u32 sectors) {
    u64 at = row_of(data, pitch);
    u32 sum = 0;
#pragma unroll 4
    for (u32 i = 0; i < sectors; i++, at += 32) {
        u32 word;
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
        sum += word;
    }
    if (sum == 12345) out[threadIdx.x] = sum;
}

extern "C" __global__ void columns_store(u32 *out, u64 data, u64 pitch, u32 sectors) {
    u64 at = row_of(data, pitch);
#pragma unroll 4
    for (u32 i = 0; i < sectors; i++, at += 32)
        asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};\n\t"
                     "st.global.v4.u32 [%0+16], {%1, %1, %1, %1};" ::"l"(at), "r"(i) : "memory");
}
