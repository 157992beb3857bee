// Matrices of bytes between shared memory and fragments; 4096 bytes come and go.
#define T threadIdx.x
__device__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
#define LOAD(NAME, FORM, ROWS, N, TO, ...)                                                          \
    extern "C" __global__ void NAME(const unsigned *in, const unsigned *rows, unsigned *out) {      \
        __shared__ __align__(16) unsigned data[1024];                                               \
        for (int i = T; i < 1024; i += 32) data[i] = in[i];                                         \
        __syncwarp();                                                                               \
        unsigned r[4] = {}, at = place(data) + 16 * rows[T];                                        \
        asm volatile("ldmatrix.sync.aligned." FORM " " TO ", [%4];" : __VA_ARGS__ : "r"(at));       \
        for (int i = 0; i < 4; i++) out[4 * T + i] = r[i];                                          \
    }
#define R4 "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
#define SHORT(NAME, FORM)                                                                           \
    LOAD(NAME##_1, "m8n16.x1.shared." FORM, 8, 1, "{%0}", R4)                                       \
    LOAD(NAME##_2, "m8n16.x2.shared." FORM, 8, 2, "{%0,%1}", R4)                                    \
    LOAD(NAME##_4, "m8n16.x4.shared." FORM, 8, 4, "{%0,%1,%2,%3}", R4)
#define TALL(NAME, FORM)                                                                            \
    LOAD(NAME##_1, "m16n16.x1.trans.shared." FORM, 16, 1, "{%0,%1}", R4)                            \
    LOAD(NAME##_2, "m16n16.x2.trans.shared." FORM, 16, 2, "{%0,%1,%2,%3}", R4)
SHORT(short4, "b8x16.b4x16_p64")
SHORT(short6, "b8x16.b6x16_p32")
TALL(tall4, "b8x16.b4x16_p64")
TALL(tall6, "b8x16.b6x16_p32")
TALL(tall8, "b8")

#define STORE(NAME, N, FROM)                                                                        \
    extern "C" __global__ void NAME(const unsigned *in, const unsigned *rows, unsigned *out) {      \
        __shared__ __align__(16) unsigned data[1024];                                               \
        for (int i = T; i < 1024; i += 32) data[i] = 0;                                             \
        __syncwarp();                                                                               \
        asm volatile("stmatrix.sync.aligned.m16n8." N ".trans.shared.b8 [%0], " FROM ";" ::"r"(     \
                         place(data) + 16 * rows[T]),                                               \
                     "r"(in[4 * T]), "r"(in[4 * T + 1]), "r"(in[4 * T + 2]), "r"(in[4 * T + 3])     \
                     : "memory");                                                                   \
        __syncwarp();                                                                               \
        for (int i = T; i < 1024; i += 32) out[i] = data[i];                                        \
    }
STORE(store_1, "x1", "{%1}")
STORE(store_2, "x2", "{%1,%2}")
STORE(store_4, "x4", "{%1,%2,%3,%4}")

// D = A * B of bytes: A is 16 x 32, row after row; B is 32 x 16, row after row, so that ldmatrix
// turns it; D's low bytes go back turned, 16 x 16 column after column.
extern "C" __global__ void product(const unsigned *in, unsigned *out) {
    __shared__ __align__(16) unsigned data[320];
    for (int i = T; i < 256; i += 32) data[i] = in[i];
    __syncwarp();
    unsigned a[4], b[4], at = place(data);
    unsigned from = at + T % 16 * 32 + T / 16 * 16;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from));
    asm volatile("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%0,%1,%2,%3}, [%4];" : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(at + 512 + 16 * T));
    unsigned packed[2];
    for (int half = 0; half < 2; half++) {
        int d[4] = {};
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[half]), "r"(b[2 + half]));
        packed[half] = (d[0] & 255) | (d[1] & 255) << 8 | (d[2] & 255) << 16 | d[3] << 24;
    }
    asm volatile("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%0], {%1,%2};" ::"r"(at + 1024 + 16 * (T % 16)), "r"(packed[0]), "r"(packed[1]) : "memory");
    __syncwarp();
    for (int i = T; i < 64; i += 32) out[i] = data[256 + i];
}
