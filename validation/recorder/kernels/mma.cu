// One mma.sync per warp, fragments as the registers hold them: A[warp][lane][register] and so on.
typedef unsigned u32;
typedef unsigned long long u64;

#define LOAD(n, v, from) u32 v[n]; for (int k = 0; k < n; k++) v[k] = from[(blockIdx.x * 32 + threadIdx.x) * n + k];
#define SAVE(n, v) for (int k = 0; k < n; k++) D[(blockIdx.x * 32 + threadIdx.x) * n + k] = v[k];
#define KERNEL(name) extern "C" __global__ void name(const u32 *A, const u32 *B, const u32 *C, u32 *D)

#define MMA_4_2_4(name, text)                                                                     \
    KERNEL(name) { LOAD(4, a, A) LOAD(2, b, B) LOAD(4, c, C) u32 d[4];                            \
        asm volatile("mma.sync.aligned." text                                                     \
            " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"                          \
            : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                      \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),                   \
              "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])); SAVE(4, d) }
#define MMA_2_1_4(name, text)                                                                     \
    KERNEL(name) { LOAD(2, a, A) LOAD(1, b, B) LOAD(4, c, C) u32 d[4];                            \
        asm volatile("mma.sync.aligned." text                                                     \
            " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"                                      \
            : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                      \
            : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));       \
        SAVE(4, d) }
#define MMA_4_2_2(name, text)                                                                     \
    KERNEL(name) { LOAD(4, a, A) LOAD(2, b, B) LOAD(2, c, C) u32 d[2];                            \
        asm volatile("mma.sync.aligned." text " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"        \
            : "=r"(d[0]), "=r"(d[1])                                                              \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),                   \
              "r"(c[0]), "r"(c[1])); SAVE(2, d) }
#define MMA_2_1_2(name, text)                                                                     \
    KERNEL(name) { LOAD(2, a, A) LOAD(1, b, B) LOAD(2, c, C) u32 d[2];                            \
        asm volatile("mma.sync.aligned." text " {%0,%1}, {%2,%3}, {%4}, {%5,%6};"                 \
            : "=r"(d[0]), "=r"(d[1])                                                              \
            : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1])); SAVE(2, d) }
#define MMA_1_1_2(name, text)                                                                     \
    KERNEL(name) { LOAD(1, a, A) LOAD(1, b, B) LOAD(2, c, C) u32 d[2];                            \
        asm volatile("mma.sync.aligned." text " {%0,%1}, {%2}, {%3}, {%4,%5};"                    \
            : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1])); SAVE(2, d) }

MMA_4_2_4(f16_k16_f32, "m16n8k16.row.col.f32.f16.f16.f32")
MMA_2_1_4(f16_k8_f32, "m16n8k8.row.col.f32.f16.f16.f32")
MMA_4_2_2(f16_k16_f16, "m16n8k16.row.col.f16.f16.f16.f16")
MMA_2_1_2(f16_k8_f16, "m16n8k8.row.col.f16.f16.f16.f16")
MMA_4_2_4(bf16_k16_f32, "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA_2_1_4(bf16_k8_f32, "m16n8k8.row.col.f32.bf16.bf16.f32")
MMA_4_2_4(tf32_k8_f32, "m16n8k8.row.col.f32.tf32.tf32.f32")
MMA_2_1_4(tf32_k4_f32, "m16n8k4.row.col.f32.tf32.tf32.f32")
MMA_4_2_4(e4m3_k32_f32, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
MMA_4_2_4(e5m2_k32_f32, "m16n8k32.row.col.f32.e5m2.e5m2.f32")
MMA_4_2_4(s8_k32_s32, "m16n8k32.row.col.s32.s8.s8.s32")
MMA_4_2_4(u8_k32_s32, "m16n8k32.row.col.s32.u8.u8.s32")
MMA_4_2_4(s8u8_k32_sat, "m16n8k32.row.col.satfinite.s32.s8.u8.s32")
MMA_2_1_4(s8_k16_s32, "m16n8k16.row.col.s32.s8.s8.s32")
MMA_1_1_2(s8_8816_s32, "m8n8k16.row.col.s32.s8.s8.s32")
MMA_4_2_4(s4_k64_s32, "m16n8k64.row.col.s32.s4.s4.s32")
MMA_4_2_4(b1_and, "m16n8k256.row.col.s32.b1.b1.s32.and.popc")
MMA_4_2_4(b1_xor, "m16n8k256.row.col.s32.b1.b1.s32.xor.popc")

typedef double f64;
#define LOADD(n, v, from) f64 v[n]; for (int k = 0; k < n; k++) v[k] = ((const f64 *)from)[(blockIdx.x * 32 + threadIdx.x) * n + k];
#define SAVED(n, v) for (int k = 0; k < n; k++) ((f64 *)D)[(blockIdx.x * 32 + threadIdx.x) * n + k] = v[k];
KERNEL(f64_884) { LOADD(1, a, A) LOADD(1, b, B) LOADD(2, c, C) f64 d[2];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%4,%5};"
        : "=d"(d[0]), "=d"(d[1]) : "d"(a[0]), "d"(b[0]), "d"(c[0]), "d"(c[1])); SAVED(2, d) }
KERNEL(f64_k4) { LOADD(2, a, A) LOADD(1, b, B) LOADD(4, c, C) f64 d[4];
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
        : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(b[0]), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3])); SAVED(4, d) }
KERNEL(f64_k8) { LOADD(4, a, A) LOADD(2, b, B) LOADD(4, c, C) f64 d[4];
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]),
          "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3])); SAVED(4, d) }
KERNEL(f64_k16) { LOADD(8, a, A) LOADD(4, b, B) LOADD(4, c, C) f64 d[4];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%16,%17,%18,%19};"
        : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
          "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]),
          "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3])); SAVED(4, d) }
