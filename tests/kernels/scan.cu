// Prefix sums, compaction and a decoupled look-back between blocks.

extern "C" __global__ void scan_hillis(const int* in, int* out, int n) {
    __shared__ int buffer[2][100];
    int t = threadIdx.x, i = blockIdx.x * 100 + t, turn = 0;
    buffer[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < 100; d *= 2) {
        buffer[1 - turn][t] = buffer[turn][t] + (t >= d ? buffer[turn][t - d] : 0);
        turn = 1 - turn;
        __syncthreads();
    }
    if (i < n) out[i] = buffer[turn][t];
}

#define PAD(i) ((i) + ((i) >> 5))
extern "C" __global__ void scan_blelloch(const unsigned* in, unsigned* out) {
    __shared__ unsigned s[PAD(255) + 1];
    int t = threadIdx.x, base = blockIdx.x * 256;
    s[PAD(t)] = in[base + t];
    s[PAD(t + 128)] = in[base + t + 128];
    int offset = 1;
    for (int d = 128; d > 0; d >>= 1, offset *= 2) {
        __syncthreads();
        if (t < d) s[PAD(offset * (2 * t + 2) - 1)] += s[PAD(offset * (2 * t + 1) - 1)];
    }
    if (t == 0) s[PAD(255)] = 0;
    for (int d = 1; d < 256; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = PAD(offset * (2 * t + 1) - 1), b = PAD(offset * (2 * t + 2) - 1);
            unsigned low = s[a];
            s[a] = s[b];
            s[b] += low;
        }
    }
    __syncthreads();
    out[base + t] = s[PAD(t)];
    out[base + t + 128] = s[PAD(t + 128)];
}

extern "C" __global__ void scan_warp_long(const long long* in, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    long long v = i < n ? in[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        long long other = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += other;
    }
    if (i < n) out[i] = v;
}

__device__ int tickets;

// status: 0 nothing, 1 the block's own sum, 2 the sum of all blocks so far. Blocks take tickets.
extern "C" __global__ void scan_lookback(const int* in, int* out, volatile int* status,
                                         volatile int* own, volatile int* all, int n) {
    __shared__ int s[64], ticket, before;
    int t = threadIdx.x;
    if (t == 0) ticket = atomicAdd(&tickets, 1);
    __syncthreads();
    int b = ticket, i = b * 64 + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        int sum = 0;
        if (b > 0) {
            own[b] = s[63];
            __threadfence();
            status[b] = 1;
            for (int p = b - 1;; --p) {
                int state;
                while ((state = status[p]) == 0) {}
                __threadfence();
                if (state == 2) {
                    sum += all[p];
                    break;
                }
                sum += own[p];
            }
        }
        all[b] = sum + s[63];
        __threadfence();
        status[b] = 2;
        before = sum;
        if (b == gridDim.x - 1) tickets = 0;
    }
    __syncthreads();
    if (i < n) out[i] = s[t] + before;
}

// Keeps odd values, in order within the block.
extern "C" __global__ void compact_ballot(const int* in, int* out, int* counts, int n) {
    __shared__ int bases[4];
    int t = threadIdx.x, lane = t % 32, i = blockIdx.x * 128 + t;
    int v = i < n ? in[i] : 0;
    unsigned votes = __ballot_sync(0xffffffffu, v & 1);
    if (lane == 0) bases[t / 32] = __popc(votes);
    __syncthreads();
    int base = 0;
    for (int w = 0; w < t / 32; ++w) base += bases[w];
    if (v & 1) out[blockIdx.x * 128 + base + __popc(votes & ((1u << lane) - 1))] = v;
    if (t == 127) counts[blockIdx.x] = base + bases[3];
}
