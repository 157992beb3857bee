// How long an SM's loads take together when it rests between them: a burst of loads of every warp of
// one block, a barrier, a rest. Other SMs do the same, each at its own time.
typedef unsigned u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 now() {
    u64 t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

__device__ __forceinline__ u32 scrambled(u32 x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

__device__ __forceinline__ u32 folded(u32 v) { return v; }
__device__ __forceinline__ u32 folded(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

// Per block to `out`: cycles of all bursts but the first `skipped`, and from their begin to the end.
// A burst begins when the last warp is at the barrier before it, and ends when the last one has its
// data, or has issued its stores. Every warp moves EACH times 32 items of T; a burst's data lie
// together, from item `begin` on, of `count` in turn.
template <typename T, int EACH, bool READ, bool WRITE>
__device__ void burst(u64 *out, const T *from, T *to, u32 begin, u32 count, u32 bursts, u32 skipped,
                      u32 pause, u32 sms) {
    __shared__ u32 began, ended;
    if (blockIdx.x >= sms) return;
    u32 random = scrambled(blockIdx.x + 1), sum = 0, first = 0, taken = 0, last = 0;
    u32 each = blockDim.x * EACH, warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    u32 at = (begin + blockIdx.x * each) % count;
    u64 origin = now(), until = origin + 20000 + random % (pause + 1);
    for (u32 i = 0; i < bursts; i++) {
        const T *source = from + at + warp * (EACH * 32) + lane;
        T *target = to + (source - from), v[EACH] = {};
        if (threadIdx.x == 0) began = ended = 0;
        while (now() < until) {}
        __syncthreads();
        if (lane == 0) atomicMax(&began, (u32)(now() - origin));
        if (READ) {
#pragma unroll
            for (int j = 0; j < EACH; j++) v[j] = __ldcg(source + j * 32);
        }
        if (WRITE) {
#pragma unroll
            for (int j = 0; j < EACH; j++) target[j * 32] = v[j];
        } else {
#pragma unroll
            for (int j = 0; j < EACH; j++) sum += folded(v[j]);
            if (sum == 12345) out[0] = i;
        }
        if (lane == 0) atomicMax(&ended, (u32)(now() - origin));
        __syncthreads();
        last = ended;
        if (i == skipped) first = began;
        if (i >= skipped) taken += last - began;
        at += sms * each;
        at = at < count ? at : at - count;
        random = scrambled(random + 1);
        until = pause ? origin + last + pause / 2 + random % pause : 0;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = taken;
        out[2 * blockIdx.x + 1] = last - first;
    }
}

#define BURST(NAME, T, EACH, READ, WRITE)                                                         \
    extern "C" __global__ void __launch_bounds__(1024) NAME(                                      \
        u64 *out, const T *from, T *to, u32 begin, u32 count, u32 bursts, u32 skipped, u32 pause, \
        u32 sms) {                                                                                \
        burst<T, EACH, READ, WRITE>(out, from, to, begin, count, bursts, skipped, pause, sms);    \
    }

#define KINDS(EACH)                                 \
    BURST(read_4_##EACH, u32, EACH, true, false)    \
    BURST(read_16_##EACH, uint4, EACH, true, false) \
    BURST(write_4_##EACH, u32, EACH, false, true)   \
    BURST(write_16_##EACH, uint4, EACH, false, true) \
    BURST(copy_4_##EACH, u32, EACH, true, true)     \
    BURST(copy_16_##EACH, uint4, EACH, true, true)

KINDS(1)
KINDS(2)
KINDS(4)
KINDS(8)
