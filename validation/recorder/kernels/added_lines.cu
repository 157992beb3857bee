// Lines that a block has loaded, of which it then adds to or stores a word, and loads all again.
typedef unsigned u32;
typedef unsigned long long u64;

#define LINES 64

__device__ __forceinline__ u32 sum_of(u64 data) {
    u32 sum = 0;
    for (u32 i = threadIdx.x; i < LINES * 4; i += blockDim.x) {
        u32 word;
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(word) : "l"(data + i * 32) : "memory");
        sum += word;
    }
    return sum;
}

// Every line of this block's piece, the word at `offset`; `lanes` lanes of a warp, a line each
#define KERNEL(NAME, ACCESS)                                                                      \
    extern "C" __global__ void added_lines_##NAME(u32 *out, u64 data, u32 offset, u32 every) {    \
        data += (u64)blockIdx.x * LINES * 128;                                                    \
        u32 sum = sum_of(data);                                                                   \
        __syncthreads();                                                                          \
        u32 line = threadIdx.x * every;                                                           \
        u64 at = data + line * 128 + offset;                                                      \
        if (line < LINES) {                                                                       \
            ACCESS                                                                                \
        }                                                                                         \
        __syncthreads();                                                                          \
        __nanosleep(2000);                                                                        \
        __syncthreads();                                                                          \
        sum += sum_of(data);                                                                      \
        if (sum == 12345) out[threadIdx.x] = sum;                                                 \
    }

KERNEL(none, sum += 1;)
KERNEL(red, asm volatile("red.global.add.u32 [%0], 0;" ::"l"(at) : "memory");)
KERNEL(red_f32, asm volatile("red.global.add.f32 [%0], 0f00000000;" ::"l"(at) : "memory");)
KERNEL(red_f64, asm volatile("red.global.add.f64 [%0], 0d0000000000000000;" ::"l"(at) : "memory");)
KERNEL(atom, u32 old; asm volatile("atom.global.add.u32 %0, [%1], 0;" : "=r"(old)
                                   : "l"(at) : "memory"); sum += old;)
KERNEL(cas, u32 old; asm volatile("atom.global.cas.b32 %0, [%1], 1, 2;" : "=r"(old)
                                  : "l"(at) : "memory"); sum += old;)
KERNEL(store, asm volatile("st.global.u32 [%0], 0;" ::"l"(at) : "memory");)
KERNEL(load_cg, u32 old; asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(old)
                                      : "l"(at) : "memory"); sum += old;)
KERNEL(load_relaxed, u32 old; asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(old)
                                           : "l"(at) : "memory"); sum += old;)
KERNEL(fence, if (threadIdx.x == 0) asm volatile("fence.acq_rel.gpu;" ::: "memory");)
KERNEL(load_acquire, u32 old; asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(old)
                                           : "l"(at) : "memory"); sum += old;)
