// Loads and stores that go from one page of memory to another.
typedef unsigned u32;
typedef unsigned long long u64;

#define LINES 14  // 2 to this lines in all, of 128 bytes

// The line that a warp uses in its turn: the pages one after another, then the next line of each.
__device__ __forceinline__ u64 place(u64 data, u32 pages, u32 turn) {
    u32 page = turn & ((1u << pages) - 1), line = (turn >> pages) + page & ((1u << LINES - pages) - 1);
    u32 apart = page * 37 & ((1u << pages) - 1);
    return data + ((u64)page << 21) + ((line << pages) + apart) * 128;
}

extern "C" __global__ void pages_chase(u32 *out, u64 data, u32 pages, u32 turns) {
    u32 next = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 0x9E3779B1u >> 8, sum = 0;
    for (u32 i = 0; i < turns; i++) {
        u32 word;
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(word)
                     : "l"(place(data, pages, next) + threadIdx.x % 32 * 4) : "memory");
        next += 1 + word;
        sum += word;
    }
    if (sum == 12345) out[threadIdx.x] = sum;
}

extern "C" __global__ void pages_load(u32 *out, u64 data, u32 pages, u32 turns) {
    u32 next = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 0x9E3779B1u >> 8, sum = 0;
#pragma unroll 8
    for (u32 i = 0; i < turns; i++) {
        u32 word;
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(word)
                     : "l"(place(data, pages, next + i) + threadIdx.x % 32 * 4) : "memory");
        sum += word;
    }
    if (sum == 12345) out[threadIdx.x] = sum;
}

extern "C" __global__ void pages_gather(u32 *out, u64 data, u32 pages, u32 turns) {
    u32 next = (blockIdx.x * blockDim.x + threadIdx.x) * 0x9E3779B1u >> 8, sum = 0;
#pragma unroll 8
    for (u32 i = 0; i < turns; i++) {
        u32 word;
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(word)
                     : "l"(place(data, pages, next + i)) : "memory");
        sum += word;
    }
    if (sum == 12345) out[threadIdx.x] = sum;
}

extern "C" __global__ void pages_store(u32 *out, u64 data, u32 pages, u32 turns) {
    u32 next = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 0x9E3779B1u >> 8;
#pragma unroll 8
    for (u32 i = 0; i < turns; i++)
        asm volatile("st.global.u32 [%0], %1;" ::"l"(place(data, pages, next + i) +
                     threadIdx.x % 32 * 4), "r"(0) : "memory");
}
