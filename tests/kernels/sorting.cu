// Sorting networks, radix sort, merging, binary search and hash tables.

extern "C" __global__ void bitonic_sort(int* data) {
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = data[blockIdx.x * 256 + t];
    __syncthreads();
    for (int k = 2; k <= 256; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int other = t ^ j;
            if (other > t) {
                int a = s[t], b = s[other];
                if ((a > b) == ((t & k) == 0)) {
                    s[t] = b;
                    s[other] = a;
                }
            }
            __syncthreads();
        }
    data[blockIdx.x * 256 + t] = s[t];
}

extern "C" __global__ void odd_even_sort(float* data, int n) {
    extern __shared__ float f[];
    int t = threadIdx.x;
    if (t < n) f[t] = data[t];
    for (int round = 0; round < n; ++round) {
        __syncthreads();
        int i = 2 * t + (round & 1);
        if (i + 1 < n && f[i] > f[i + 1]) {
            float x = f[i];
            f[i] = f[i + 1];
            f[i + 1] = x;
        }
    }
    __syncthreads();
    if (t < n) data[t] = f[t];
}

// Each lane holds one key; compare-exchange by shuffles.
extern "C" __global__ void warp_sort(unsigned long long* data) {
    int lane = threadIdx.x;
    unsigned long long v = data[blockIdx.x * 32 + lane];
    for (int k = 2; k <= 32; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            unsigned long long w = __shfl_xor_sync(0xffffffffu, v, j);
            bool keep_small = ((lane & k) == 0) == ((lane & j) == 0);
            if (keep_small ? w < v : w > v) v = w;
        }
    data[blockIdx.x * 32 + lane] = v;
}

// Least significant digit first, one bit per pass, stable, one block of 128.
extern "C" __global__ void radix_sort(unsigned* data) {
    __shared__ unsigned s[128];
    __shared__ int zeros[4];
    int t = threadIdx.x, lane = t & 31, w = t >> 5;
    unsigned v = data[t];
    for (int bit = 0; bit < 32; ++bit) {
        unsigned ones = __ballot_sync(0xffffffffu, v >> bit & 1);
        if (lane == 0) zeros[w] = 32 - __popc(ones);
        __syncthreads();
        int before = 0, all = 0;
        for (int i = 0; i < 4; ++i) {
            if (i < w) before += zeros[i];
            all += zeros[i];
        }
        int ones_before = __popc(ones & ((1u << lane) - 1));
        int place = v >> bit & 1 ? all + (w * 32 - before) + ones_before
                                 : before + lane - ones_before;
        s[place] = v;
        __syncthreads();
        v = s[t];
    }
    data[t] = v;
}

// Each thread finds its output by binary search along a diagonal.
extern "C" __global__ void merge_path(const short* a, const short* b, short* out, int na, int nb) {
    int d = blockIdx.x * blockDim.x + threadIdx.x;
    if (d >= na + nb) return;
    int low = max(0, d - nb), high = min(d, na);
    while (low < high) {
        int mid = (low + high) / 2;
        if (a[mid] <= b[d - 1 - mid])
            low = mid + 1;
        else
            high = mid;
    }
    int i = low, j = d - low;
    out[d] = j >= nb || (i < na && a[i] <= b[j]) ? a[i] : b[j];
}

extern "C" __global__ void binary_search(const double* table, const double* wanted, int* found,
                                         int n, int m) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= m) return;
    int low = 0, high = n;
    while (low < high) {
        int mid = low + (high - low) / 2;
        if (table[mid] < wanted[t])
            low = mid + 1;
        else
            high = mid;
    }
    found[t] = low;
}

__device__ unsigned mix(unsigned k) {
    k ^= k >> 16;
    k *= 0x85ebca6bu;
    k ^= k >> 13;
    k *= 0xc2b2ae35u;
    return k ^ (k >> 16);
}

// Open addressing; keys are inserted once, counts added.
extern "C" __global__ void hash_insert(const unsigned* keys, unsigned* table, unsigned* counts,
                                       unsigned mask, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = keys[i], slot = mix(key) & mask;
    for (;;) {
        unsigned old = atomicCAS(&table[slot], 0u, key);
        if (old == 0 || old == key) break;
        slot = (slot + 1) & mask;
    }
    atomicAdd(&counts[slot], 1u);
}

// 64-bit key and value exchanged together.
extern "C" __global__ void hash_cuckoo_evict(unsigned long long* table, const unsigned* keys,
                                             unsigned* lost, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long entry = (unsigned long long)keys[i] << 32 | (unsigned)i;
    for (int tries = 0; tries < 40; ++tries) {
        unsigned key = entry >> 32;
        unsigned slot = tries & 1 ? mix(key ^ 0x9e3779b9u) & 255 : mix(key) & 255;
        entry = atomicExch(&table[slot], entry);
        if (entry == 0) return;
    }
    atomicAdd(lost, 1u);
}
