// One kernel for each function of CUDA's math and intrinsic libraries.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <math_constants.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef __half half_t;
typedef __half2 half2_t;
typedef __nv_bfloat16 bf16;
typedef __nv_bfloat162 bf162;

#define BODY1(name, to, from, expression)                                       \
  __global__ void name(to *out, const from *in) {                               \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                              \
    from x = in[i];                                                             \
    out[i] = expression;                                                        \
  }
#define BODY2(name, to, from, expression)                                       \
  __global__ void name(to *out, const from *in, const from *other) {            \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                              \
    from x = in[i], y = other[i];                                               \
    out[i] = expression;                                                        \
  }
#define BODY3(name, to, from, expression)                                       \
  __global__ void name(to *out, const from *in, const from *b, const from *c) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                              \
    from x = in[i], y = b[i], z = c[i];                                         \
    out[i] = expression;                                                        \
  }
#define F1(f) BODY1(f32_##f, float, float, f(x))
#define F2(f) BODY2(f32_##f, float, float, f(x, y))
#define F3(f) BODY3(f32_##f, float, float, f(x, y, z))
#define D1(f) BODY1(f64_##f, double, double, f(x))
#define D2(f) BODY2(f64_##f, double, double, f(x, y))
#define D3(f) BODY3(f64_##f, double, double, f(x, y, z))
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
#define BF16(...) __VA_ARGS__
#else
#define BF16(...)
#endif
#define H1(f) BODY1(f16_##f, half_t, half_t, f(x)) BF16(BODY1(b16_##f, bf16, bf16, f(x)))
#define H2(f) BODY2(f16_##f, half_t, half_t, f(x, y)) BF16(BODY2(b16_##f, bf16, bf16, f(x, y)))
#define H3(f) BODY3(f16_##f, half_t, half_t, f(x, y, z)) BF16(BODY3(b16_##f, bf16, bf16, f(x, y, z)))
#define HB2(f) BODY2(f16_##f, bool, half_t, f(x, y)) BF16(BODY2(b16_##f, bool, bf16, f(x, y)))
#define P1(f) BODY1(f16x2_##f, half2_t, half2_t, f(x)) BF16(BODY1(b16x2_##f, bf162, bf162, f(x)))
#define P2(f) BODY2(f16x2_##f, half2_t, half2_t, f(x, y)) BF16(BODY2(b16x2_##f, bf162, bf162, f(x, y)))
#define P3(f) BODY3(f16x2_##f, half2_t, half2_t, f(x, y, z)) BF16(BODY3(b16x2_##f, bf162, bf162, f(x, y, z)))
#define PM2(f) BODY2(f16x2_##f, u32, half2_t, f(x, y)) BF16(BODY2(b16x2_##f, u32, bf162, f(x, y)))
#define I1(f) BODY1(u32_##f, int, u32, f(x))
#define I2(f) BODY2(u32_##f, u32, u32, f(x, y))
#define I3(f) BODY3(u32_##f, u32, u32, f(x, y, z))
#define S3(f) BODY3(s32_##f, int, int, f(x, y, z))
#define L1(f) BODY1(u64_##f, int, u64, f(x))
#define L2(f) BODY2(u64_##f, u64, u64, f(x, y))
#define ROUND1(M, f) M(f##_rn) M(f##_rz) M(f##_ru) M(f##_rd)

F1(sinf) F1(cosf) F1(tanf) F1(asinf) F1(acosf) F1(atanf) F1(sinhf) F1(coshf) F1(tanhf) F1(asinhf)
F1(acoshf) F1(atanhf) F1(expf) F1(exp2f) F1(exp10f) F1(expm1f) F1(logf) F1(log2f) F1(log10f)
F1(log1pf) F1(logbf) F1(sqrtf) F1(rsqrtf) F1(cbrtf) F1(rcbrtf) F1(erff) F1(erfcf) F1(erfinvf)
F1(erfcinvf) F1(erfcxf) F1(normcdff) F1(normcdfinvf) F1(tgammaf) F1(lgammaf) F1(j0f) F1(j1f)
F1(y0f) F1(y1f) F1(cyl_bessel_i0f) F1(cyl_bessel_i1f) F1(sinpif) F1(cospif) F1(floorf) F1(ceilf)
F1(truncf) F1(rintf) F1(roundf) F1(nearbyintf) F1(fabsf)
F2(powf) F2(fmodf) F2(remainderf) F2(atan2f) F2(hypotf) F2(rhypotf) F2(fdimf) F2(fmaxf) F2(fminf)
F2(copysignf) F2(nextafterf) F2(fdividef) F2(__powf) F2(__fdividef) F3(fmaf) F3(norm3df) F3(rnorm3df)
F1(__sinf) F1(__cosf) F1(__tanf) F1(__expf) F1(__exp10f) F1(__logf) F1(__log2f) F1(__log10f)
F1(__saturatef) F1(__frsqrt_rn) F1(__tanhf)
ROUND1(F1, __frcp) ROUND1(F1, __fsqrt) ROUND1(F2, __fadd) ROUND1(F2, __fsub) ROUND1(F2, __fmul)
ROUND1(F2, __fdiv) ROUND1(F3, __fmaf) ROUND1(F3, __fmaf_ieee)
BODY1(f32_isnan, int, float, isnan(x) + 2 * isinf(x) + 4 * signbit(x) + 8 * isfinite(x))
BODY1(f32_frexpf, float, float, ([&] { int e; float m = frexpf(x, &e); return m + e; })())
BODY1(f32_modff, float, float, ([&] { float e; float m = modff(x, &e); return m * e; })())
BODY1(f32_sincosf, float, float, ([&] { float s, c; sincosf(x, &s, &c); return s * c; })())
BODY2(f32_remquof, float, float, ([&] { int q; float r = remquof(x, y, &q); return r + q; })())
BODY1(f32_ilogbf, int, float, ilogbf(x)) BODY1(f32_lrintf, int, float, lrintf(x))
BODY1(f32_llroundf, i64, float, llroundf(x)) BODY2(f32_ldexpf, float, float, ldexpf(x, (int)y))
BODY2(f32_jnf, float, float, jnf((int)y, x)) BODY2(f32_ynf, float, float, ynf((int)y, x))
BODY1(f32_half_products, float, float, x * (x + 1.0f) * 0.5f)

D1(sin) D1(cos) D1(tan) D1(asin) D1(acos) D1(atan) D1(sinh) D1(cosh) D1(tanh) D1(asinh) D1(acosh)
D1(atanh) D1(exp) D1(exp2) D1(exp10) D1(expm1) D1(log) D1(log2) D1(log10) D1(log1p) D1(logb) D1(sqrt)
D1(rsqrt) D1(cbrt) D1(rcbrt) D1(erf) D1(erfc) D1(erfinv) D1(erfcinv) D1(erfcx) D1(normcdf)
D1(normcdfinv) D1(tgamma) D1(lgamma) D1(j0) D1(j1) D1(y0) D1(y1) D1(cyl_bessel_i0) D1(sinpi) D1(cospi)
D1(floor) D1(ceil) D1(trunc) D1(rint) D1(round) D1(nearbyint) D1(fabs)
D2(pow) D2(fmod) D2(remainder) D2(atan2) D2(hypot) D2(fdim) D2(fmax) D2(fmin) D2(copysign) D2(nextafter)
D3(fma) D3(norm3d)
ROUND1(D1, __drcp) ROUND1(D1, __dsqrt) ROUND1(D2, __dadd) ROUND1(D2, __dsub) ROUND1(D2, __dmul)
ROUND1(D2, __ddiv) ROUND1(D3, __fma)
BODY1(f64_isnan, int, double, isnan(x) + 2 * isinf(x) + 4 * signbit(x) + 8 * isfinite(x))
BODY1(f64_frexp, double, double, ([&] { int e; double m = frexp(x, &e); return m + e; })())
BODY1(f64_sincos, double, double, ([&] { double s, c; sincos(x, &s, &c); return s * c; })())
BODY1(f64_lrint, i64, double, llrint(x)) BODY2(f64_ldexp, double, double, ldexp(x, (int)y))

#define CAST(a, b) BODY1(cast_##a##_##b, b, a, (b)x)
#define CASTS(a) CAST(a, char) CAST(a, u32) CAST(a, int) CAST(a, u64) CAST(a, i64) CAST(a, float) CAST(a, double)
CASTS(char) CASTS(short) CASTS(int) CASTS(u32) CASTS(i64) CASTS(u64) CASTS(float) CASTS(double)
#define CONVERT(f, to, from) BODY1(convert_##f, to, from, f(x))
#define CONVERTS(f, to, from) CONVERT(f##_rn, to, from) CONVERT(f##_rz, to, from) \
  CONVERT(f##_ru, to, from) CONVERT(f##_rd, to, from)
CONVERTS(__float2int, int, float) CONVERTS(__float2uint, u32, float) CONVERTS(__float2ll, i64, float)
CONVERTS(__float2ull, u64, float) CONVERTS(__double2int, int, double) CONVERTS(__double2uint, u32, double)
CONVERTS(__double2ll, i64, double) CONVERTS(__double2ull, u64, double) CONVERTS(__int2float, float, int)
CONVERTS(__uint2float, float, u32) CONVERTS(__ll2float, float, i64) CONVERTS(__ull2float, float, u64)
CONVERTS(__ll2double, double, i64) CONVERTS(__ull2double, double, u64) CONVERTS(__double2float, float, double)
CONVERTS(__float2half, half_t, float) CONVERTS(__half2int, int, half_t) CONVERTS(__half2uint, u32, half_t)
CONVERTS(__half2ll, i64, half_t) CONVERTS(__half2short, short, half_t) CONVERTS(__int2half, half_t, int)
CONVERTS(__uint2half, half_t, u32) CONVERTS(__ll2half, half_t, i64) CONVERTS(__short2half, half_t, short)
CONVERTS(__float2bfloat16, bf16, float) CONVERTS(__bfloat162int, int, bf16)
CONVERTS(__int2bfloat16, bf16, int) CONVERTS(__ull2bfloat16, bf16, u64)
CONVERT(__double2half, half_t, double) CONVERT(__double2bfloat16, bf16, double)
CONVERT(__half2float, float, half_t) CONVERT(__bfloat162float, float, bf16)
BODY2(convert_pair_half, half2_t, float, __floats2half2_rn(x, y))
BODY2(convert_pair_bf16, bf162, float, __floats2bfloat162_rn(x, y))
BODY1(convert_e4m3, __nv_fp8_storage_t, float, __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3))
BODY1(convert_e5m2, __nv_fp8_storage_t, float, __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2))
BODY1(convert_from_e4m3, half_t, __nv_fp8_storage_t, half_t(__nv_cvt_fp8_to_halfraw(x, __NV_E4M3)))
BODY1(convert_from_e5m2, half_t, __nv_fp8_storage_t, half_t(__nv_cvt_fp8_to_halfraw(x, __NV_E5M2)))

H1(hsqrt) H1(hrsqrt) H1(hrcp) H1(hexp) H1(hexp2) H1(hexp10) H1(hlog) H1(hlog2) H1(hlog10) H1(hsin)
H1(hcos) H1(htanh) H1(hfloor) H1(hceil) H1(htrunc) H1(hrint) H1(__habs) H1(__hneg) H1(htanh_approx)
H2(__hadd) H2(__hsub) H2(__hmul) H2(__hdiv) H2(__hmax) H2(__hmin) H2(__hmax_nan) H2(__hmin_nan)
H2(__hadd_sat) H2(__hsub_sat) H2(__hmul_sat) H2(__hadd_rn) H2(__hmul_rn) H3(__hfma) H3(__hfma_sat)
H3(__hfma_relu)
HB2(__heq) HB2(__hne) HB2(__hlt) HB2(__hle) HB2(__hgt) HB2(__hge) HB2(__hequ) HB2(__hneu) HB2(__hltu)
HB2(__hgeu)
P1(h2sqrt) P1(h2rsqrt) P1(h2rcp) P1(h2exp) P1(h2log) P1(h2sin) P1(h2cos) P1(h2floor) P1(h2rint)
P1(__habs2) P1(__hneg2) P1(__hisnan2)
P2(__hadd2) P2(__hsub2) P2(__hmul2) P2(__h2div) P2(__hmax2) P2(__hmin2) P2(__hmax2_nan) P2(__hadd2_sat)
P2(__hmul2_sat) P2(__hadd2_rn) P2(__heq2) P2(__hlt2) P2(__hgeu2) P3(__hfma2) P3(__hfma2_sat)
P3(__hfma2_relu) P3(__hcmadd)
PM2(__heq2_mask) PM2(__hlt2_mask) PM2(__hgeu2_mask)
BODY2(f16x2_all, bool, half2_t, __hbeq2(x, y) || __hblt2(y, x)) BODY2(f16x2_mixed, float, half2_t,
  __low2float(x) * __high2float(y))

I1(__clz) I1(__popc) I1(__ffs) I1(__brev) L1(__clzll) L1(__popcll) L1(__ffsll) L1(__brevll)
I2(__umulhi) I2(__umul24) I2(__mulhi) I2(__mul24) I2(__rhadd) I2(__uhadd) I2(__urhadd) L2(__umul64hi)
L2(__mul64hi) I2(umin) I2(umax) L2(ullmin) L2(ullmax) I3(__byte_perm) I3(__funnelshift_l)
I3(__funnelshift_lc) I3(__funnelshift_r) I3(__funnelshift_rc) I3(__usad) S3(__sad) I3(__dp4a) I3(__dp2a_lo)
I3(__dp2a_hi) S3(__dp4a) S3(__dp2a_lo) S3(__dp2a_hi)
I2(__vadd2) I2(__vadd4) I2(__vaddss2) I2(__vaddus2) I2(__vaddss4) I2(__vaddus4) I2(__vsub2) I2(__vsub4)
I2(__vsubss2) I2(__vsubus4) I2(__vavgs2) I2(__vavgu2) I2(__vavgs4) I2(__vavgu4) I2(__vhaddu2) I2(__vhaddu4)
I2(__vcmpeq2) I2(__vcmpeq4) I2(__vcmpges2) I2(__vcmpgeu4) I2(__vcmpgts4) I2(__vcmpltu2) I2(__vcmpne4)
I2(__vseteq2) I2(__vsetgtu4) I2(__vsetles2) I2(__vmaxs2) I2(__vmaxu2) I2(__vmaxs4) I2(__vmaxu4) I2(__vmins2)
I2(__vminu2) I2(__vmins4) I2(__vminu4) I2(__vsads2) I2(__vsadu2) I2(__vsads4) I2(__vsadu4) I2(__vabsdiffs2)
I2(__vabsdiffu2) I2(__vabsdiffs4) I2(__vabsdiffu4) I1(__vabs2) I1(__vabs4) I1(__vabsss2) I1(__vabsss4)
I1(__vneg2) I1(__vneg4) I1(__vnegss2) I1(__vnegss4)
S3(__vimax3_s32) S3(__vimin3_s32) S3(__viaddmax_s32) S3(__viaddmin_s32)
S3(__viaddmax_s32_relu) S3(__viaddmin_s32_relu) I3(__vimax3_u32) I3(__vimin3_u32) I3(__viaddmax_u32)
I3(__viaddmin_u32) I3(__vimax3_s16x2) I3(__vimin3_u16x2) I3(__viaddmax_s16x2) I3(__viaddmin_u16x2)
I3(__viaddmax_s16x2_relu) I3(__vimax3_s16x2_relu) I3(__vimin3_s16x2_relu) I2(__vimax_s16x2_relu)
I2(__vimin_s16x2_relu)
BODY2(vibmax_s32, int, int, ([&] { bool p; int m = __vibmax_s32(x, y, &p); return p ? m : ~m; })())
BODY2(vibmin_u16x2, u32, u32, ([&] { bool p, q; u32 m = __vibmin_u16x2(x, y, &p, &q); return p ? m : q ? ~m : m + 1; })())

#define ARITHMETIC(t) BODY2(add_##t, t, t, x + y) BODY2(multiply_##t, t, t, x * y) BODY2(divide_##t, t, t, x / y) \
  BODY2(modulo_##t, t, t, x % y) BODY2(left_##t, t, t, x << (y & 31)) BODY2(right_##t, t, t, x >> (y & 31)) \
  BODY2(least_##t, t, t, x < y ? x : y) BODY2(most_##t, t, t, x < y ? y : x) BODY3(madd_##t, t, t, x * y + z) \
  BODY3(logic_##t, t, t, (x & y) ^ ~z) BODY1(negative_##t, t, t, -x) BODY1(constant_##t, t, t, x / 7 + x % 100) \
  BODY2(compare_##t, int, t, (x < y) + 2 * (x <= y) + 4 * (x == y))
ARITHMETIC(char) ARITHMETIC(short) ARITHMETIC(int) ARITHMETIC(u32) ARITHMETIC(i64) ARITHMETIC(u64)
