// Each warp goes from one line to the next and loads it `SAME` times, shifted by a word each time: the
// first load asks for the line, the others find it on its way (a step of 32 words) or there (a step of 0).
template <int SAME>
__device__ __forceinline__ void rows(float* out, const float* in, int count, int step) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const float* p = in + (size_t)warp * count * step + lane;
    float s[4] = {};
    for (int k = 0; k < count; k++, p += step) {
        float v[SAME];
#pragma unroll
        for (int i = 0; i < SAME; i++) asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v[i]) : "l"(p + i));
#pragma unroll
        for (int i = 0; i < SAME; i++) { s[i % 4] += v[i] * 1.5f; }
    }
    const float total = s[0] + s[1] + s[2] + s[3];
    if (total == 1.25f) out[warp] = total;
}
#define ROWS(N) extern "C" __global__ void __launch_bounds__(256) rows_##N(float* o, const float* i, int c, int p) { rows<N>(o, i, c, p); }
ROWS(1) ROWS(2) ROWS(4) ROWS(7) ROWS(14) ROWS(28)
