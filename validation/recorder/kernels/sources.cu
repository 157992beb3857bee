// When the registers of a memory instruction are read: rounds of eight accesses of a warp with so
// few registers that some addresses, or what is stored, are written where an earlier access has its
// own.
typedef unsigned u32;
typedef unsigned long long u64;
enum { LOAD_SHARED, STORE_SHARED, LOAD_GLOBAL, STORE_GLOBAL, LOAD_L2, DATA_SHARED, DATA_GLOBAL };
const int ROUND = 8;    // accesses
const int ROUNDS = 64;
const int STEP = 32;    // bytes from one to the next
const int OWN = 1 << 16;  // bytes of a block

template <int KIND> struct Address { typedef u64 type; };
template <> struct Address<LOAD_SHARED> { typedef u32 type; };
template <> struct Address<STORE_SHARED> { typedef u32 type; };
template <> struct Address<DATA_SHARED> { typedef u32 type; };

template <int KIND>
__device__ __forceinline__ void touch(typename Address<KIND>::type at, u32 &r, u32 data) {
    if constexpr (KIND == LOAD_SHARED) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r) : "r"(at));
    if constexpr (KIND == STORE_SHARED) asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(0));
    if constexpr (KIND == LOAD_GLOBAL) asm volatile("ld.global.u32 %0, [%1];" : "=r"(r) : "l"(at));
    if constexpr (KIND == STORE_GLOBAL) asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(0));
    if constexpr (KIND == DATA_SHARED) asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(data));
    if constexpr (KIND == DATA_GLOBAL) asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(data));
    if constexpr (KIND == LOAD_L2) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(r) : "l"(at));
}

// Lanes lie `apart` bytes from each other: 4 to 128, for one to 32 banks' passes or lines. Eight
// warps have lines of their own.
template <int KIND>
__device__ __forceinline__ void rounds(u32 *out, char *data, u32 apart, u32 step) {
    __shared__ u32 words[32 * 32 + ROUND * STEP / 4];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    for (u32 i = threadIdx.x; i < 32 * 32 + ROUND * STEP / 4; i += blockDim.x) words[i] = 0;
    typename Address<KIND>::type first;
    if constexpr (sizeof(first) == 4)
        first = (u32)__cvta_generic_to_shared(words) + lane * apart;
    else
        first = (u64)data + (u64)blockIdx.x * OWN + (warp & 7) * (OWN / 8) + lane * apart;
    __syncthreads();
    u32 sum = 0;
#pragma unroll 1
    for (int k = 0; k < ROUNDS; k++) {
        u32 r[ROUND] = {}, number = k & 1;
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            touch<KIND>(first + (KIND < DATA_SHARED ? number : i) * step, r[i], number);
            asm volatile("add.u32 %0, %0, 1;" : "+r"(number));
        }
#pragma unroll
        for (int i = 0; i < ROUND; i++) sum += r[i];
    }
    if (sum == 12345) out[0] = sum;
}

#define KERNEL(NAME, KIND)                                                                        \
    extern "C" __global__ void __maxnreg__(20) NAME(u32 *out, char *data, u32 apart, u32 step) {  \
        rounds<KIND>(out, data, apart, step);                                                     \
    }
KERNEL(load_shared, LOAD_SHARED)
KERNEL(store_shared, STORE_SHARED)
KERNEL(load_global, LOAD_GLOBAL)
KERNEL(store_global, STORE_GLOBAL)
KERNEL(load_l2, LOAD_L2)
KERNEL(data_shared, DATA_SHARED)
KERNEL(data_global, DATA_GLOBAL)
