// Loads from shared memory by 4, 8 and 16 bytes a lane, each of which waits for the one before.
typedef unsigned u32;

__device__ __forceinline__ u32 ticks() {
    u32 t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

// Lanes read `(lane / group % wide) * step` bytes from the beginning. In a turn `PARALLEL` loads
// follow each other, the next turn's wait for all of them.
template <typename T, int PARALLEL>
__device__ void loads(u32 *out, u32 group, u32 wide, u32 step, u32 turns) {
    __shared__ __align__(16) u32 words[8192];
    for (u32 i = threadIdx.x; i < 8192; i += blockDim.x) words[i] = 0;
    __syncthreads();
    u32 lane = threadIdx.x % 32;
    u32 at = (u32)__cvta_generic_to_shared(words) + lane / group % wide * step;
    u32 begin = ticks();
    for (u32 turn = 0; turn < turns; turn++) {
        u32 sum = 0;
#pragma unroll
        for (int i = 0; i < PARALLEL; i++) {
            u32 v[4] = {};
            if (sizeof(T) == 4)
                asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v[0]) : "r"(at + i * 2048) : "memory");
            if (sizeof(T) == 8)
                asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];"
                             : "=r"(v[0]), "=r"(v[1]) : "r"(at + i * 2048) : "memory");
            if (sizeof(T) == 16)
                asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                             : "r"(at + i * 2048) : "memory");
            sum |= v[0] | v[sizeof(T) / 4 - 1];
        }
        at += sum;
    }
    u32 end = ticks();
    if (at == 12345) out[64] = at;
    if (lane == 0) out[threadIdx.x / 32] = end - begin;
}

struct Pair { u32 x, y; };
struct Quad { u32 x, y, z, w; };
#define LOADS(NAME, T)                                                                         \
    extern "C" __global__ void loads_##NAME##_1(u32 *out, u32 group, u32 wide, u32 step,       \
                                                u32 turns) {                                   \
        loads<T, 1>(out, group, wide, step, turns);                                            \
    }                                                                                          \
    extern "C" __global__ void loads_##NAME##_4(u32 *out, u32 group, u32 wide, u32 step,       \
                                                u32 turns) {                                   \
        loads<T, 4>(out, group, wide, step, turns);                                            \
    }
LOADS(4, u32)
LOADS(8, Pair)
LOADS(16, Quad)
