// Integer intrinsics and PTX instructions, one result per slot: out[slot * n + thread].
// Recorded on hardware and compared with the emulator on every architecture.
typedef unsigned u;
typedef unsigned long long ull;
typedef long long ll;

#define KERNEL(name)                                                                              \
    extern "C" __global__ void name(u *out, ull *wide, const u *in, const ull *in64)
#define SETUP                                                                                     \
    const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;              \
    const u a = in[i], b = in[n + i], c = in[2 * n + i];                                          \
    const ull p = in64[i], q = in64[n + i], r = in64[2 * n + i];                                  \
    int slot = 0, slot64 = 0;                                                                     \
    (void)a, (void)b, (void)c, (void)p, (void)q, (void)r, (void)slot, (void)slot64
#define PUT(e) out[slot++ * n + i] = (u)(e)
#define PUT64(e) wide[slot64++ * n + i] = (ull)(e)
#define ASM1(text, x)                                                                             \
    {                                                                                             \
        u z;                                                                                      \
        asm volatile(text " %0, %1;" : "=r"(z) : "r"(x));                                         \
        PUT(z);                                                                                   \
    }
#define ASM2(text, x, y)                                                                          \
    {                                                                                             \
        u z;                                                                                      \
        asm volatile(text " %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));                             \
        PUT(z);                                                                                   \
    }
#define ASM3(text, x, y, w)                                                                       \
    {                                                                                             \
        u z;                                                                                      \
        asm volatile(text " %0, %1, %2, %3;" : "=r"(z) : "r"(x), "r"(y), "r"(w));                 \
        PUT(z);                                                                                   \
    }
#define ASM4(text, x, y, w, v)                                                                    \
    {                                                                                             \
        u z;                                                                                      \
        asm volatile(text " %0, %1, %2, %3, %4;" : "=r"(z) : "r"(x), "r"(y), "r"(w), "r"(v));     \
        PUT(z);                                                                                   \
    }

KERNEL(sums) {
    SETUP;
    PUT(a + b - c);
    PUT(a - b - 3);
    PUT(-a - b);
    PUT(~a + c);
    PUT64(p - q + a);
    PUT64(-p + (ll)(int)b);
    PUT64(p + q + r);
    PUT64(p - q - r);
    PUT64((p << 7) + q);
    PUT64(((ll)(int)a << 3) + q);
    PUT64(((ull)a << 5) - q);
    u x, y, z, w;
    asm("add.cc.u32 %0, %4, %5; addc.cc.u32 %1, %5, %6; addc.cc.u32 %2, %6, %4; addc.u32 %3, 0, 0;"
        : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(a), "r"(b), "r"(c));
    PUT(x); PUT(y); PUT(z); PUT(w);
    asm("sub.cc.u32 %0, %4, %5; subc.cc.u32 %1, %5, %6; subc.cc.u32 %2, %6, %4; subc.u32 %3, 0, 0;"
        : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(a), "r"(b), "r"(c));
    PUT(x); PUT(y); PUT(z); PUT(w);
    asm("mad.lo.cc.u32 %0, %3, %4, %5; madc.hi.cc.u32 %1, %3, %4, %5; addc.u32 %2, 0, 0;"
        : "=r"(x), "=r"(y), "=r"(z) : "r"(a), "r"(b), "r"(c));
    PUT(x); PUT(y); PUT(z);
    asm("mad.lo.cc.s32 %0, %3, %4, %5; madc.hi.cc.s32 %1, %3, %4, %5; addc.u32 %2, 0, 0;"
        : "=r"(x), "=r"(y), "=r"(z) : "r"(a), "r"(b), "r"(c));
    PUT(x); PUT(y); PUT(z);
}

KERNEL(products) {
    SETUP;
    PUT(a * b + c);
    PUT(a * b - c);
    PUT(a * 12345u - c);
    PUT(__umulhi(a, b));
    PUT(__mulhi((int)a, (int)b));
    PUT64((ull)a * b + q);
    PUT64((ll)(int)a * (int)b - q);
    PUT64(p * q);
    PUT64(p * q + r);
    PUT64(__umul64hi(p, q));
    PUT64(__mul64hi(p, q));
    PUT(__mul24((int)a, (int)b));
    PUT(__umul24(a, b));
    PUT(__dp4a((int)a, (int)b, (int)c));
    PUT(__dp4a(a, b, c));
    PUT(__dp2a_lo((int)a, (int)b, (int)c));
    PUT(__dp2a_hi((int)a, (int)b, (int)c));
    PUT(__dp2a_lo(a, b, c));
    PUT(__dp2a_hi(a, b, c));
    ASM3("dp4a.u32.s32", a, b, c);
    ASM3("dp4a.s32.u32", a, b, c);
    ASM3("dp2a.lo.u32.s32", a, b, c);
    ASM3("dp2a.hi.s32.u32", a, b, c);
    ASM3("mad.hi.s32", a, b, c);
    ASM3("mad.hi.u32", a, b, c);
}

KERNEL(quotients) {
    SETUP;
    const u d = b | 1;
    const ull e = q | 1;
    PUT(a / d);
    PUT(a % d);
    PUT(d == ~0u ? a : (int)a / (int)d);
    PUT(d == ~0u ? a : (int)a % (int)d);
    PUT(a / 7);
    PUT((int)a / -13);
    PUT(a % 1000003u);
    PUT64(p / e);
    PUT64(p % e);
    PUT64(e == ~0ull ? p : (ll)p / (ll)e);
    PUT64(e == ~0ull ? p : (ll)p % (ll)e);
    PUT64(p / 1000003ull);
    PUT64((ll)p % 97);
}

KERNEL(fields) {
    SETUP;
    PUT(__clz(a)); PUT(__ffs(a)); PUT(__popc(a)); PUT(__brev(a));
    PUT(__clzll(p)); PUT(__ffsll(p)); PUT(__popcll(p));
    PUT64(__brevll(p));
    PUT((a >> 5) & 0x7f);
    PUT((int)(a << 7) >> 20);
    ASM3("bfe.u32", a, b, c);
    ASM3("bfe.s32", a, b, c);
    ASM4("bfi.b32", a, b, c, a ^ b);
    ASM1("bfind.u32", a);
    ASM1("bfind.s32", a);
    ASM1("bfind.shiftamt.u32", a);
    ASM1("bfind.shiftamt.s32", a);
    ASM2("szext.wrap.u32", a, b);
    ASM2("szext.clamp.u32", a, b);
    ASM2("szext.wrap.s32", a, b);
    ASM2("szext.clamp.s32", a, b);
    ASM2("bmsk.clamp.b32", a, b);
    ASM2("bmsk.wrap.b32", a, b);
    ASM2("bmsk.clamp.b32", a & 63, b & 63);
    ull w;
    u z;
    asm volatile("bfe.u64 %0, %1, %2, %3;" : "=l"(w) : "l"(p), "r"(b), "r"(c)); PUT64(w);
    asm volatile("bfe.s64 %0, %1, %2, %3;" : "=l"(w) : "l"(p), "r"(b), "r"(c)); PUT64(w);
    asm volatile("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(w) : "l"(p), "l"(q), "r"(b), "r"(c)); PUT64(w);
    asm volatile("bfind.s64 %0, %1;" : "=r"(z) : "l"(p)); PUT(z);
    asm volatile("bfind.shiftamt.u64 %0, %1;" : "=r"(z) : "l"(p)); PUT(z);
}

KERNEL(shifts) {
    SETUP;
    PUT(__funnelshift_l(a, b, c)); PUT(__funnelshift_r(a, b, c));
    PUT(__funnelshift_lc(a, b, c)); PUT(__funnelshift_rc(a, b, c));
    PUT(__funnelshift_lc(a, b, c & 63)); PUT(__funnelshift_rc(a, b, c & 63));
    ASM2("shl.b32", a, b); ASM2("shr.u32", a, b); ASM2("shr.s32", a, b);
    ull w;
#define SHIFT64(text)                                                                             \
    asm volatile(text " %0, %1, %2;" : "=l"(w) : "l"(p), "r"(b)); PUT64(w);                       \
    asm volatile(text " %0, %1, %2;" : "=l"(w) : "l"(p), "r"(b & 127)); PUT64(w);
    SHIFT64("shl.b64") SHIFT64("shr.u64") SHIFT64("shr.s64")
    PUT64(p << 13); PUT64(p >> 40); PUT64((ll)p >> 40); PUT64((p << 17) | (p >> 47));
}

KERNEL(permutes) {
    SETUP;
    ASM3("prmt.b32", a, b, c);
    ASM3("prmt.b32.f4e", a, b, c); ASM3("prmt.b32.b4e", a, b, c); ASM3("prmt.b32.rc8", a, b, c);
    ASM3("prmt.b32.ecl", a, b, c); ASM3("prmt.b32.ecr", a, b, c); ASM3("prmt.b32.rc16", a, b, c);
    ASM3("prmt.b32", a, b, 0x5410); ASM3("prmt.b32", a, b, 0x9ABC); ASM3("prmt.b32", a, b, 0x0123);
    PUT(__byte_perm(a, b, 0x6420)); PUT(__byte_perm(a, 0, 0x4341));
    PUT((a & b) | (~a & c)); PUT(a ^ b ^ c); PUT((a | ~b) & c); PUT(~(a & b & c));
    u z;
#define LOP3(table)                                                                               \
    asm volatile("lop3.b32 %0, %1, %2, %3, " #table ";" : "=r"(z) : "r"(a), "r"(b), "r"(c)); PUT(z);
    LOP3(0x1b) LOP3(0x6a) LOP3(0xe9)
}

KERNEL(extremes) {
    SETUP;
    const int x = a, y = b, z = c;
    bool s, t;
    PUT(min(x, y)); PUT(max(x, y)); PUT(min(a, b)); PUT(max(a, b)); PUT(abs(x));
    PUT(max(max(x, y), z)); PUT(min(min(a, b), c)); PUT(min(max(x, 0), 255)); PUT(max(x + y, z));
    PUT(max(0, max(x + y, z)));
    PUT64(min((ll)p, (ll)q)); PUT64(max((ll)p, (ll)q)); PUT64(min(p, q)); PUT64(max(p, q));
    PUT64(llabs((ll)p));
    PUT(__sad(x, y, c)); PUT(__usad(a, b, c)); PUT(__hadd(x, y)); PUT(__urhadd(a, b));
    PUT(__rhadd(x, y)); PUT(__uhadd(a, b));
    PUT(__vimax3_s32(x, y, z)); PUT(__vimin3_s32(x, y, z)); PUT(__vimax3_u32(a, b, c));
    PUT(__vimin3_s32_relu(x, y, z)); PUT(__vimax3_s32_relu(x, y, z));
    PUT(__viaddmax_s32(x, y, z)); PUT(__viaddmin_s32(x, y, z)); PUT(__viaddmin_u32(a, b, c));
    PUT(__viaddmax_s32_relu(x, y, z)); PUT(__vimax_s32_relu(x, y)); PUT(__vimin_s32_relu(x, y));
    PUT(__vibmax_s32(x, y, &s)); PUT(s); PUT(__vibmin_u32(a, b, &s)); PUT(s);
    PUT(__vimax3_s16x2(a, b, c)); PUT(__vimin3_u16x2(a, b, c)); PUT(__vimax3_s16x2_relu(a, b, c));
    PUT(__viaddmax_s16x2(a, b, c)); PUT(__viaddmin_u16x2(a, b, c));
    PUT(__viaddmin_s16x2_relu(a, b, c)); PUT(__vimin_s16x2_relu(a, b));
    PUT(__vibmin_u16x2(a, b, &s, &t)); PUT(s + 2 * t); PUT(__vibmax_s16x2(a, b, &s, &t)); PUT(s + 2 * t);
    PUT(__vibmax_u16x2(a, a ^ (c & 0xffff), &s, &t)); PUT(s + 2 * t);
}

KERNEL(packed) {
    SETUP;
    PUT(__vadd4(a, b)); PUT(__vsub4(a, b)); PUT(__vadd2(a, b)); PUT(__vsub2(a, b));
    PUT(__vabsdiffu4(a, b)); PUT(__vabsdiffs4(a, b)); PUT(__vabsdiffs2(a, b)); PUT(__vsadu4(a, b));
    PUT(__vsads4(a, b)); PUT(__vsads2(a, b)); PUT(__vmaxs2(a, b)); PUT(__vminu4(a, b));
    PUT(__vmins4(a, b)); PUT(__vmaxu2(a, b)); PUT(__vavgu4(a, b)); PUT(__vavgs2(a, b));
    PUT(__vaddss2(a, b)); PUT(__vaddus4(a, b)); PUT(__vsubss4(a, b)); PUT(__vsubus4(a, b));
    PUT(__vneg2(a)); PUT(__vnegss4(a)); PUT(__vabs4(a)); PUT(__vabsss2(a));
    PUT(__vcmpgtu4(a, b)); PUT(__vcmpges2(a, b)); PUT(__vseteq2(a, b)); PUT(__vsetltu4(a, b));
    ASM3("vabsdiff4.u32.u32.u32.add", a, b, c);
    ASM3("vabsdiff4.s32.s32.s32.add", a, b, c);
    ASM3("vabsdiff2.u32.u32.u32.add", a, b, c);
    ASM3("vadd4.u32.u32.u32.sat", a, b, c);
    ASM3("cvt.pack.sat.s8.s32.b32", a, b, c);
    ASM3("cvt.pack.sat.u8.s32.b32", a, b, c);
    ASM2("cvt.pack.sat.s16.s32", a, b);
    ASM2("cvt.pack.sat.u16.s32", a, b);
    ASM1("cvt.sat.u8.s32", a); ASM1("cvt.sat.s8.s32", a); ASM1("cvt.sat.s16.u32", a);
    ASM1("cvt.sat.u32.s32", a); PUT((int)(short)a); PUT((int)(signed char)b);
}

KERNEL(comparisons) {
    SETUP;
    const int x = a, y = b;
    PUT((x < y) ^ (x > 5)); PUT((ll)p < (ll)q); PUT(p >= q); PUT(p == q || c >= a);
    PUT(x < y ? x : (c <= 7u ? y : 3)); PUT((ll)p > 5 && (ll)p < x); PUT(p > a && q != 0);
    const bool s = a == 0, t = y > 0, v = c > a;
    PUT((s && t) || v); PUT(s ^ t ^ v); PUT(s ? t : v); PUT(!s && (t || !v));
    u z, w;
    asm volatile("{.reg .pred p, q, r; setp.ne.u32 r, %4, 0; setp.lt.and.s32 p|q, %2, %3, r;"
                 "selp.u32 %0, 1, 0, p; selp.u32 %1, 1, 0, q;}"
                 : "=r"(z), "=r"(w) : "r"(a), "r"(b), "r"(c));
    PUT(z); PUT(w);
}

KERNEL(lanes) {
    SETUP;
    const u lane = threadIdx.x & 31;
    PUT(__shfl_sync(~0u, a, 3)); PUT(__shfl_up_sync(~0u, a, 1)); PUT(__shfl_down_sync(~0u, a, 2, 16));
    PUT(__shfl_xor_sync(~0u, a, 4)); PUT(__shfl_sync(~0u, a, b, 8)); PUT(__shfl_up_sync(~0u, a, b & 7, 16));
    PUT(__shfl_xor_sync(~0u, a, b, 4)); PUT(__shfl_down_sync(~0u, a, b));
    PUT64(__shfl_xor_sync(~0u, p, 1));
    PUT(__ballot_sync(~0u, a & 1)); PUT(__any_sync(~0u, a > 5)); PUT(__all_sync(~0u, a));
    PUT(__activemask());
    int all;
    PUT(__match_any_sync(~0u, a & 3)); PUT(__match_all_sync(~0u, a, &all)); PUT(all);
    PUT(__match_any_sync(~0u, p & 5)); PUT(__match_all_sync(~0u, p & 0, &all)); PUT(all);
    u z, w;
    asm volatile("{.reg .pred p; shfl.sync.down.b32 %0|p, %2, %3, 31, -1; selp.u32 %1, 1, 0, p;}"
                 : "=r"(z), "=r"(w) : "r"(a), "r"(b & 31));
    PUT(z); PUT(w);
    asm volatile("{.reg .pred p; shfl.sync.up.b32 %0|p, %2, %3, 0x1000, -1; selp.u32 %1, 1, 0, p;}"
                 : "=r"(z), "=r"(w) : "r"(a), "r"(b & 15));
    PUT(z); PUT(w);
    u y = 0;
    if (lane % 3 == 0) y = __ballot_sync(0x49249249u, a & 2) + __match_any_sync(0x49249249u, a & 1);
    PUT(y);
#if __CUDA_ARCH__ >= 800
    PUT(__reduce_add_sync(~0u, a)); PUT(__reduce_min_sync(~0u, a)); PUT(__reduce_max_sync(~0u, (int)a));
    PUT(__reduce_and_sync(~0u, a | 0xff)); PUT(__reduce_or_sync(~0u, a & 0xff)); PUT(__reduce_xor_sync(~0u, a));
    PUT(__reduce_min_sync(~0u, (int)a)); PUT(__reduce_max_sync(~0u, a));
    u x = 0;
    if (lane & 4) x = __reduce_add_sync(0xf0f0f0f0u, a) ^ __reduce_max_sync(0xf0f0f0f0u, (int)b);
    PUT(x);
#endif
}

KERNEL(uniform) {
    // Everything here is the same for the whole block, which the compiler moves to uniform registers.
    const int n = gridDim.x * blockDim.x;
    const u g = blockIdx.x * 77 + gridDim.x, a = g * 2654435761u, b = a ^ (a >> 15);
    const ull p = (ull)a << 32 | b, q = p * 3;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int slot = 0, slot64 = 0;
    PUT(a * b + g); PUT(__popc(g ^ a)); PUT(__clz(g)); PUT(__brev(g)); PUT(__byte_perm(g, a, 0x2103));
    PUT64(p * g + a); PUT64(p << (g & 63)); PUT64((ll)p >> (a & 31)); PUT(min(g, a)); PUT(max((int)g, (int)b));
    PUT(g < a ? b : g); PUT((g > 100 && b > 3) ? 1 : 2); PUT64(p < q ? p : g); PUT(__umulhi(g, a));
    PUT(g / 7); PUT((int)(g - 300) % 11); PUT(abs((int)(g - b))); PUT((g & a) | b); PUT((g << 3) + a);
    PUT((~g & a) ^ b); PUT64((ull)g << 40); PUT(__ffs(g)); PUT(__funnelshift_l(g, a, g));
    u total = 0;
    for (u k = 0; k < (g & 15); k++) {
        const u t = g + k * a;
        total += (t & 5) == 1 && t > g ? t : k;
    }
    PUT(total);
}
