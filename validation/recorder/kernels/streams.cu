// Threads that read a word of each of several arrays and write a word of each of several others.
typedef unsigned u32;
typedef unsigned long long u64;

template <int READS, int WRITES>
__device__ void streams(u32 *out, u64 from, u64 to, u64 pitch) {
    const u64 at = 4 * ((u64)blockIdx.x * blockDim.x + threadIdx.x);
    u32 words[READS + 1], sum = 0;
#pragma unroll
    for (int i = 0; i < READS; i++)
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(words[i]) : "l"(from + at + i * pitch));
#pragma unroll
    for (int i = 0; i < READS; i++) sum += words[i];
#pragma unroll
    for (int i = 0; i < WRITES; i++)
        asm volatile("st.global.u32 [%0], %1;" :: "l"(to + at + i * pitch), "r"(sum + i) : "memory");
    if (sum == 12345) out[threadIdx.x] = sum;
}

#define KERNEL(READS, WRITES)                                                                               \
    extern "C" __global__ void __launch_bounds__(1024)                                                      \
    streams_##READS##_##WRITES(u32 *out, u64 from, u64 to, u64 pitch) {                                     \
        streams<READS, WRITES>(out, from, to, pitch);                                                       \
    }
KERNEL(1, 0)
KERNEL(4, 0)
KERNEL(20, 0)
KERNEL(0, 1)
KERNEL(0, 4)
KERNEL(0, 20)
KERNEL(1, 1)
KERNEL(4, 4)
KERNEL(8, 8)
KERNEL(20, 20)
KERNEL(4, 1)
KERNEL(1, 4)
