// One shared-memory access per lane at a given element, to learn how lanes are served together.
// index[lane] is the element, or negative for an inactive lane.
typedef unsigned u32;
#define BODY(type, text, ...)                                                                      \
    __shared__ __align__(16) type t[1024];                                                        \
    int k = index[threadIdx.x];                                                                   \
    u32 at = (u32)__cvta_generic_to_shared(&t[k < 0 ? 0 : k]), x = 1, y = 2, z = 3, w = 4;        \
    if (k >= 0) { asm volatile(text : __VA_ARGS__ : "r"(at) : "memory"); }                        \
    if (x + y + z + w == 0x12345678) out[0] = 1;
#define KERNEL(name) extern "C" __global__ void name(u32 *out, const int *index)
KERNEL(join_load_32) { BODY(u32, "ld.volatile.shared.u32 %0, [%1];", "+r"(x)) }
KERNEL(join_load_64) { BODY(uint2, "ld.volatile.shared.v2.u32 {%0,%1}, [%2];", "+r"(x), "+r"(y)) }
KERNEL(join_load_128) { BODY(uint4, "ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];", "+r"(x), "+r"(y), "+r"(z), "+r"(w)) }
#define STORE(type, text, ...)                                                                     \
    __shared__ __align__(16) type t[1024];                                                        \
    int k = index[threadIdx.x];                                                                   \
    u32 at = (u32)__cvta_generic_to_shared(&t[k < 0 ? 0 : k]), x = threadIdx.x;                   \
    if (k >= 0) { asm volatile(text :: "r"(at), "r"(x) : "memory"); }
KERNEL(join_store_32) { STORE(u32, "st.volatile.shared.u32 [%0], %1;") }
KERNEL(join_store_64) { STORE(uint2, "st.volatile.shared.v2.u32 [%0], {%1,%1};") }
KERNEL(join_store_128) { STORE(uint4, "st.volatile.shared.v4.u32 [%0], {%1,%1,%1,%1};") }
// Global loads, for the number of wavefronts in the data stage.
#define GLOBAL(type, text, ...)                                                                    \
    int k = index[threadIdx.x];                                                                   \
    u32 x = 1, y = 2, z = 3, w = 4;                                                               \
    if (k >= 0) { asm volatile(text : __VA_ARGS__ : "l"((const type *)(index + 64) + k) : "memory"); } \
    if (x + y + z + w == 0x12345678) out[0] = 1;
KERNEL(join_global_32) { GLOBAL(u32, "ld.volatile.global.u32 %0, [%1];", "+r"(x)) }
KERNEL(join_global_64) { GLOBAL(uint2, "ld.volatile.global.v2.u32 {%0,%1}, [%2];", "+r"(x), "+r"(y)) }
KERNEL(join_global_128) { GLOBAL(uint4, "ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];", "+r"(x), "+r"(y), "+r"(z), "+r"(w)) }
