// Many predicates at once: bits of a word that become predicates seven at a time (R2P with a byte
// selector), and more conditions alive than there are predicate registers (P2R).

__device__ constexpr unsigned table_entry(int bit) {
    unsigned r = 0x04c11db7u;
    for (int i = 0; i < bit; ++i) r = (r << 1) ^ (r >> 31 ? 0x04c11db7u : 0u);
    return r;
}

template <int bit> __device__ void fold_from(unsigned word, unsigned &hash) {
    if constexpr (bit < 32) {
        constexpr unsigned entry = table_entry(bit);
        if (word & (1u << bit)) hash ^= entry;
        fold_from<bit + 1>(word, hash);
    }
}

extern "C" __global__ void fold_bits(const unsigned *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned hash = 0;
    fold_from<0>(in[i], hash);
    out[i] = hash;
}

extern "C" __global__ void spread_bits(const unsigned *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned word = in[i];
#pragma unroll
    for (int bit = 0; bit < 32; ++bit)
        if (word & (1u << bit)) out[bit * n + i] += 7 * bit + 1;
}

extern "C" __global__ void many_conditions(const unsigned *in, unsigned *out, int n) {
    constexpr int count = 26;
    int i = threadIdx.x;
    unsigned value[count];
    bool greater[count];
#pragma unroll
    for (int k = 0; k < count; ++k) value[k] = in[k * n + i];
#pragma unroll
    for (int k = 0; k < count; ++k) greater[k] = value[k] > value[(k + 1) % count];
#pragma unroll
    for (int round = 0; round < 3; ++round) {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < count; ++k)
            if (greater[k]) out[(round * count + k) * n + i] = value[k] + round;
    }
}
