// Packed integers: dot products, SIMD in a word, byte permutes, FP8 conversions, DPX.
#include <cuda_fp8.h>

#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

KERNEL dp4a(const int *a, const int *b, const int *c, int *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __dp4a(a[i], b[i], c[i]);
    o[i + n] = __dp4a((unsigned)a[i], (unsigned)b[i], (unsigned)c[i]);
}
KERNEL dp2a(const int *a, const int *b, const int *c, int *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __dp2a_lo(a[i], b[i], c[i]); o[i + n] = __dp2a_hi(a[i], b[i], c[i]);
    o[i + 2 * n] = __dp2a_lo((unsigned)a[i], (unsigned)b[i], (unsigned)c[i]);
    o[i + 3 * n] = __dp2a_hi((unsigned)a[i], (unsigned)b[i], (unsigned)c[i]);
}
KERNEL simd_bytes(const unsigned *a, const unsigned *b, unsigned *o) {
    int n = gridDim.x * blockDim.x, i = I; unsigned x = a[i], y = b[i];
    o[i] = __vadd4(x, y); o[i + n] = __vsub4(x, y); o[i + 2 * n] = __vaddss4(x, y);
    o[i + 3 * n] = __vaddus4(x, y); o[i + 4 * n] = __vsubus4(x, y); o[i + 5 * n] = __vminu4(x, y);
    o[i + 6 * n] = __vmaxs4(x, y); o[i + 7 * n] = __vabsdiffu4(x, y); o[i + 8 * n] = __vcmpgtu4(x, y);
    o[i + 9 * n] = __vseteq4(x, y); o[i + 10 * n] = __vavgu4(x, y); o[i + 11 * n] = __vsadu4(x, y);
    o[i + 12 * n] = __vabsdiffs4(x, y); o[i + 13 * n] = __vneg4(x); o[i + 14 * n] = __vabsss4(x);
}
KERNEL simd_halves(const unsigned *a, const unsigned *b, unsigned *o) {
    int n = gridDim.x * blockDim.x, i = I; unsigned x = a[i], y = b[i];
    o[i] = __vadd2(x, y); o[i + n] = __vsub2(x, y); o[i + 2 * n] = __vaddss2(x, y);
    o[i + 3 * n] = __vaddus2(x, y); o[i + 4 * n] = __vsubss2(x, y); o[i + 5 * n] = __vmins2(x, y);
    o[i + 6 * n] = __vmaxu2(x, y); o[i + 7 * n] = __vabsdiffu2(x, y); o[i + 8 * n] = __vcmplts2(x, y);
    o[i + 9 * n] = __vsadu2(x, y); o[i + 10 * n] = __vhaddu2(x, y); o[i + 11 * n] = __vsads2(x, y);
}
KERNEL sums_of_differences(const int *a, const int *b, const unsigned *c, unsigned *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __sad(a[i], b[i], c[i]); o[i + n] = __usad(a[i], b[i], c[i]);
    o[i + 2 * n] = __hadd(a[i], b[i]); o[i + 3 * n] = __urhadd(a[i], b[i]);
}
KERNEL permutes(const unsigned *a, const unsigned *b, const unsigned *s, unsigned *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __byte_perm(a[i], b[i], s[i]); o[i + n] = __funnelshift_l(a[i], b[i], s[i]);
    o[i + 2 * n] = __funnelshift_rc(a[i], b[i], s[i]);
    unsigned r; asm("prmt.b32.f4e %0,%1,%2,%3;" : "=r"(r) : "r"(a[i]), "r"(b[i]), "r"(s[i]));
    o[i + 3 * n] = r;
    asm("prmt.b32.ecl %0,%1,%2,%3;" : "=r"(r) : "r"(a[i]), "r"(b[i]), "r"(s[i]));
    o[i + 4 * n] = r;
    asm("prmt.b32.rc16 %0,%1,%2,%3;" : "=r"(r) : "r"(a[i]), "r"(b[i]), "r"(s[i]));
    o[i + 5 * n] = r;
}
KERNEL video(const int *a, const int *b, const int *c, int *o) {
    int n = gridDim.x * blockDim.x, i = I, r;
    asm("vadd.s32.s32.s32.sat %0,%1.b1,%2.h1;" : "=r"(r) : "r"(a[i]), "r"(b[i])); o[i] = r;
    asm("vabsdiff.s32.s32.s32.add %0,%1.b0,%2.b3,%3;" : "=r"(r) : "r"(a[i]), "r"(b[i]), "r"(c[i]));
    o[i + n] = r;
    asm("vmin.s32.s32.s32.max %0,%1,%2,%3;" : "=r"(r) : "r"(a[i]), "r"(b[i]), "r"(c[i]));
    o[i + 2 * n] = r;
    asm("vmad.s32.s32.s32 %0,%1.b2,%2.h0,%3;" : "=r"(r) : "r"(a[i]), "r"(b[i]), "r"(c[i]));
    o[i + 3 * n] = r;
    asm("vshl.u32.u32.u32.clamp %0,%1,%2;" : "=r"(r) : "r"(a[i]), "r"(b[i])); o[i + 4 * n] = r;
    asm("vset.s32.s32.lt %0,%1,%2;" : "=r"(r) : "r"(a[i]), "r"(b[i])); o[i + 5 * n] = r;
}
KERNEL dpx(const int *a, const int *b, const int *c, int *o) {
    int n = gridDim.x * blockDim.x, i = I; int x = a[i], y = b[i], z = c[i];
    bool p;
    o[i] = __viaddmax_s32(x, y, z); o[i + n] = __viaddmin_s32(x, y, z);
    o[i + 2 * n] = __viaddmax_s32_relu(x, y, z); o[i + 3 * n] = __vimax3_s32(x, y, z);
    o[i + 4 * n] = __vimin3_u32(x, y, z); o[i + 5 * n] = __vimax_s32_relu(x, y);
    o[i + 6 * n] = __viaddmax_s16x2(x, y, z); o[i + 7 * n] = __vimax3_s16x2(x, y, z);
    o[i + 8 * n] = __viaddmin_u16x2(x, y, z); o[i + 9 * n] = __vimin3_s16x2_relu(x, y, z);
    o[i + 10 * n] = __vibmax_s32(x, y, &p) * 2 + p;
}
KERNEL to_fp8(const float *a, unsigned char *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __nv_cvt_float_to_fp8(a[i], __NV_SATFINITE, __NV_E4M3);
    o[i + n] = __nv_cvt_float_to_fp8(a[i], __NV_SATFINITE, __NV_E5M2);
}
KERNEL from_fp8(const unsigned char *a, unsigned short *o) {
    int n = gridDim.x * blockDim.x, i = I;
    o[i] = __nv_cvt_fp8_to_halfraw(a[i], __NV_E4M3).x;
    o[i + n] = __nv_cvt_fp8_to_halfraw(a[i], __NV_E5M2).x;
}
KERNEL carries(const unsigned *a, const unsigned *b, unsigned *o) {
    int i = 4 * I;
    asm("add.cc.u32 %0,%4,%8; addc.cc.u32 %1,%5,%9; addc.cc.u32 %2,%6,%10; addc.u32 %3,%7,%11;"
        : "=r"(o[i]), "=r"(o[i + 1]), "=r"(o[i + 2]), "=r"(o[i + 3])
        : "r"(a[i]), "r"(a[i + 1]), "r"(a[i + 2]), "r"(a[i + 3]),
          "r"(b[i]), "r"(b[i + 1]), "r"(b[i + 2]), "r"(b[i + 3]));
}
KERNEL bits_zoo(const unsigned *a, const unsigned *b, unsigned *o) {
    int n = gridDim.x * blockDim.x, i = I; unsigned x = a[i], y = b[i], r;
    asm("bfe.u32 %0,%1,%2,%3;" : "=r"(r) : "r"(x), "r"(y & 31), "r"(y >> 8 & 31)); o[i] = r;
    asm("bfe.s32 %0,%1,%2,%3;" : "=r"(r) : "r"(x), "r"(y & 31), "r"(y >> 8 & 31)); o[i + n] = r;
    asm("bfi.b32 %0,%1,%2,%3,%4;" : "=r"(r) : "r"(x), "r"(y), "r"(y & 31), "r"(y >> 8 & 31));
    o[i + 2 * n] = r;
    asm("bfind.u32 %0,%1;" : "=r"(r) : "r"(x)); o[i + 3 * n] = r;
    asm("bfind.shiftamt.s32 %0,%1;" : "=r"(r) : "r"(x)); o[i + 4 * n] = r;
    asm("szext.clamp.s32 %0,%1,%2;" : "=r"(r) : "r"(x), "r"(y & 63)); o[i + 5 * n] = r;
    asm("bmsk.clamp.b32 %0,%1,%2;" : "=r"(r) : "r"(y & 31), "r"(y >> 8 & 31)); o[i + 6 * n] = r;
    asm("fns.b32 %0,%1,%2,%3;" : "=r"(r) : "r"(x), "r"(y & 31), "r"(2)); o[i + 7 * n] = r;
}
