"""Operations on integers packed into words: SIMD in a word, dot products, permutes, bit fields."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzz.operation import Operation, into
from tests.fuzz.values import Array

OPERATIONS: list[Operation] = []
define = into(OPERATIONS)
PRELUDE = r"""
#define ASM2(name, op, T) __device__ unsigned name(T a, T b) { \
  unsigned d; asm(op " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); return d; }
#define ASM3(name, op) __device__ unsigned name(unsigned a, unsigned b, unsigned c) { \
  unsigned d; asm(op " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d; }
#define ASM1(name, op) __device__ unsigned name(unsigned a) { \
  unsigned d; asm(op " %0, %1;" : "=r"(d) : "r"(a)); return d; }
ASM3(prmt_any, "prmt.b32") ASM3(prmt_f4e, "prmt.b32.f4e") ASM3(prmt_b4e, "prmt.b32.b4e")
ASM3(prmt_rc8, "prmt.b32.rc8") ASM3(prmt_ecl, "prmt.b32.ecl") ASM3(prmt_ecr, "prmt.b32.ecr")
ASM3(prmt_rc16, "prmt.b32.rc16") ASM3(bfe_u, "bfe.u32") ASM3(bfe_s, "bfe.s32")
ASM1(bfind_u, "bfind.u32") ASM1(bfind_s, "bfind.s32") ASM1(bfind_shift, "bfind.shiftamt.u32")
ASM2(bmsk_clamp, "bmsk.clamp.b32", unsigned) ASM2(bmsk_wrap, "bmsk.wrap.b32", unsigned)
ASM2(szext_clamp, "szext.clamp.s32", unsigned) ASM2(szext_wrap, "szext.wrap.u32", unsigned)
ASM3(mad24_lo, "mad24.lo.u32") ASM2(mul24_hi, "mul24.hi.s32", unsigned)
ASM2(pack_s16, "cvt.pack.sat.s16.s32", int) ASM2(pack_u16, "cvt.pack.sat.u16.s32", int)
ASM3(pack_s8, "cvt.pack.sat.s8.s32.b32") ASM3(pack_u8, "cvt.pack.sat.u8.s32.b32")
__device__ unsigned bfi(unsigned a, unsigned b, unsigned p, unsigned n) {
  unsigned d; asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(p), "r"(n));
  return d; }
template <int table> __device__ unsigned lop3(unsigned a, unsigned b, unsigned c) {
  unsigned d;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(table));
  return d; }
"""


def _per_value(function: Callable[..., int]) -> Callable[..., Array]:
    """A NumPy function from one on Python integers; the result is a uint32."""

    def apply(*arrays: Array) -> Array:
        rows = zip(*(a.tolist() for a in arrays), strict=True)
        return np.array([function(*row) % 2**32 for row in rows], np.uint32)

    return apply


def _parts(a: Array, kind: str) -> Array:
    return np.ascontiguousarray(a).view(kind).reshape(len(a), -1).astype(np.int64)


def _words(parts: Array, bits: int) -> Array:
    return np.ascontiguousarray(parts.astype(f"u{bits // 8}")).view(np.uint32)[:, 0]


def _in_word(bits: int, sign: str, function: Callable[..., Array]) -> Callable[..., Array]:
    """Applies a function of exact integers to the parts of words; the result wraps."""
    kind = f"{'i' if sign == 's' else 'u'}{bits // 8}"
    return lambda *words: _words(function(*(_parts(w, kind) for w in words)), bits)


def _simd(n: int) -> None:
    bits = 32 // n
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    table: list[tuple[str, str, str, Callable[..., Array]]] = [
        ("vadd", "uu", "u", lambda a, b: a + b),
        ("vsub", "uu", "u", lambda a, b: a - b),
        ("vaddss", "uu", "s", lambda a, b: np.clip(a + b, low, high)),
        ("vsubss", "uu", "s", lambda a, b: np.clip(a - b, low, high)),
        ("vaddus", "uu", "u", lambda a, b: np.minimum(a + b, (1 << bits) - 1)),
        ("vsubus", "uu", "u", lambda a, b: np.maximum(a - b, 0)),
        ("vabs", "u", "s", np.abs),
        ("vabsss", "u", "s", lambda a: np.minimum(np.abs(a), high)),
        ("vneg", "u", "s", np.negative),
        ("vnegss", "u", "s", lambda a: np.minimum(-a, high)),
        ("vabsdiffs", "uu", "s", lambda a, b: np.abs(a - b)),
        ("vabsdiffu", "uu", "u", lambda a, b: np.abs(a - b)),
        ("vavgu", "uu", "u", lambda a, b: (a + b + 1) >> 1),
        ("vhaddu", "uu", "u", lambda a, b: (a + b) >> 1),
    ]
    for sign in "su":
        table.append((f"vmax{sign}", "uu", sign, np.maximum))
        table.append((f"vmin{sign}", "uu", sign, np.minimum))
    for name, ufunc in (("eq", np.equal), ("ne", np.not_equal)):
        table.append((f"vcmp{name}", "uu", "u", lambda a, b, f=ufunc: -(f(a, b) * 1)))
        table.append((f"vset{name}", "uu", "u", lambda a, b, f=ufunc: f(a, b) * 1))
    for sign in "su":
        for name, ufunc in (("ge", np.greater_equal), ("gt", np.greater),
                            ("le", np.less_equal), ("lt", np.less)):  # fmt: skip
            table.append((f"vcmp{name}{sign}", "uu", sign, lambda a, b, f=ufunc: -(f(a, b) * 1)))
            table.append((f"vset{name}{sign}", "uu", sign, lambda a, b, f=ufunc: f(a, b) * 1))
        define("uu>u", f"__vsad{sign}{n}({{0}}, {{1}})",
               lambda a, b, k=f"{'i' if sign == 's' else 'u'}{bits // 8}":
               np.abs(_parts(a, k) - _parts(b, k)).sum(1).astype(np.uint32), 0.3)  # fmt: skip
    for name, arguments, sign, function in table:
        operands = ", ".join(f"{{{k}}}" for k in range(len(arguments)))
        weight = 1.0 if name in ("vadd", "vsub", "vmaxs", "vminu") else 0.3
        # The compiler clears bit 31 of a constant that unsigned saturation subtracts from.
        define(f"{arguments}>u", f"__{name}{n}({operands})", _in_word(bits, sign, function), weight,
               literals=name != "vsubus")  # fmt: skip


def _dot_products() -> None:
    for t, kind in (("i", "i1"), ("u", "u1")):
        wide = kind.replace("1", "2")
        define(f"{t}{t}{t}>{t}", "__dp4a({0}, {1}, {2})",
               lambda a, b, c, k=kind: ((_parts(a, k) * _parts(b, k)).sum(1) + c) & 0xFFFFFFFF,
               2.0)  # fmt: skip
        for name, first in (("lo", 0), ("hi", 2)):
            define(f"{t}{t}{t}>{t}", f"__dp2a_{name}({{0}}, {{1}}, {{2}})",
                   lambda a, b, c, k=kind, w=wide, f=first:
                   ((_parts(a, w) * _parts(b, k)[:, f : f + 2]).sum(1) + c) & 0xFFFFFFFF
                   )  # fmt: skip


def _prmt(x: int, y: int, selector: int) -> int:
    data, out = y << 32 | x, 0
    for i in range(4):
        code = selector >> 4 * i & 15
        byte = data >> 8 * (code & 7) & 255
        out |= ((255 if byte & 128 else 0) if code & 8 else byte) << 8 * i
    return out


def _prmt_mode(choose: Callable[[int, int], int]) -> Callable[..., Array]:
    """A permute whose byte i comes from place choose(i, c & 3) of y:x."""
    return _per_value(
        lambda x, y, c: sum(
            ((y << 32 | x) >> 8 * choose(i, c & 3) & 255) << 8 * i for i in range(4)
        )
    )


def _permutes() -> None:
    define("uuu>u", "prmt_any({0}, {1}, {2})", _per_value(_prmt), 2.0)
    define("uuu>u", "__byte_perm({0}, {1}, {2})",
           _per_value(lambda x, y, s: _prmt(x, y, s & 0x7777)), 2.0)  # fmt: skip
    for name, choose in (
        ("f4e", lambda i, c: (c + i) & 7), ("b4e", lambda i, c: (c - i) & 7),
        ("rc8", lambda i, c: c), ("ecl", lambda i, c: max(c, i)),
        ("ecr", lambda i, c: min(c, i)), ("rc16", lambda i, c: (c & 1) * 2 + (i & 1)),
    ):  # fmt: skip
        define("uuu>u", f"prmt_{name}({{0}}, {{1}}, {{2}})", _prmt_mode(choose), 0.5)
    for table in (0x96, 0xE8, 0xCA, 0x1B, 0x7F, 0x69, 0xD4, 0x2C):
        define("uuu>u", f"lop3<{table}>({{0}}, {{1}}, {{2}})",
               _per_value(lambda a, b, c, t=table: _lop3(a, b, c, t)), 0.4)  # fmt: skip


def _lop3(a: int, b: int, c: int, table: int) -> int:
    out = 0
    for k in range(8):
        if table >> k & 1:
            out |= (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
    return out


def _extract(a: int, position: int, length: int, signed: bool) -> int:
    position, length = position & 255, length & 255
    field = a >> position & ((1 << length) - 1)
    if not signed or length == 0:
        return field
    top = a >> min(position + length - 1, 31) & 1
    kept = max(0, min(length, 32 - position))
    return field | (-top << kept)


def _insert(a: int, b: int, position: int, length: int) -> int:
    position, length = position & 255, length & 255
    mask = ((1 << length) - 1) << position & 0xFFFFFFFF
    return (b & ~mask) | (a << position & mask)


def _find(a: int, signed: bool) -> int:
    return ((a ^ 0xFFFFFFFF) if signed and a >> 31 else a).bit_length() - 1


def _extend(a: int, n: int, signed: bool) -> int:
    if n == 0:
        return 0
    if n >= 32:
        return a
    field = a & ((1 << n) - 1)
    return field - (1 << n) if signed and field >> (n - 1) else field


def _signed(a: int) -> int:
    return a - 2**32 if a >> 31 else a


def _signed24(a: int) -> int:
    return (a & 0xFFFFFF) - (1 << 24) if a >> 23 & 1 else a & 0xFFFFFF


def _bit_fields() -> None:
    define("uuu>u", "bfe_u({0}, {1} & 63, {2} & 63)",
           _per_value(lambda a, p, n: _extract(a, p & 63, n & 63, False)))  # fmt: skip
    define("uuu>u", "bfe_s({0}, {1} & 63, {2} & 63)",
           _per_value(lambda a, p, n: _extract(a, p & 63, n & 63, True)))  # fmt: skip
    define("uuuu>u", "bfi({0}, {1}, {2} & 63, {3} & 63)",
           _per_value(lambda a, b, p, n: _insert(a, b, p & 63, n & 63)))  # fmt: skip
    define("u>u", "bfind_u({0})", _per_value(lambda a: _find(a, False)))
    define("u>u", "bfind_s({0})", _per_value(lambda a: _find(a, True)))
    define("u>u", "bfind_shift({0})",
           _per_value(lambda a: 31 - _find(a, False) if a else -1))  # fmt: skip
    define("uu>u", "bmsk_clamp({0} & 63, {1} & 63)",
           _per_value(lambda p, n: ((1 << (n & 63)) - 1) << (p & 63)))  # fmt: skip
    define("uu>u", "bmsk_wrap({0}, {1})",
           _per_value(lambda p, n: ((1 << (n & 31)) - 1) << (p & 31)))  # fmt: skip
    define("uu>u", "szext_clamp({0}, {1} & 63)",
           _per_value(lambda a, n: _extend(a, n & 63, True)))  # fmt: skip
    define("uu>u", "szext_wrap({0}, {1})", _per_value(lambda a, n: _extend(a, n & 31, False)))
    define("uuu>u", "mad24_lo({0}, {1}, {2})",
           _per_value(lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c))  # fmt: skip
    define("uu>u", "mul24_hi({0}, {1})",
           _per_value(lambda a, b: _signed24(a) * _signed24(b) >> 16))  # fmt: skip
    for name, direction, most in (("l", -1, 31), ("r", 1, 31), ("lc", -1, 32), ("rc", 1, 32)):
        define("uuu>u", f"__funnelshift_{name}({{0}}, {{1}}, {{2}})",
               _per_value(lambda a, b, n, d=direction, m=most: _funnel(a, b, n, d, m))
               )  # fmt: skip


def _funnel(low: int, high: int, n: int, direction: int, most: int) -> int:
    n = n & 31 if most == 31 else min(n, 32)
    both = high << 32 | low
    return both << n >> 32 if direction < 0 else both >> n


def _packing() -> None:
    for name, low, high in (("s16", -32768, 32767), ("u16", 0, 65535)):
        define("ii>u", f"pack_{name}({{0}}, {{1}})",
               lambda a, b, lo=low, hi=high: (np.clip(a, lo, hi) & 0xFFFF).astype(np.uint32)
               << np.uint32(16) | (np.clip(b, lo, hi) & 0xFFFF).astype(np.uint32))  # fmt: skip
    for name, low, high in (("s8", -128, 127), ("u8", 0, 255)):
        define("uuu>u", f"pack_{name}({{0}}, {{1}}, {{2}})",
               _per_value(lambda a, b, c, lo=low, hi=high:
                          c << 16 | (min(max(_signed(a), lo), hi) & 255) << 8
                          | min(max(_signed(b), lo), hi) & 255))  # fmt: skip
    for k, text in enumerate(("{0}", "({0} >> 8)", "({0} >> 16)", "({0} >> 24)")):
        shift = np.uint32(8 * k)
        define("u>f", f"((float)(unsigned char){text})",
               lambda a, s=shift: (a >> s).astype(np.uint8).astype(np.float32), 0.3)  # fmt: skip
        define("u>f", f"((float)(signed char){text})",
               lambda a, s=shift: (a >> s).astype(np.int8).astype(np.float32), 0.3)  # fmt: skip
    for k, text in enumerate(("{0}", "({0} >> 16)")):
        shift = np.uint32(16 * k)
        for t, name in (("f", "float"), ("d", "double")):
            for kind, c in ((np.int16, "short"), (np.uint16, "unsigned short")):
                define(f"u>{t}", f"(({name})({c}){text})",
                       lambda a, s=shift, n=kind: (a >> s).astype(n).astype(np.float64), 0.3
                       )  # fmt: skip


def _three_way() -> None:
    for t, kind in (("i", "s32"), ("u", "u32")):
        for name, ufunc in (("max", np.maximum), ("min", np.minimum)):
            define(f"{t}{t}{t}>{t}", f"__vi{name}3_{kind}({{0}}, {{1}}, {{2}})",
                   lambda a, b, c, f=ufunc: f(f(a, b), c))  # fmt: skip
            define(f"{t}{t}{t}>{t}", f"__viadd{name}_{kind}({{0}} >> 1, {{1}} >> 1, {{2}})",
                   lambda a, b, c, f=ufunc: f((a >> 1) + (b >> 1), c))  # fmt: skip
    for sign in "su":
        for name, ufunc in (("max", np.maximum), ("min", np.minimum)):
            define("uuu>u", f"__vi{name}3_{sign}16x2({{0}}, {{1}}, {{2}})",
                   _in_word(16, sign, lambda a, b, c, f=ufunc: f(f(a, b), c)), 0.5)  # fmt: skip
    define("iii>i", "__vimax3_s32_relu({0}, {1}, {2})",
           lambda a, b, c: np.maximum(np.maximum(np.maximum(a, b), c), 0))  # fmt: skip


for _n in (2, 4):
    _simd(_n)
_dot_products()
_permutes()
_bit_fields()
_packing()
_three_way()
