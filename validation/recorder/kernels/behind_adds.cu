// Warps that add to few words, and one that loads meanwhile: what loads wait for, and when SMs end.
typedef unsigned u32;
typedef unsigned long long u64;
__device__ __forceinline__ u32 now() { u32 v; asm volatile("mov.u32 %0, %%clock;" : "=r"(v)::"memory"); return v; }
__device__ __forceinline__ u64 ns() { u64 v; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(v)::"memory"); return v; }
__device__ __forceinline__ void add(float *p) { asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p), "f"(1.0f) : "memory"); }
__device__ __forceinline__ u32 load(const u32 *p) { u32 v; asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
// kind 0: all lanes on one word, 1: each fourth lane in a sector of its own, 2: one lane, 3: 32 words in a row, 4: two lanes a sector, 16 of them
// words of 256 bytes: `pairs` of lines; each warp's adds walk through them from its own place.
extern "C" __global__ void behind_adds(u32 *out, float *words, const u32 *data, u32 mask, int kind, int rounds, int pairs, int probes, int fenced) {
    __shared__ u32 kept[256];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32, b = blockIdx.x;
    u32 *mine = out + b * 256;
    for (u32 i = threadIdx.x; i < 256; i += blockDim.x) kept[i] = 0;
    __syncthreads();
    const u32 begin = now();
    if (warp < warps - 1) {
        u32 at = (b * 7 + warp * 3) % pairs;
#pragma unroll 1
        for (int r = 0; r < rounds; r++) {
            float *p = words + at * 64;
            if (kind == 0) add(p);
            else if (kind == 1) { if (lane % 4 == 0) add(p + lane / 4 * 8); }
            else if (kind == 2) { if (lane == 0) add(p); }
            else if (kind == 3) add(p + lane);
            else add(p + lane / 4 * 8 + (lane & 3));
            at = at + 1 == pairs ? 0 : at + 1;
        }
        const u32 sent = now();
        if (fenced) __threadfence();
        if (lane == 0) { atomicMax(&kept[0], sent - begin); atomicMax(&kept[1], now() - begin); }
    } else {
        u32 v = 0;
#pragma unroll 1
        for (int i = 0; i < probes; i++) {
            const u32 to = (b * 64 + i) * 0x9E3779B1u + (i & 1 ? lane * 0x85EBCA6Bu : 0);
            const u32 line = (to >> 7) & mask;
            const u32 t = now();
            v = load(data + line * 32 + (i & 1 ? 0 : lane));
            if (v == 12345u) kept[200] = v;
            const u32 e = now();
            if (lane == 0) { kept[16 + 2 * i] = t - begin; kept[17 + 2 * i] = e - t; }
        }
        if (lane == 0) kept[2] = now() - begin;
    }
    __syncthreads();
    if (probes >= 0) for (u32 i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = kept[i];
    if (probes >= 0 && threadIdx.x == 0) { u32 id; asm volatile("mov.u32 %0, %%smid;" : "=r"(id)); mine[7] = id; }
    if (fenced && threadIdx.x == 0) { mine[4] = (u32)ns(); mine[5] = now() - begin; }
}
