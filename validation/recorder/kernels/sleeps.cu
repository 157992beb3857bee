// What NANOSLEEP takes. `sleeps.py` makes further forms of `sleep_lanes` by setting modifier bits.
typedef unsigned u32;

__device__ u32 clock_now() { u32 t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory"); return t; }
__device__ u32 timer_now() { u32 t; asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(t)::"memory"); return t; }
__device__ void sleep_for(u32 ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns) : "memory"); }

// Each lane with its bit in `active` sleeps for its own time, `turns` times; of the first `kept`
// warps the lanes with a bit in `noted` write when they began and ended.
#define LANES(name, now)                                                                           \
    extern "C" __global__ void name(const u32* times, uint2* out, int turns, int kept, u32 active, \
                                    u32 noted) {                                                   \
        int lane = threadIdx.x & 31;                                                               \
        int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;                                   \
        u32 ns = times[lane];                                                                      \
        int width = __popc(noted), at = __popc(noted & ((1u << lane) - 1));                        \
        bool writes = warp < kept && (noted >> lane & 1);                                          \
        if (!(active >> lane & 1)) return;                                                         \
        for (int k = 0; k < turns; k++) {                                                          \
            u32 begin = now();                                                                     \
            sleep_for(ns);                                                                         \
            u32 end = now();                                                                       \
            if (writes) out[(warp * turns + k) * width + at] = make_uint2(begin, end);             \
        }                                                                                          \
    }
LANES(sleep_lanes, clock_now)
LANES(sleep_timer, timer_now)

// The same with the time in the instruction.
#define FIXED(ns)                                                                                  \
    extern "C" __global__ void sleep_##ns(const u32* times, uint2* out, int turns, int kept,       \
                                          u32 active, u32 noted) {                                 \
        int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;                                   \
        for (int k = 0; k < turns; k++) {                                                          \
            u32 begin = clock_now();                                                               \
            asm volatile("nanosleep.u32 " #ns ";" ::: "memory");                                   \
            u32 end = clock_now();                                                                 \
            if (warp < kept && !(threadIdx.x & 31)) out[warp * turns + k] = make_uint2(begin, end); \
        }                                                                                          \
    }
FIXED(0)
FIXED(1)
FIXED(100)
FIXED(1000)
FIXED(10000)
FIXED(100000)
FIXED(1000000)

// How fast the timer goes, and how fine it is.
extern "C" __global__ void timer(const u32* times, uint2* out, int turns, int kept, u32 active,
                                 u32 noted) {
    for (int k = 0; k < turns; k++) {
        u32 at = timer_now();
        out[k] = make_uint2(at, clock_now());
    }
}

// A warp waits at an mbarrier that nobody completes, for a suggested time at most.
extern "C" __global__ void sleep_phase(const u32* times, uint2* out, int turns, int kept, u32 active,
                                       u32 noted) {
    __shared__ unsigned long long bar;
    u32 place = (u32)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1000;" ::"r"(place));
    __syncthreads();
    u32 ns = times[threadIdx.x & 31];
    for (int k = 0; k < turns; k++) {
        u32 begin = clock_now(), done;
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0, %2;"
                     " selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(place), "r"(ns) : "memory");
        u32 end = clock_now() + done;
        if (!(threadIdx.x & 31)) out[threadIdx.x / 32 * turns + k] = make_uint2(begin, end);
    }
}

// Whole launches, to compare times: n is what they are given.
extern "C" __global__ void nap(u32* out, int turns, u32 ns) {
    for (int k = 0; k < turns; k++) sleep_for(ns);
    if (threadIdx.x == 0) out[blockIdx.x] = turns;
}

// Warps with an even number sleep, the others compute.
extern "C" __global__ void nap_and_work(float* out, int turns, u32 ns, int work) {
    float x = threadIdx.x;
    if (threadIdx.x / 32 % 2 == 0)
        for (int k = 0; k < turns; k++) sleep_for(ns);
    else
        for (int k = 0; k < work; k++) x = x * 0.999f + 1.0f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// One thread of each block takes a lock in turn, with a back-off that doubles.
extern "C" __global__ void lock_backoff(int* lock, int* sum, int turns, u32 first, u32 most) {
    if (threadIdx.x) return;
    int tries = 0;
    for (int k = 0; k < turns; k++) {
        u32 ns = first;
        while (atomicCAS(lock, 0, 1)) {
            tries++;
            sleep_for(ns);
            if (ns < most) ns *= 2;
        }
        __threadfence();
        *(volatile int*)sum = *(volatile int*)sum + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
    atomicAdd(sum + 1, tries);
}

// Block 0 computes, then raises a flag for which the others look with pauses.
extern "C" __global__ void flag_wait(int* flag, int* sum, int work, u32 ns) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        float x = 1;
        for (int k = 0; k < work; k++) x = x * 0.999f + 1.0f;
        sum[2] = x;
        __threadfence();
        atomicExch(flag, 1);
        return;
    }
    int looks = 0;
    while (!*(volatile int*)flag) {
        looks++;
        sleep_for(ns);
    }
    atomicAdd(sum, looks);
}
