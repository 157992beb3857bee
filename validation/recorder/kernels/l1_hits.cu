// A load, a load and store of another place, again and again: which of the loads still hit L1.
// options: -Xptxas=-O1
typedef unsigned u32;

__device__ __forceinline__ u32 now() {
    u32 v;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(v)::"memory");
    return v;
}

// Lane l reads `read` + (l % read_lanes) * read_stride, and reads and writes `write` + (l %
// write_lanes) * write_stride (strides in words), each a word further in every round.
// kinds: 1 the first load, 2 the second load, 4 the store. Each round ends when all have arrived.
extern "C" __global__ void rounds(u32 *clocks, const float *read, float *write, u32 read_lanes,
                                  u32 read_stride, u32 write_lanes, u32 write_stride, u32 kinds,
                                  u32 count, u32 apart) {
    __shared__ u32 took[2][64];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *from = read + (lane % read_lanes) * read_stride + warp * apart;
    float *to = write + (lane % write_lanes) * write_stride + warp * apart;
    u32 begin = now();
    for (u32 i = 0; i < count; i++) {
        float a = 0, b = 0;
        if (kinds & 1) asm volatile("ld.global.f32 %0, [%1];" : "=f"(a) : "l"(from + i) : "memory");
        if (kinds & 2) asm volatile("ld.global.f32 %0, [%1];" : "=f"(b) : "l"(to + i) : "memory");
        a += b;
        if (kinds & 4) asm volatile("st.global.f32 [%0], %1;" ::"l"(to + i), "f"(a) : "memory");
        if (a == 1e30f) from++;  // waits for the loads
        u32 end = now();
        if (lane == 0) took[warp][i % 64] = end - begin;
        begin = end;
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < 128; i += blockDim.x) clocks[i] = took[i / 64][i % 64];
}
