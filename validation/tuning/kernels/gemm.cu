// C = A B in single precision. A block computes BM x BN, a thread TM x TN of it, BK at a time.
// PREFETCH loads the next tiles into registers while this one is used.
constexpr int TX = BN / TN, TY = BM / TM, THREADS = TX * TY;
constexpr int A_WORDS = BM * BK, B_WORDS = BK * BN;
constexpr int A_EACH = (A_WORDS + THREADS - 1) / THREADS, B_EACH = (B_WORDS + THREADS - 1) / THREADS;

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int k) {
    __shared__ float as[BK][BM + PAD];
    __shared__ float bs[BK][BN];
    const int tid = threadIdx.x, tx = tid % TX, ty = tid / TX;
    const float* a0 = a + (size_t)blockIdx.y * BM * k;
    const float* b0 = b + (size_t)blockIdx.x * BN;
    float sum[TM][TN] = {}, next_a[A_EACH], next_b[B_EACH];

    auto load = [&](int at) {
#pragma unroll
        for (int i = 0; i < A_EACH; i++) {
            int w = tid + i * THREADS;
            if (A_WORDS % THREADS == 0 || w < A_WORDS) next_a[i] = a0[(size_t)(w / BK) * k + at + w % BK];
        }
#pragma unroll
        for (int i = 0; i < B_EACH; i++) {
            int w = tid + i * THREADS;
            if (B_WORDS % THREADS == 0 || w < B_WORDS) next_b[i] = b0[(size_t)(at + w / BN) * n + w % BN];
        }
    };
    auto store = [&]() {
#pragma unroll
        for (int i = 0; i < A_EACH; i++) {
            int w = tid + i * THREADS;
            if (A_WORDS % THREADS == 0 || w < A_WORDS) as[w % BK][w / BK] = next_a[i];
        }
#pragma unroll
        for (int i = 0; i < B_EACH; i++) {
            int w = tid + i * THREADS;
            if (B_WORDS % THREADS == 0 || w < B_WORDS) bs[w / BN][w % BN] = next_b[i];
        }
    };

    if (PREFETCH) load(0);
    for (int at = 0; at < k; at += BK) {
        if (!PREFETCH) load(at);
        store();
        __syncthreads();
        if (PREFETCH && at + BK < k) load(at + BK);
#pragma unroll
        for (int j = 0; j < BK; j++) {
            float x[TM], y[TN];
#pragma unroll
            for (int i = 0; i < TM; i++) x[i] = as[j][ty * TM + i];
#pragma unroll
            for (int i = 0; i < TN; i++) y[i] = bs[j][tx + i * TX];
#pragma unroll
            for (int p = 0; p < TM; p++)
#pragma unroll
                for (int q = 0; q < TN; q++) sum[p][q] += x[p] * y[q];
        }
        __syncthreads();
    }
#pragma unroll
    for (int p = 0; p < TM; p++)
#pragma unroll
        for (int q = 0; q < TN; q++)
            c[(size_t)(blockIdx.y * BM + ty * TM + p) * n + blockIdx.x * BN + tx + q * TX] = sum[p][q];
}
