// Accesses in which no lane of a warp takes part, as predicates leave them; `n` rounds of one.
typedef unsigned u32;

#define KERNEL(NAME, TEXT)                                                                                \
    extern "C" __global__ void NAME(u32 *out, u32 *data, u32 n) {                                         \
        __shared__ u32 kept[64];                                                                          \
        size_t generic = n >> 30 ? (size_t)data : (size_t)kept;                                           \
        u32 shared = (u32)__cvta_generic_to_shared(kept), v = 0;                                          \
        _Pragma("unroll 1") for (u32 i = 0; i < n; i++) {                                                 \
            asm volatile("{.reg .pred p; .reg .u32 a, b, c; setp.eq.u32 p, %6, 77777; @p " TEXT "}"                          \
                         : "+r"(v) : "r"(i), "l"(data), "l"(generic), "r"(shared), "l"(out), "r"(threadIdx.x) : "memory");\
        }                                                                                                 \
        if (v == 12345) out[0] = v;                                                                       \
    }
KERNEL(nothing, "mov.u32 %0, 1;")
KERNEL(load_global, "ld.global.u32 %0, [%2];")
KERNEL(load_global_wide, "ld.global.v4.u32 {%0, a, b, c}, [%2];")
KERNEL(load_generic, "ld.u32 %0, [%3];")
KERNEL(load_shared, "ld.shared.u32 %0, [%4];")
KERNEL(store_global, "st.global.u32 [%2], %1;")
KERNEL(store_global_wide, "st.global.v4.u32 [%2], {%1, %1, %1, %1};")
KERNEL(store_generic, "st.u32 [%3], %1;")
KERNEL(store_shared, "st.shared.u32 [%4], %1;")
KERNEL(add_global, "red.global.add.u32 [%5], %1;")
KERNEL(add_global_returns, "atom.global.add.u32 %0, [%5], %1;")
KERNEL(add_shared, "atom.shared.add.u32 %0, [%4], %1;")
KERNEL(copy_4, "cp.async.ca.shared.global [%4], [%2], 4;")
KERNEL(copy_16, "cp.async.cg.shared.global [%4], [%2], 16;")
