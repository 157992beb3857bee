// What a load waits for L2 where its line was changed a moment ago, by another SM or the same one:
// `reader` goes through lines, each load after the one before, behind every change by `writer`.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 load_strong(const u32 *p) {
    u32 v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

__device__ __forceinline__ void change(u32 *line, u32 kind) {
    u32 lane = threadIdx.x;
    if (kind == 1 && lane == 0) asm volatile("st.global.u32 [%0], %1;" ::"l"(line), "r"(0) : "memory");
    if (kind == 2) asm volatile("st.global.u32 [%0], %1;" ::"l"(line + lane), "r"(0) : "memory");
    if (kind == 3 && lane == 0) atomicAdd(line, 0u);
    if (kind == 4 && lane == 0) {
        u32 v = load_strong(line);
        asm volatile("st.global.u32 [%0], %1;" ::"l"(line + (v & 1)), "r"(0) : "memory");
    }
    if (kind == 5 && lane == 0) load_strong(line);
}

// Lines lie `pitch` words apart. `out`: per pass and line the cycles of the last round.
extern "C" __global__ void written_lines(u32 *out, u32 *a, volatile u32 *flags, u32 lines,
                                         u32 pitch, u32 reader, u32 writer, u32 kind, u32 rounds,
                                         u32 passes) {
    extern __shared__ u32 alone[];
    if (blockIdx.x != reader && blockIdx.x != writer) return;
    for (u32 r = 0; r < rounds; r++) {
        if (blockIdx.x == writer) {
            while (flags[0] < r) {
            }
            __syncwarp();
            for (u32 i = 0; i < lines; i++) change(a + (u64)i * pitch, kind);
            __threadfence();
            if (threadIdx.x == 0) flags[1] = r + 1;
        }
        if (blockIdx.x == reader) {
            while (flags[1] < r + 1) {
            }
            __syncwarp();
            if (threadIdx.x == 0) {
                u32 v = 0;
                for (u32 p = 0; p < passes; p++)
                    for (u32 i = 0; i < lines; i++) {
                        u64 begin = clock64();
                        v = load_strong(a + (u64)i * pitch + (v & 1));
                        if (v == 12345) out[0] = 1;
                        u64 end = clock64();
                        if (r == rounds - 1) out[p * lines + i] = (u32)(end - begin);
                    }
                __threadfence();
                flags[0] = r + 1;
            }
            __syncwarp();
        }
    }
}

// Warps of all SMs load lines anywhere in a region, each behind the one before, and now and then
// change another one. `out`: per block its cycles.
extern "C" __global__ void changing_lines(u32 *out, u32 *a, u32 lines, u32 pitch, u32 steps,
                                          u32 every, u32 kind) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    u32 state = (blockIdx.x * 64 + warp) * 2654435761u + 12345u, v = 0;
    u64 begin = clock64();
    for (u32 i = 0; i < steps; i++) {
        state = state * 1664525u + 1013904223u + (v & 1);
        u32 *line = a + (u64)((state >> 8) % lines) * pitch;
        v = load_strong(line + lane);
        if (i % every == 0) {
            state = state * 1664525u + 1013904223u;
            u32 *other = a + (u64)((state >> 8) % lines) * pitch;
            if (kind == 1 && lane == 0) asm volatile("st.global.u32 [%0], %1;" ::"l"(other), "r"(0) : "memory");
            if (kind == 2) asm volatile("st.global.u32 [%0], %1;" ::"l"(other + lane), "r"(0) : "memory");
            if (kind == 3 && lane == 0) atomicAdd(other, 0u);
            if (kind == 5) v += load_strong(other + lane);
        }
    }
    if (v == 12345) out[0] = v;
    u64 end = clock64();
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = (u32)(end - begin);
}
