// How long a load takes of what its warp has stored, or loaded, some cycles before.
typedef unsigned u32;

__device__ __forceinline__ u32 ticks() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

// A warp stores (or loads) a line, waits, and loads it; cycles of the last to `out`, line by line.
template <int KIND>
__device__ void stored_waits(u32 *out, u32 *data, u32 lines, u32 wait) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    data += warp * lines * 32 + lane;
    for (u32 i = 0; i < lines; i++) {
        u32 *p = data + i * 32, sum = 0;
        __syncthreads();
        if (KIND == 0) asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(i) : "memory");
        if (KIND == 1) asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(p), "r"(i) : "memory");
        if (KIND == 2) asm volatile("ld.global.u32 %0, [%1];" : "=r"(sum) : "l"(p) : "memory");
        u32 begin = ticks();
        while (ticks() - begin < wait) {}
        u32 start = ticks(), v;
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(warp * 128 + lane * 4), "r"(v ^ sum) : "memory");
        u32 end = ticks();
        if (lane == 0) out[warp * lines + i] = end - start;
    }
}

#define WAITS(NAME, KIND)                                                                     \
    extern "C" __global__ void waits_##NAME(u32 *out, u32 *data, u32 lines, u32 wait) {       \
        __shared__ u32 room[1024];                                                            \
        if (lines == 0) out[0] = room[threadIdx.x];                                           \
        stored_waits<KIND>(out, data, lines, wait);                                           \
    }
WAITS(stored, 0)
WAITS(streamed, 1)
WAITS(loaded, 2)
