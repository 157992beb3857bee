// One small kernel per operation. Every kernel has the same parameters: three arrays of 32-bit
// words, three of 64-bit words, and the output, one element per thread. OP32 writes 32-bit
// results, OP64 64-bit results. In an expression a, b, c are the words, fa.. the same bits as
// float, x, y, z the 64-bit words, dx.. the same bits as double, ha.. half2, ba.. bfloat162.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

typedef unsigned u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

__device__ __forceinline__ float f(u32 v) { return __uint_as_float(v); }
__device__ __forceinline__ u32 b(float v) { return __float_as_uint(v); }
__device__ __forceinline__ double d(u64 v) { return __longlong_as_double((s64)v); }
__device__ __forceinline__ u64 q(double v) { return (u64)__double_as_longlong(v); }
__device__ __forceinline__ __half2 h2(u32 v) { return *reinterpret_cast<__half2 *>(&v); }
__device__ __forceinline__ u32 w(__half2 v) { return *reinterpret_cast<u32 *>(&v); }
__device__ __forceinline__ __half h1(u32 v) { return __ushort_as_half((unsigned short)v); }
__device__ __forceinline__ u32 w(__half v) { return __half_as_ushort(v); }
__device__ __forceinline__ __nv_bfloat162 b2(u32 v) { return *reinterpret_cast<__nv_bfloat162 *>(&v); }
__device__ __forceinline__ u32 w(__nv_bfloat162 v) { return *reinterpret_cast<u32 *>(&v); }
__device__ __forceinline__ __nv_bfloat16 b1(u32 v) { return __ushort_as_bfloat16((unsigned short)v); }
__device__ __forceinline__ u32 w(__nv_bfloat16 v) { return __bfloat16_as_ushort(v); }

#define HEAD                                                                                      \
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                                \
    u32 a = A[i], bb = B[i], c = C[i];                                                            \
    u64 x = X[i], y = Y[i], z = Z[i];                                                             \
    float fa = f(a), fb = f(bb), fc = f(c);                                                       \
    double dx = d(x), dy = d(y), dz = d(z);                                                       \
    (void)a; (void)bb; (void)c; (void)x; (void)y; (void)z; (void)fa; (void)fb; (void)fc;          \
    (void)dx; (void)dy; (void)dz;
#define PARAMETERS                                                                                \
    const u32 *A, const u32 *B, const u32 *C, const u64 *X, const u64 *Y, const u64 *Z
#define OP32(name, ...)                                                                          \
    extern "C" __global__ void name(PARAMETERS, u32 *R) { HEAD R[i] = (u32)(__VA_ARGS__); }
#define OP64(name, ...)                                                                          \
    extern "C" __global__ void name(PARAMETERS, u64 *R) { HEAD R[i] = (u64)(__VA_ARGS__); }
#define ASM32(name, text)                                                                         \
    extern "C" __global__ void name(PARAMETERS, u32 *R) {                                         \
        HEAD u32 r; asm(text : "=r"(r) : "r"(a), "r"(bb), "r"(c)); R[i] = r; }
#define ASMF(name, text)                                                                          \
    extern "C" __global__ void name(PARAMETERS, u32 *R) {                                         \
        HEAD float r; asm(text : "=f"(r) : "f"(fa), "f"(fb), "f"(fc)); R[i] = b(r); }
#define ASMH(name, text)                                                                          \
    extern "C" __global__ void name(PARAMETERS, u32 *R) {                                         \
        HEAD u32 r; asm(text : "=r"(r) : "r"(a), "r"(bb), "r"(c)); R[i] = r; }

// --- integers -------------------------------------------------------------------------------
OP32(int_add, a + bb)
OP32(int_sub, a - bb)
OP32(int_add3, a + bb + c)
OP32(int_mul, a * bb)
OP32(int_mad, a * bb + c)
OP32(int_umulhi, __umulhi(a, bb))
OP32(int_mulhi, __mulhi((s32)a, (s32)bb))
OP32(int_umul24, __umul24(a, bb))
OP32(int_mul24, __mul24((s32)a, (s32)bb))
OP32(int_div, bb == 0 ? 0 : a / bb)
OP32(int_sdiv, bb == 0 || bb == 0xffffffffu ? 0 : (s32)a / (s32)bb)
OP32(int_rem, bb == 0 ? 0 : a % bb)
OP32(int_srem, bb == 0 || bb == 0xffffffffu ? 0 : (s32)a % (s32)bb)
OP32(int_div7, a / 7)
OP32(int_sdiv10, (s32)a / 10)
OP32(int_min, min((s32)a, (s32)bb))
OP32(int_max, max((s32)a, (s32)bb))
OP32(int_umin, min(a, bb))
OP32(int_umax, max(a, bb))
OP32(int_min3, min(min((s32)a, (s32)bb), (s32)c))
OP32(int_addmin, __viaddmin_s32((s32)a, (s32)bb, (s32)c))
OP32(int_addmax, __viaddmax_s32((s32)a, (s32)bb, (s32)c))
OP32(int_addmin_u, __viaddmin_u32(a, bb, c))
OP32(int_addmax_relu, __viaddmax_s32_relu((s32)a, (s32)bb, (s32)c))
OP32(int_min3_relu, __vimin3_s32_relu((s32)a, (s32)bb, (s32)c))
OP32(int_max3_s16x2, __vimax3_s16x2(a, bb, c))
OP32(int_min3_u16x2, __vimin3_u16x2(a, bb, c))
OP32(int_addmax_s16x2, __viaddmax_s16x2(a, bb, c))
OP32(int_addmin_s16x2_relu, __viaddmin_s16x2_relu(a, bb, c))
OP32(int_abs, abs((s32)a))
OP32(int_neg, -a)
OP32(int_sad, __sad((s32)a, (s32)bb, c))
OP32(int_usad, __usad(a, bb, c))
OP32(int_hadd, __hadd((s32)a, (s32)bb))
OP32(int_rhadd, __rhadd((s32)a, (s32)bb))
OP32(int_uhadd, __uhadd(a, bb))
OP32(int_urhadd, __urhadd(a, bb))
OP32(int_clz, __clz((s32)a))
OP32(int_ffs, __ffs((s32)a))
OP32(int_popc, __popc(a))
OP32(int_brev, __brev(a))
OP32(int_fns, __fns(a, bb & 31, 1 + (s32)(c & 3)))
OP32(int_byte_perm, __byte_perm(a, bb, c))
ASM32(int_bfind_u, "bfind.u32 %0, %1;")
ASM32(int_bfind_s, "bfind.s32 %0, %1;")
ASM32(int_bfind_shift_u, "bfind.shiftamt.u32 %0, %1;")
ASM32(int_bfind_shift_s, "bfind.shiftamt.s32 %0, %1;")
ASM32(int_bfe_u, "bfe.u32 %0, %1, %2, %3;")
ASM32(int_bfe_s, "bfe.s32 %0, %1, %2, %3;")
ASM32(int_bfi, "bfi.b32 %0, %1, %2, %3, 7;")
ASM32(int_bfi_var, "bfi.b32 %0, %1, %2, %3, %2;")
ASM32(int_szext_wrap_s, "szext.wrap.s32 %0, %1, %2;")
ASM32(int_szext_clamp_u, "szext.clamp.u32 %0, %1, %2;")
ASM32(int_bmsk_wrap, "bmsk.wrap.b32 %0, %1, %2;")
ASM32(int_bmsk_clamp, "bmsk.clamp.b32 %0, %1, %2;")
ASM32(int_add_sat, "add.sat.s32 %0, %1, %2;")
ASM32(int_sub_sat, "sub.sat.s32 %0, %1, %2;")
ASM32(int_mad_hi_sat, "mad.hi.sat.s32 %0, %1, %2, %3;")
ASM32(int_mad_hi, "mad.hi.s32 %0, %1, %2, %3;")
ASM32(int_mad_hi_u, "mad.hi.u32 %0, %1, %2, %3;")
ASM32(int_mad24_lo, "mad24.lo.s32 %0, %1, %2, %3;")
ASM32(int_addc, "{.reg .u32 t; add.cc.u32 t, %1, %2; addc.u32 %0, %3, 0;}")
ASM32(int_addc2, "{.reg .u32 t; add.cc.u32 t, %1, %2; addc.cc.u32 t, %3, %1; addc.u32 %0, %2, 0;}")
ASM32(int_subc, "{.reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %3, 0;}")
ASM32(int_subc2, "{.reg .u32 t; sub.cc.u32 t, %1, %2; subc.cc.u32 t, %3, %1; subc.u32 %0, %2, 0;}")
ASM32(int_madc, "{.reg .u32 t; mad.lo.cc.u32 t, %1, %2, %3; madc.hi.u32 %0, %1, %2, %3;}")
ASM32(int_prmt_f4e, "prmt.b32.f4e %0, %1, %2, %3;")
ASM32(int_prmt_b4e, "prmt.b32.b4e %0, %1, %2, %3;")
ASM32(int_prmt_rc8, "prmt.b32.rc8 %0, %1, %2, %3;")
ASM32(int_prmt_ecl, "prmt.b32.ecl %0, %1, %2, %3;")
ASM32(int_prmt_ecr, "prmt.b32.ecr %0, %1, %2, %3;")
ASM32(int_prmt_rc16, "prmt.b32.rc16 %0, %1, %2, %3;")
OP64(int_mul_wide, (u64)a * bb)
OP64(int_smul_wide, (s64)(s32)a * (s32)bb)
OP64(int_mad_wide, (u64)a * bb + x)
OP64(int_smad_wide, (s64)(s32)a * (s32)bb + (s64)x)
OP64(int64_add, x + y)
OP64(int64_sub, x - y)
OP64(int64_mul, x * y)
OP64(int64_umulhi, __umul64hi(x, y))
OP64(int64_mulhi, __mul64hi((s64)x, (s64)y))
OP64(int64_div, y == 0 ? 0 : x / y)
OP64(int64_sdiv, y == 0 || y == ~0ull ? 0 : (s64)x / (s64)y)
OP64(int64_rem, y == 0 ? 0 : x % y)
OP64(int64_srem, y == 0 || y == ~0ull ? 0 : (s64)x % (s64)y)
OP64(int64_min, min((s64)x, (s64)y))
OP64(int64_umax, max(x, y))
OP64(int64_abs, llabs((s64)x))
OP64(int64_neg, -x)
OP64(int64_brev, __brevll(x))
OP32(int64_clz, __clzll((s64)x))
OP32(int64_ffs, __ffsll((s64)x))
OP32(int64_popc, __popcll(x))
OP32(int64_lt, (s64)x < (s64)y)
OP32(int64_ult, x < y)
OP32(int64_eq, (x & 0xff) == (y & 0xff))

// --- comparisons and selects ------------------------------------------------------------------
OP32(cmp_lt, (s32)a < (s32)bb ? c : a)
OP32(cmp_le_u, a <= bb ? c : a)
OP32(cmp_mix, ((s32)a < (s32)bb && a != c) || bb >= c)
ASM32(cmp_slct, "slct.u32.s32 %0, %1, %2, %3;")
ASM32(cmp_set, "set.gt.and.u32.s32 %0, %1, %2, 1;")

// --- logic and shifts ---------------------------------------------------------------------------
OP32(logic_and, a & bb)
OP32(logic_or, a | bb)
OP32(logic_xor, a ^ bb)
OP32(logic_not, ~a)
OP32(logic_select, (a & bb) | (~a & c))
OP32(logic_majority, (a & bb) | (bb & c) | (a & c))
ASM32(logic_lop3_1b, "lop3.b32 %0, %1, %2, %3, 0x1b;")
ASM32(logic_lop3_96, "lop3.b32 %0, %1, %2, %3, 0x96;")
ASM32(logic_lop3_e2, "lop3.b32 %0, %1, %2, %3, 0xe2;")
ASM32(logic_cnot, "cnot.b32 %0, %1;")
ASM32(shift_left, "shl.b32 %0, %1, %2;")
ASM32(shift_right_u, "shr.u32 %0, %1, %2;")
ASM32(shift_right_s, "shr.s32 %0, %1, %2;")
OP32(shift_left_5, a << 5)
OP32(shift_right_s7, (s32)a >> 7)
ASM32(shift_funnel_lw, "shf.l.wrap.b32 %0, %1, %2, %3;")
ASM32(shift_funnel_lc, "shf.l.clamp.b32 %0, %1, %2, %3;")
ASM32(shift_funnel_rw, "shf.r.wrap.b32 %0, %1, %2, %3;")
ASM32(shift_funnel_rc, "shf.r.clamp.b32 %0, %1, %2, %3;")
#define SHIFT64(name, text)                                                                       \
    extern "C" __global__ void name(PARAMETERS, u64 *R) {                                         \
        HEAD u64 r; asm(text : "=l"(r) : "l"(x), "r"(bb)); R[i] = r; }
SHIFT64(shift64_left, "shl.b64 %0, %1, %2;")
SHIFT64(shift64_right_u, "shr.u64 %0, %1, %2;")
SHIFT64(shift64_right_s, "shr.s64 %0, %1, %2;")
OP32(sign_extend8, (s32)(signed char)a)
OP32(sign_extend16, (s32)(short)a)

// --- dot products and byte vectors --------------------------------------------------------------
OP32(dp4a_ss, __dp4a((s32)a, (s32)bb, (s32)c))
OP32(dp4a_uu, __dp4a(a, bb, c))
ASM32(dp4a_us, "dp4a.u32.s32 %0, %1, %2, %3;")
ASM32(dp4a_su, "dp4a.s32.u32 %0, %1, %2, %3;")
OP32(dp2a_lo_ss, __dp2a_lo((s32)a, (s32)bb, (s32)c))
OP32(dp2a_hi_ss, __dp2a_hi((s32)a, (s32)bb, (s32)c))
OP32(dp2a_lo_uu, __dp2a_lo(a, bb, c))
OP32(dp2a_hi_uu, __dp2a_hi(a, bb, c))
ASM32(dp2a_lo_us, "dp2a.lo.u32.s32 %0, %1, %2, %3;")
OP32(vadd4, __vadd4(a, bb))
OP32(vaddss4, __vaddss4(a, bb))
OP32(vaddus2, __vaddus2(a, bb))
OP32(vsubss2, __vsubss2(a, bb))
OP32(vavgu4, __vavgu4(a, bb))
OP32(vabsdiffu4, __vabsdiffu4(a, bb))
OP32(vabsdiffs2, __vabsdiffs2(a, bb))
OP32(vsadu4, __vsadu4(a, bb))
OP32(vsads4, __vsads4(a, bb))
OP32(vcmpgtu4, __vcmpgtu4(a, bb))
OP32(vmaxs2, __vmaxs2(a, bb))
OP32(vminu4, __vminu4(a, bb))
OP32(vsetges2, __vsetges2(a, bb))
OP32(vneg4, __vneg4(a))
OP32(vabs2, __vabs2(a))
ASM32(vadd_video, "vadd.s32.s32.s32.sat %0, %1.b1, %2.h1;")
ASM32(vabsdiff_video, "vabsdiff.u32.u32.u32.add %0, %1, %2, %3;")
ASM32(vmad_video, "vmad.s32.s32.s32.sat %0, %1.b2, %2.h0, %3;")
ASM32(vmin_video, "vmin.s32.s32.s32 %0, %1.h1, %2.b3;")
ASM32(vset_video, "vset.s32.u32.lt %0, %1, %2;")

// --- float ----------------------------------------------------------------------------------------
OP32(f32_add, b(__fadd_rn(fa, fb)))
OP32(f32_add_rz, b(__fadd_rz(fa, fb)))
OP32(f32_add_rd, b(__fadd_rd(fa, fb)))
OP32(f32_add_ru, b(__fadd_ru(fa, fb)))
OP32(f32_sub, b(__fsub_rn(fa, fb)))
OP32(f32_mul, b(__fmul_rn(fa, fb)))
OP32(f32_mul_rz, b(__fmul_rz(fa, fb)))
OP32(f32_mul_rd, b(__fmul_rd(fa, fb)))
OP32(f32_mul_ru, b(__fmul_ru(fa, fb)))
OP32(f32_fma, b(__fmaf_rn(fa, fb, fc)))
OP32(f32_fma_rz, b(__fmaf_rz(fa, fb, fc)))
OP32(f32_fma_rd, b(__fmaf_rd(fa, fb, fc)))
OP32(f32_fma_ru, b(__fmaf_ru(fa, fb, fc)))
ASMF(f32_add_ftz, "add.ftz.f32 %0, %1, %2;")
ASMF(f32_mul_ftz, "mul.ftz.f32 %0, %1, %2;")
ASMF(f32_fma_ftz, "fma.rn.ftz.f32 %0, %1, %2, %3;")
ASMF(f32_fma_rz_ftz, "fma.rz.ftz.f32 %0, %1, %2, %3;")
ASMF(f32_add_sat, "add.sat.f32 %0, %1, %2;")
ASMF(f32_mul_sat, "mul.sat.f32 %0, %1, %2;")
ASMF(f32_fma_sat, "fma.rn.sat.f32 %0, %1, %2, %3;")
ASMF(f32_fma_ftz_sat, "fma.rn.ftz.sat.f32 %0, %1, %2, %3;")
ASMF(f32_min, "min.f32 %0, %1, %2;")
ASMF(f32_max, "max.f32 %0, %1, %2;")
ASMF(f32_min_ftz, "min.ftz.f32 %0, %1, %2;")
ASMF(f32_max_ftz, "max.ftz.f32 %0, %1, %2;")
ASMF(f32_min_nan, "min.NaN.f32 %0, %1, %2;")
ASMF(f32_max_nan, "max.NaN.f32 %0, %1, %2;")
ASMF(f32_min_xorsign, "min.xorsign.abs.f32 %0, %1, %2;")
ASMF(f32_max_nan_xorsign, "max.NaN.xorsign.abs.f32 %0, %1, %2;")
OP32(f32_fmin, b(fminf(fa, fb)))
OP32(f32_fmax, b(fmaxf(fa, fb)))
OP32(f32_neg, b(-fa))
OP32(f32_abs, b(fabsf(fa)))
ASMF(f32_neg_ftz, "neg.ftz.f32 %0, %1;")
ASMF(f32_abs_ftz, "abs.ftz.f32 %0, %1;")
OP32(f32_neg_mul, b(__fmul_rn(-fa, fb)))
OP32(f32_abs_add, b(__fadd_rn(fabsf(fa), -fabsf(fb))))
OP32(f32_copysign, b(copysignf(fa, fb)))
OP32(f32_lt, fa < fb)
OP32(f32_le, fa <= fb)
OP32(f32_eq, fa == fb)
OP32(f32_ne, fa != fb)
OP32(f32_unordered, !(fa <= fb) && !(fa > fb))
ASMF(f32_set_ltu, "set.ltu.f32.f32 %0, %1, %2;")
ASM32(f32_set_bool, "{.reg .f32 p, q; mov.b32 p, %1; mov.b32 q, %2; set.geu.ftz.u32.f32 %0, p, q;}")
ASM32(f32_testp, "{.reg .f32 p; .reg .pred t; mov.b32 p, %1; testp.subnormal.f32 t, p; selp.u32 %0, 1, 0, t;}")
ASMF(f32_slct, "{.reg .b32 r; slct.ftz.f32.f32 %0, %1, %2, %3;}")
OP32(f32_div, b(__fdiv_rn(fa, fb)))
OP32(f32_div_rz, b(__fdiv_rz(fa, fb)))
OP32(f32_div_rd, b(__fdiv_rd(fa, fb)))
OP32(f32_div_ru, b(__fdiv_ru(fa, fb)))
OP32(f32_sqrt, b(__fsqrt_rn(fa)))
OP32(f32_sqrt_rz, b(__fsqrt_rz(fa)))
OP32(f32_sqrt_rd, b(__fsqrt_rd(fa)))
OP32(f32_sqrt_ru, b(__fsqrt_ru(fa)))
OP32(f32_rcp, b(__frcp_rn(fa)))
OP32(f32_rcp_rz, b(__frcp_rz(fa)))
OP32(f32_rcp_rd, b(__frcp_rd(fa)))
OP32(f32_rcp_ru, b(__frcp_ru(fa)))
OP32(f32_rsqrt, b(__frsqrt_rn(fa)))
ASMF(f32_div_approx, "div.approx.f32 %0, %1, %2;")
ASMF(f32_div_full, "div.full.f32 %0, %1, %2;")
ASMF(f32_div_approx_ftz, "div.approx.ftz.f32 %0, %1, %2;")
ASMF(f32_div_full_ftz, "div.full.ftz.f32 %0, %1, %2;")
ASMF(f32_rcp_approx, "rcp.approx.f32 %0, %1;")
ASMF(f32_sqrt_approx, "sqrt.approx.f32 %0, %1;")
ASMF(f32_rsqrt_approx, "rsqrt.approx.f32 %0, %1;")
ASMF(f32_sin_approx, "sin.approx.f32 %0, %1;")
ASMF(f32_cos_approx, "cos.approx.f32 %0, %1;")
ASMF(f32_lg2_approx, "lg2.approx.f32 %0, %1;")
ASMF(f32_ex2_approx, "ex2.approx.f32 %0, %1;")
ASMF(f32_tanh_approx, "tanh.approx.f32 %0, %1;")
ASMF(f32_rcp_approx_ftz, "rcp.approx.ftz.f32 %0, %1;")
ASMF(f32_sqrt_approx_ftz, "sqrt.approx.ftz.f32 %0, %1;")
ASMF(f32_rsqrt_approx_ftz, "rsqrt.approx.ftz.f32 %0, %1;")
ASMF(f32_sin_approx_ftz, "sin.approx.ftz.f32 %0, %1;")
ASMF(f32_cos_approx_ftz, "cos.approx.ftz.f32 %0, %1;")
ASMF(f32_lg2_approx_ftz, "lg2.approx.ftz.f32 %0, %1;")
ASMF(f32_ex2_approx_ftz, "ex2.approx.ftz.f32 %0, %1;")

// --- transcendental functions ---------------------------------------------------------------------
#define M1(name) OP32(math_##name, b(name##f(fa)))
M1(sin) M1(cos) M1(tan) M1(asin) M1(acos) M1(atan) M1(sinh) M1(cosh) M1(tanh) M1(asinh) M1(acosh)
M1(atanh) M1(exp) M1(exp2) M1(exp10) M1(expm1) M1(log) M1(log2) M1(log10) M1(log1p) M1(cbrt)
M1(rcbrt) M1(erf) M1(erfc) M1(erfinv) M1(erfcx) M1(normcdf) M1(tgamma) M1(lgamma) M1(sinpi)
M1(cospi) M1(sqrt) M1(rsqrt) M1(floor) M1(ceil) M1(trunc) M1(round) M1(rint) M1(logb) M1(j0)
OP32(math_cyl_i0, b(cyl_bessel_i0f(fa)))
OP32(math_pow, b(powf(fa, fb)))
OP32(math_fmod, b(fmodf(fa, fb)))
OP32(math_remainder, b(remainderf(fa, fb)))
OP32(math_atan2, b(atan2f(fa, fb)))
OP32(math_hypot, b(hypotf(fa, fb)))
OP32(math_fdim, b(fdimf(fa, fb)))
OP32(math_nextafter, b(nextafterf(fa, fb)))
OP32(math_ldexp, b(ldexpf(fa, (s32)(bb & 511) - 256)))
OP32(math_ilogb, ilogbf(fa))
OP32(math_frexp, [&] { int e; u32 m = b(frexpf(fa, &e)); return m + (u32)e; }())
OP32(math_modf, [&] { float e; u32 m = b(modff(fa, &e)); return m ^ b(e); }())
OP32(math_sincos, [&] { float s, k; sincosf(fa, &s, &k); return b(s) ^ b(k) << 1; }())
OP32(math_norm3d, b(norm3df(fa, fb, fc)))
OP32(fast_sin, b(__sinf(fa)))
OP32(fast_cos, b(__cosf(fa)))
OP32(fast_tan, b(__tanf(fa)))
OP32(fast_exp, b(__expf(fa)))
OP32(fast_exp10, b(__exp10f(fa)))
OP32(fast_log, b(__logf(fa)))
OP32(fast_log2, b(__log2f(fa)))
OP32(fast_log10, b(__log10f(fa)))
OP32(fast_pow, b(__powf(fa, fb)))
OP32(fast_div, b(__fdividef(fa, fb)))
OP32(fast_saturate, b(__saturatef(fa)))

// --- double ---------------------------------------------------------------------------------------
OP64(f64_add, q(__dadd_rn(dx, dy)))
OP64(f64_add_rz, q(__dadd_rz(dx, dy)))
OP64(f64_add_rd, q(__dadd_rd(dx, dy)))
OP64(f64_add_ru, q(__dadd_ru(dx, dy)))
OP64(f64_mul, q(__dmul_rn(dx, dy)))
OP64(f64_mul_rz, q(__dmul_rz(dx, dy)))
OP64(f64_mul_ru, q(__dmul_ru(dx, dy)))
OP64(f64_fma, q(__fma_rn(dx, dy, dz)))
OP64(f64_fma_rz, q(__fma_rz(dx, dy, dz)))
OP64(f64_fma_rd, q(__fma_rd(dx, dy, dz)))
OP64(f64_div, q(__ddiv_rn(dx, dy)))
OP64(f64_div_rz, q(__ddiv_rz(dx, dy)))
OP64(f64_sqrt, q(__dsqrt_rn(dx)))
OP64(f64_sqrt_ru, q(__dsqrt_ru(dx)))
OP64(f64_rcp, q(__drcp_rn(dx)))
OP64(f64_min, q(fmin(dx, dy)))
OP64(f64_max, q(fmax(dx, dy)))
OP64(f64_neg, q(-dx))
OP64(f64_abs, q(fabs(dx)))
OP32(f64_lt, dx < dy)
OP32(f64_eq, dx == dy)
OP32(f64_geu, !(dx < dy))
OP64(f64_exp, q(exp(dx)))
OP64(f64_log, q(log(dx)))
OP64(f64_sin, q(sin(dx)))
OP64(f64_cos, q(cos(dx)))
OP64(f64_tanh, q(tanh(dx)))
OP64(f64_pow, q(pow(dx, dy)))
OP64(f64_rsqrt, q(rsqrt(dx)))
OP64(f64_cbrt, q(cbrt(dx)))
OP64(f64_atan2, q(atan2(dx, dy)))
OP64(f64_erf, q(erf(dx)))
OP64(f64_floor, q(floor(dx)))
OP64(f64_rint, q(rint(dx)))
OP64(f64_trunc, q(trunc(dx)))
OP64(f64_ceil, q(ceil(dx)))
OP64(f64_round, q(round(dx)))
OP64(f64_fmod, q(fmod(dx, dy)))
#define ASMD(name, text)                                                                          \
    extern "C" __global__ void name(PARAMETERS, u64 *R) {                                         \
        HEAD double r; asm(text : "=d"(r) : "d"(dx), "d"(dy), "d"(dz)); R[i] = q(r); }
ASMD(f64_rcp_approx, "rcp.approx.ftz.f64 %0, %1;")
ASMD(f64_rsqrt_approx, "rsqrt.approx.ftz.f64 %0, %1;")

// --- conversions ------------------------------------------------------------------------------------
#define F2I(kind) \
    OP32(cvt_f32_s32_##kind, __float2int_##kind(fa))                                              \
    OP32(cvt_f32_u32_##kind, __float2uint_##kind(fa))                                             \
    OP64(cvt_f32_s64_##kind, __float2ll_##kind(fa))                                               \
    OP64(cvt_f32_u64_##kind, __float2ull_##kind(fa))                                              \
    OP32(cvt_f64_s32_##kind, __double2int_##kind(dx))                                             \
    OP32(cvt_f64_u32_##kind, __double2uint_##kind(dx))                                            \
    OP64(cvt_f64_s64_##kind, __double2ll_##kind(dx))                                              \
    OP64(cvt_f64_u64_##kind, __double2ull_##kind(dx))                                             \
    OP32(cvt_s32_f32_##kind, b(__int2float_##kind((s32)a)))                                       \
    OP32(cvt_u32_f32_##kind, b(__uint2float_##kind(a)))                                           \
    OP32(cvt_s64_f32_##kind, b(__ll2float_##kind((s64)x)))                                        \
    OP32(cvt_u64_f32_##kind, b(__ull2float_##kind(x)))                                            \
    OP64(cvt_s64_f64_##kind, q(__ll2double_##kind((s64)x)))                                       \
    OP64(cvt_u64_f64_##kind, q(__ull2double_##kind(x)))                                           \
    OP32(cvt_f64_f32_##kind, b(__double2float_##kind(dx)))                                        \
    OP32(cvt_f16_s32_##kind, __half2int_##kind(h1(a)))                                            \
    OP32(cvt_f16_u32_##kind, __half2uint_##kind(h1(a)))                                           \
    OP32(cvt_f16_s16_##kind, (u32)(s32)__half2short_##kind(h1(a)))                                \
    OP32(cvt_f16_u16_##kind, __half2ushort_##kind(h1(a)))                                         \
    OP64(cvt_f16_s64_##kind, __half2ll_##kind(h1(a)))                                             \
    OP32(cvt_s32_f16_##kind, w(__int2half_##kind((s32)a)))                                        \
    OP32(cvt_u64_f16_##kind, w(__ull2half_##kind(x)))                                             \
    OP32(cvt_f32_f16_##kind, w(__float2half_##kind(fa)))                                          \
    OP32(cvt_bf16_s32_##kind, __bfloat162int_##kind(b1(a)))                                       \
    OP32(cvt_u32_bf16_##kind, w(__uint2bfloat16_##kind(a)))                                       \
    OP32(cvt_f32_bf16_##kind, w(__float2bfloat16_##kind(fa)))
F2I(rn) F2I(rz) F2I(rd) F2I(ru)
OP64(cvt_f32_f64, q((double)fa))
OP64(cvt_s32_f64, q((double)(s32)a))
OP64(cvt_u32_f64, q((double)a))
OP32(cvt_f64_f16, w(__double2half(dx)))
OP32(cvt_f64_bf16, w(__double2bfloat16(dx)))
OP32(cvt_f16_f32, b(__half2float(h1(a))))
OP32(cvt_bf16_f32, b(__bfloat162float(b1(a))))
OP32(cvt_f32x2_f16x2, w(__floats2half2_rn(fa, fb)))
OP32(cvt_f32x2_bf16x2, w(__floats2bfloat162_rn(fa, fb)))
OP32(cvt_f16_f16x2_low, b(__low2float(h2(a))))
OP32(cvt_f16_f16x2_high, b(__high2float(h2(a))))
OP32(cvt_f32_s8, (s32)(signed char)fa)
OP32(cvt_f32_u8, (u32)(unsigned char)fa)
OP32(cvt_s8_f32, b((float)(signed char)a))
OP32(cvt_u8_f32, b((float)(unsigned char)(a >> 8)))
OP32(cvt_s16_f32, b((float)(short)(a >> 16)))
OP32(cvt_u16_f16, w(__ushort2half_rn((unsigned short)a)))
ASM32(cvt_sat_u8_s32, "{.reg .u16 t; cvt.sat.u8.s32 t, %1; cvt.u32.u16 %0, t;}")
ASM32(cvt_sat_s16_s32, "{.reg .s16 t; cvt.sat.s16.s32 t, %1; cvt.s32.s16 %0, t;}")
ASM32(cvt_sat_u16_f32, "{.reg .f32 p; .reg .u16 t; mov.b32 p, %1; cvt.rni.sat.u16.f32 t, p; cvt.u32.u16 %0, t;}")
ASM32(cvt_sat_s8_f32, "{.reg .f32 p; .reg .s16 t; mov.b32 p, %1; cvt.rzi.sat.s8.f32 t, p; cvt.s32.s16 %0, t;}")
ASM32(cvt_ftz_s32_f32, "{.reg .f32 p; mov.b32 p, %1; cvt.rpi.ftz.s32.f32 %0, p;}")
ASM32(cvt_pack_s16, "cvt.pack.sat.s16.s32 %0, %1, %2;")
ASM32(cvt_pack_u16, "cvt.pack.sat.u16.s32 %0, %1, %2;")
ASM32(cvt_pack_s8, "cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;")
ASM32(cvt_pack_u8, "cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;")
ASMF(cvt_rni_f32, "cvt.rni.f32.f32 %0, %1;")
ASMF(cvt_rzi_f32, "cvt.rzi.f32.f32 %0, %1;")
ASMF(cvt_rmi_f32, "cvt.rmi.f32.f32 %0, %1;")
ASMF(cvt_rpi_ftz_f32, "cvt.rpi.ftz.f32.f32 %0, %1;")
ASMF(cvt_sat_f32, "cvt.sat.f32.f32 %0, %1;")
ASMF(cvt_rni_sat_f32, "cvt.rni.sat.f32.f32 %0, %1;")
ASM32(cvt_tf32, "{.reg .f32 p; mov.b32 p, %1; cvt.rna.tf32.f32 %0, p;}")
ASM32(cvt_tf32_rn, "{.reg .f32 p; mov.b32 p, %1; cvt.rn.tf32.f32 %0, p;}")
ASM32(cvt_tf32_rz, "{.reg .f32 p; mov.b32 p, %1; cvt.rz.tf32.f32 %0, p;}")
ASM32(cvt_tf32_relu, "{.reg .f32 p; mov.b32 p, %1; cvt.rn.relu.tf32.f32 %0, p;}")
#define PACK(name, text)                                                                          \
    ASM32(name, "{.reg .f32 p, q; mov.b32 p, %1; mov.b32 q, %2; " text " %0, p, q;}")
PACK(cvt_f16x2_rn, "cvt.rn.f16x2.f32")
PACK(cvt_f16x2_rz, "cvt.rz.f16x2.f32")
PACK(cvt_f16x2_relu, "cvt.rn.relu.f16x2.f32")
PACK(cvt_bf16x2_rn, "cvt.rn.bf16x2.f32")
PACK(cvt_bf16x2_rz, "cvt.rz.bf16x2.f32")
PACK(cvt_bf16x2_relu, "cvt.rz.relu.bf16x2.f32")
#define PACK8(name, text)                                                                         \
    ASM32(name, "{.reg .f32 p, q; .reg .b16 t; mov.b32 p, %1; mov.b32 q, %2; " text               \
                " t, p, q; cvt.u32.u16 %0, t;}")
PACK8(cvt_e4m3x2, "cvt.rn.satfinite.e4m3x2.f32")
PACK8(cvt_e5m2x2, "cvt.rn.satfinite.e5m2x2.f32")
PACK8(cvt_e4m3x2_relu, "cvt.rn.satfinite.relu.e4m3x2.f32")
ASM32(cvt_e4m3x2_f16x2, "{.reg .b16 t; cvt.rn.satfinite.e4m3x2.f16x2 t, %1; cvt.u32.u16 %0, t;}")
ASM32(cvt_e5m2x2_f16x2, "{.reg .b16 t; cvt.rn.satfinite.e5m2x2.f16x2 t, %1; cvt.u32.u16 %0, t;}")
ASM32(cvt_f16x2_e4m3x2, "{.reg .b16 t; cvt.u16.u32 t, %1; cvt.rn.f16x2.e4m3x2 %0, t;}")
ASM32(cvt_f16x2_e5m2x2, "{.reg .b16 t; cvt.u16.u32 t, %1; cvt.rn.f16x2.e5m2x2 %0, t;}")

// --- half and bfloat16 ---------------------------------------------------------------------------
#define HALVES(prefix, v, s)                                                                       \
    OP32(prefix##_add2, w(__hadd2(v(a), v(bb))))                                                  \
    OP32(prefix##_sub2, w(__hsub2(v(a), v(bb))))                                                  \
    OP32(prefix##_mul2, w(__hmul2(v(a), v(bb))))                                                  \
    OP32(prefix##_fma2, w(__hfma2(v(a), v(bb), v(c))))                                            \
    OP32(prefix##_fma2_relu, w(__hfma2_relu(v(a), v(bb), v(c))))                                  \
    OP32(prefix##_add2_sat, w(__hadd2_sat(v(a), v(bb))))                                          \
    OP32(prefix##_mul2_sat, w(__hmul2_sat(v(a), v(bb))))                                          \
    OP32(prefix##_fma2_sat, w(__hfma2_sat(v(a), v(bb), v(c))))                                    \
    OP32(prefix##_add2_rn, w(__hadd2_rn(v(a), v(bb))))                                            \
    OP32(prefix##_mul2_rn, w(__hmul2_rn(v(a), v(bb))))                                            \
    OP32(prefix##_div2, w(__h2div(v(a), v(bb))))                                                  \
    OP32(prefix##_min2, w(__hmin2(v(a), v(bb))))                                                  \
    OP32(prefix##_max2, w(__hmax2(v(a), v(bb))))                                                  \
    OP32(prefix##_min2_nan, w(__hmin2_nan(v(a), v(bb))))                                          \
    OP32(prefix##_max2_nan, w(__hmax2_nan(v(a), v(bb))))                                          \
    OP32(prefix##_neg2, w(__hneg2(v(a))))                                                         \
    OP32(prefix##_abs2, w(__habs2(v(a))))                                                         \
    OP32(prefix##_lt2, w(__hlt2(v(a), v(bb))))                                                    \
    OP32(prefix##_geu2, w(__hgeu2(v(a), v(bb))))                                                  \
    OP32(prefix##_eq2_mask, __heq2_mask(v(a), v(bb)))                                             \
    OP32(prefix##_neu2_mask, __hneu2_mask(v(a), v(bb)))                                           \
    OP32(prefix##_bgt2, __hbgt2(v(a), v(bb)))                                                     \
    OP32(prefix##_add, w(__hadd(s(a), s(bb))))                                                    \
    OP32(prefix##_mul, w(__hmul(s(a), s(bb))))                                                    \
    OP32(prefix##_fma, w(__hfma(s(a), s(bb), s(c))))                                              \
    OP32(prefix##_div, w(__hdiv(s(a), s(bb))))                                                    \
    OP32(prefix##_lt, __hlt(s(a), s(bb)))                                                         \
    OP32(prefix##_isnan, __hisnan(s(a)))                                                          \
    OP32(prefix##_exp, w(hexp(s(a))))                                                             \
    OP32(prefix##_log, w(hlog(s(a))))                                                             \
    OP32(prefix##_sin, w(hsin(s(a))))                                                             \
    OP32(prefix##_sqrt, w(hsqrt(s(a))))                                                           \
    OP32(prefix##_rsqrt, w(hrsqrt(s(a))))                                                         \
    OP32(prefix##_rcp, w(hrcp(s(a))))                                                             \
    OP32(prefix##_rint, w(hrint(s(a))))                                                           \
    OP32(prefix##_floor, w(hfloor(s(a))))
HALVES(f16, h2, h1)
HALVES(bf16, b2, b1)
ASMH(f16_add_ftz, "add.ftz.f16x2 %0, %1, %2;")
ASMH(f16_mul_ftz, "mul.ftz.f16x2 %0, %1, %2;")
ASMH(f16_fma_ftz, "fma.rn.ftz.f16x2 %0, %1, %2, %3;")
ASMH(f16_fma_ftz_sat, "fma.rn.ftz.sat.f16x2 %0, %1, %2, %3;")
ASMH(f16_min_ftz, "min.ftz.f16x2 %0, %1, %2;")
ASMH(f16_max_xorsign, "max.xorsign.abs.f16x2 %0, %1, %2;")
ASMH(f16_tanh, "tanh.approx.f16x2 %0, %1;")
ASMH(f16_ex2, "ex2.approx.f16x2 %0, %1;")
ASMH(bf16_tanh, "tanh.approx.bf16x2 %0, %1;")
ASMH(bf16_ex2, "ex2.approx.ftz.bf16x2 %0, %1;")
ASMH(f16_set, "set.lt.f16x2.f16x2 %0, %1, %2;")
ASMH(f16_fma_swizzle, "{.reg .b16 l, h; .reg .b32 t; mov.b32 {l, h}, %1; mov.b32 t, {h, h}; fma.rn.f16x2 %0, t, %2, %3;}")

// --- between lanes (a block is one warp) ------------------------------------------------------------
#define SHUFFLE(name, mode)                                                                       \
    OP32(name, [&] { u32 r, p; asm volatile("{.reg .pred t; shfl.sync." mode ".b32 %0|t, %2, %3, %4, 0xffffffff;" \
        " selp.u32 %1, 1, 0, t;}" : "=r"(r), "=r"(p) : "r"(a), "r"(bb), "r"(c)); return r ^ p << 31; }())
SHUFFLE(lane_shfl_idx, "idx")
SHUFFLE(lane_shfl_up, "up")
SHUFFLE(lane_shfl_down, "down")
SHUFFLE(lane_shfl_bfly, "bfly")
OP32(lane_shfl_half, (bb & 1) ? __shfl_xor_sync(__activemask(), a, 2) : __shfl_down_sync(__activemask(), c, 3))
OP64(lane_shfl64, __shfl_sync(0xffffffff, x, (int)bb, 16))
OP32(lane_ballot, __ballot_sync(0xffffffff, (s32)a < (s32)bb))
OP32(lane_ballot_part, (bb & 1) ? __ballot_sync(__activemask(), a & 1) : 0x55u)
OP32(lane_all, __all_sync(0xffffffff, a != 0))
OP32(lane_any, (c & 1) ? __any_sync(__activemask(), a == 0) : 7)
OP32(lane_uni, (c & 1) ? __all_sync(__activemask(), (a & 1)) : 7)
OP32(lane_match_any, __match_any_sync(0xffffffff, a & 3))
OP64(lane_match_any64, __match_any_sync(0xffffffff, x & 0x100000001ull))
OP32(lane_match_all, [&] { int p; u32 m = __match_all_sync(0xffffffff, blockIdx.x & 1 ? 5u : a & 3, &p); return m ^ (u32)p; }())
OP32(lane_match_part, (c & 1) ? __match_any_sync(__activemask(), bb & 1) : 3)
OP32(lane_redux_add, __reduce_add_sync(0xffffffff, a))
OP32(lane_redux_min, __reduce_min_sync(0xffffffff, (s32)a))
OP32(lane_redux_umax, __reduce_max_sync(0xffffffff, a))
OP32(lane_redux_and, __reduce_and_sync(0xffffffff, a | 0xf0f0))
OP32(lane_redux_or, __reduce_or_sync(0xffffffff, a & 0x1111))
OP32(lane_redux_xor, (bb & 1) ? __reduce_xor_sync(__activemask(), a) : 1)
OP32(lane_activemask, (a & 1) ? __activemask() : 0)

// --- atomics: a block is one warp with its own 8 words of global and shared memory --------------------
#define ATOMIC(name, type, from, expr)                                                             \
    extern "C" __global__ void name##_shared(PARAMETERS, u64 *R) {                                \
        __shared__ type cell[8];                                                                  \
        HEAD u32 lane = threadIdx.x; type k;                                                      \
        if (lane < 8) cell[lane] = from;                                                          \
        __syncwarp();                                                                             \
        { type *at = &cell[bb & 7]; k = expr; }                                                   \
        __syncwarp();                                                                             \
        type last = cell[lane & 7];                                                               \
        R[i] = bits_of(k) * 3 + bits_of(last); }                                                  \
    extern "C" __global__ void name##_global(PARAMETERS, u64 *R) {                                \
        HEAD u32 lane = threadIdx.x; type k;                                                      \
        type *cell = reinterpret_cast<type *>(R + gridDim.x * blockDim.x) + blockIdx.x * 8;       \
        if (lane < 8) cell[lane] = from;                                                          \
        __syncwarp();                                                                             \
        { type *at = &cell[bb & 7]; k = expr; }                                                   \
        __syncwarp(); __threadfence();                                                            \
        type last = *(volatile type *)&cell[lane & 7];                                            \
        R[i] = bits_of(k) * 3 + bits_of(last); }
__device__ __forceinline__ u64 bits_of(u32 v) { return v; }
__device__ __forceinline__ u64 bits_of(s32 v) { return (u32)v; }
__device__ __forceinline__ u64 bits_of(u64 v) { return v; }
__device__ __forceinline__ u64 bits_of(s64 v) { return (u64)v; }
__device__ __forceinline__ u64 bits_of(float v) { return __float_as_uint(v); }
__device__ __forceinline__ u64 bits_of(double v) { return (u64)__double_as_longlong(v); }
ATOMIC(atom_add, u32, lane * 5, atomicAdd(at, a))
ATOMIC(atom_sub, u32, lane * 5, atomicSub(at, a))
ATOMIC(atom_min, s32, 100, atomicMin(at, (s32)a))
ATOMIC(atom_max, s32, -100, atomicMax(at, (s32)a))
ATOMIC(atom_umin, u32, 0x80000000u, atomicMin(at, a))
ATOMIC(atom_umax, u32, 1000, atomicMax(at, a))
ATOMIC(atom_and, u32, ~lane, atomicAnd(at, a))
ATOMIC(atom_or, u32, lane, atomicOr(at, a))
ATOMIC(atom_xor, u32, lane, atomicXor(at, a))
ATOMIC(atom_exch, u32, lane, atomicExch(at, a))
ATOMIC(atom_cas, u32, lane & 3, atomicCAS(at, c & 3, a))
ATOMIC(atom_inc, u32, lane, atomicInc(at, c & 15))
ATOMIC(atom_dec, u32, lane, atomicDec(at, c & 15))
ATOMIC(atom_add64, u64, lane * 5, atomicAdd(at, x))
ATOMIC(atom_min64, s64, 100, atomicMin(at, (s64)x))
ATOMIC(atom_umax64, u64, 100, atomicMax(at, x))
ATOMIC(atom_and64, u64, ~(u64)lane, atomicAnd(at, x))
ATOMIC(atom_exch64, u64, lane, atomicExch(at, x))
ATOMIC(atom_cas64, u64, lane & 3, atomicCAS(at, z & 3, x))
ATOMIC(atom_addf, float, 1.0f, atomicAdd(at, fa))
ATOMIC(atom_addd, double, 1.0, atomicAdd(at, dx))
