"""Operations on half, bfloat16, their pairs and fp8: arithmetic, comparisons, conversions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.fuzz import narrow
from tests.fuzz.operation import Collective, Operation, into
from tests.fuzz.values import TYPES, Array

OPERATIONS: list[Operation] = []
define = into(OPERATIONS)
COLLECTIVES: list[Collective] = []
_ROUNDS = {"rz": np.trunc, "rn": np.rint, "rd": np.floor, "ru": np.ceil}
_INTEGERS = (("i", "int"), ("u", "uint"), ("l", "ll"), ("m", "ull"))
PRELUDE = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
template <class T> __device__ T made_of(unsigned w) { return *reinterpret_cast<T*>(&w); }
__device__ __half half_of(unsigned w) { return __ushort_as_half((unsigned short)w); }
__device__ __half2 half2_of(unsigned w) { return made_of<__half2>(w); }
__device__ __nv_bfloat16 bfloat_of(unsigned w) { return __ushort_as_bfloat16((unsigned short)w); }
__device__ __nv_bfloat162 bfloat2_of(unsigned w) { return made_of<__nv_bfloat162>(w); }
__device__ unsigned word_of(__half h) { return __half_as_ushort(h); }
__device__ unsigned word_of(__half2 h) { return *reinterpret_cast<unsigned*>(&h); }
__device__ unsigned word_of(__nv_bfloat16 h) { return __bfloat16_as_ushort(h); }
__device__ unsigned word_of(__nv_bfloat162 h) { return *reinterpret_cast<unsigned*>(&h); }
#define PICK(name, one, two) \
__device__ __half name(__half a, __half b) { return one(a, b); } \
__device__ __half2 name(__half2 a, __half2 b) { return two(a, b); }
PICK(min_of, __hmin, __hmin2) PICK(max_of, __hmax, __hmax2)
PICK(min_nan_of, __hmin_nan, __hmin2_nan) PICK(max_nan_of, __hmax_nan, __hmax2_nan)
#if __CUDA_ARCH__ >= 800
#define PICK_BFLOAT(name, one, two, single) \
__device__ __nv_bfloat16 name(__nv_bfloat16 a, __nv_bfloat16 b) { return one(a, b); } \
__device__ __nv_bfloat162 name(__nv_bfloat162 a, __nv_bfloat162 b) { return two(a, b); }
#else  // where the header's own code does not order the zeros
#define PICK_BFLOAT(name, one, two, single) \
__device__ __nv_bfloat16 name(__nv_bfloat16 x, __nv_bfloat16 y) { \
  float a = __bfloat162float(x), b = __bfloat162float(y); \
  return __float2bfloat16_rn(single); } \
__device__ __nv_bfloat162 name(__nv_bfloat162 a, __nv_bfloat162 b) { \
  return __halves2bfloat162(name(a.x, b.x), name(a.y, b.y)); }
#endif
PICK_BFLOAT(min_of, __hmin, __hmin2, fminf(a, b))
PICK_BFLOAT(max_of, __hmax, __hmax2, fmaxf(a, b))
PICK_BFLOAT(min_nan_of, __hmin_nan, __hmin2_nan, a != a || b != b ? a + b : fminf(a, b))
PICK_BFLOAT(max_nan_of, __hmax_nan, __hmax2_nan, a != a || b != b ? a + b : fmaxf(a, b))
#if __CUDA_ARCH__ < 800  // where the compiler packs halves, it rounds this one to nearest
__device__ __half cut_half(float f) {
  __half near = __float2half_rn(f);
  bool over = fabsf(__half2float(near)) > fabsf(f);
  return half_of(word_of(near) - (over ? 1 : 0)); }
#define __float2half_rz cut_half
#endif
#if __CUDA_ARCH__ < 800  // has no bfloat16 multiply-add: doubles rounded to odd, then once more
__device__ double odd_fma(__nv_bfloat16 x, __nv_bfloat16 y, __nv_bfloat16 z) {
  double a = __bfloat162float(x), b = __bfloat162float(y), c = __bfloat162float(z);
  double cut = __fma_rz(a, b, c), near = fma(a, b, c);
  bool inexact = __fma_ru(a, b, c) != __fma_rd(a, b, c);
  return inexact ? __longlong_as_double(__double_as_longlong(cut) | 1) : near; }
__device__ __nv_bfloat16 __hfma(__nv_bfloat16 x, __nv_bfloat16 y, __nv_bfloat16 z) {
  return __double2bfloat16(odd_fma(x, y, z)); }
__device__ __nv_bfloat16 __hfma_sat(__nv_bfloat16 x, __nv_bfloat16 y, __nv_bfloat16 z) {
  double r = odd_fma(x, y, z);
  return __double2bfloat16(r >= 1 ? 1 : r > 0 ? r : 0); }
__device__ __nv_bfloat16 __hfma_relu(__nv_bfloat16 x, __nv_bfloat16 y, __nv_bfloat16 z) {
  double r = odd_fma(x, y, z);
  return __double2bfloat16(r <= 0 ? 0 : r); }
#define PAIRWISE(name, one) \
__device__ __nv_bfloat162 name(__nv_bfloat162 x, __nv_bfloat162 y, __nv_bfloat162 z) { \
  return __halves2bfloat162(one(x.x, y.x, z.x), one(x.y, y.y, z.y)); }
PAIRWISE(__hfma2, __hfma) PAIRWISE(__hfma2_sat, __hfma_sat) PAIRWISE(__hfma2_relu, __hfma_relu)
#endif
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Format:
    """A 16-bit format: letters of the scalar and the pair, how CUDA's functions name it."""

    scalar: str
    pair: str
    name: str
    pair_name: str
    halves: str
    rounded: Callable[..., Array]


_HALF = _Format(scalar="h", pair="H", name="half", pair_name="half2", halves="half",
                rounded=narrow.to_half)  # fmt: skip
_BFLOAT = _Format(scalar="b", pair="B", name="bfloat16", pair_name="bfloat162", halves="bfloat16",
                  rounded=narrow.to_bfloat)  # fmt: skip


def _double(a: Array) -> Array:
    return a.astype(np.float64)


def _clamped(value: Array) -> Array:
    """Saturation: into [0, 1], NaN to 0."""
    return np.where(np.isnan(value), 0.0, np.clip(value, 0.0, 1.0)) + 0.0


def _relu(value: Array) -> Array:
    return np.where(value <= 0, 0.0, value)


def _smaller(a: Array, b: Array) -> Array:
    return np.where((a < b) | ((a == b) & np.signbit(a)) | np.isnan(b), a, b)


def _larger(a: Array, b: Array) -> Array:
    return np.where((a > b) | ((a == b) & np.signbit(b)) | np.isnan(b), a, b)


def _or_nan(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), a + b, function(a, b))


def _arithmetic(f: _Format) -> None:
    to = f.rounded
    sums = {"add": lambda a, b: narrow.odd_sum(_double(a), _double(b)),
            "sub": lambda a, b: narrow.odd_sum(_double(a), -_double(b)),
            "mul": lambda a, b: _double(a) * _double(b)}  # fmt: skip
    for t, two in ((f.scalar, ""), (f.pair, "2")):
        for name, exact in sums.items():
            define(f"{t}{t}>{t}", f"__h{name}{two}_rn({{0}}, {{1}})",
                   lambda a, b, e=exact: to(e(a, b)), 2.0)  # fmt: skip
            define(f"{t}{t}>{t}", f"__h{name}{two}_sat({{0}}, {{1}})",
                   lambda a, b, e=exact: to(_clamped(e(a, b))), 0.5)  # fmt: skip
        define(f"{t}{t}{t}>{t}", f"__hfma{two}({{0}}, {{1}}, {{2}})",
               lambda a, b, c: to(narrow.fma(a, b, c)), 3.0)  # fmt: skip
        define(f"{t}{t}{t}>{t}", f"__hfma{two}_sat({{0}}, {{1}}, {{2}})",
               lambda a, b, c: to(_clamped(narrow.fma(a, b, c))), 0.5)  # fmt: skip
        define(f"{t}{t}{t}>{t}", f"__hfma{two}_relu({{0}}, {{1}}, {{2}})",
               lambda a, b, c: to(_relu(narrow.fma(a, b, c))), 0.5)  # fmt: skip
        define(f"{t}>{t}", f"__hneg{two}({{0}})", np.negative)
        define(f"{t}>{t}", f"__habs{two}({{0}})", np.abs)
        for name, pick in (("min", _smaller), ("max", _larger)):
            define(f"{t}{t}>{t}", f"{name}_of({{0}}, {{1}})", pick, literals=False)
            define(f"{t}{t}>{t}", f"{name}_nan_of({{0}}, {{1}})", _or_nan(pick), literals=False)
        for name, whole in (("ceil", np.ceil), ("floor", np.floor), ("trunc", np.trunc),
                            ("rint", np.rint)):  # fmt: skip
            define(f"{t}>{t}", f"h{two}{name}({{0}})", lambda a, w=whole: to(w(_double(a))), 0.5)
        define(f"i{t}{t}>{t}", "({0} & 1 ? {1} : {2})",
               lambda c, a, b: np.where((c & 1 != 0).reshape((-1, 1)[: a.ndim]), a, b),
               literals=False)  # fmt: skip


def _comparisons(f: _Format) -> None:
    ordered = (("eq", np.equal), ("ne", np.not_equal), ("le", np.less_equal),
               ("ge", np.greater_equal), ("lt", np.less), ("gt", np.greater))  # fmt: skip
    t, p = f.scalar, f.pair
    for name, ufunc in ordered:
        for suffix in ("", "u"):

            def compared(a: Array, b: Array, w=ufunc, unordered=bool(suffix)) -> Array:
                nan = np.isnan(a) | np.isnan(b)
                return np.where(nan, unordered, w(a, b))

            define(f"{t}{t}>i", f"(int)__h{name}{suffix}({{0}}, {{1}})",
                   lambda a, b, c=compared: c(a, b) * 1, literals=False)  # fmt: skip
            define(f"{p}{p}>{p}", f"__h{name}{suffix}2({{0}}, {{1}})",
                   lambda a, b, c=compared: c(a, b) * a.dtype.type(1), 0.5,
                   literals=False)  # fmt: skip
            define(f"{p}{p}>i", f"(int)__hb{name}{suffix}2({{0}}, {{1}})",
                   lambda a, b, c=compared: c(a, b).all(1) * 1, 0.5, literals=False)  # fmt: skip
            define(f"{p}{p}>u", f"__h{name}{suffix}2_mask({{0}}, {{1}})",
                   lambda a, b, c=compared: c(a, b)[:, 0] * np.uint32(0xFFFF)
                   + c(a, b)[:, 1] * np.uint32(0xFFFF0000), 0.3, literals=False)  # fmt: skip
    define(f"{t}>i", "(int)__hisnan({0})", lambda a: np.isnan(a) * 1)


def _odd_double(a: Array) -> Array:
    """Integers as doubles, rounded to odd where 53 bits are not enough."""
    if a.dtype.itemsize < 8:
        return _double(a)
    negative = a < 0
    magnitude = np.where(negative, np.negative(a), a).astype(np.uint64)
    sticky = (magnitude & np.uint64(0x7FF) != 0).astype(np.uint64)
    cut = (magnitude >> np.uint64(11) | sticky).astype(np.float64) * 2048.0
    value = np.where(magnitude >> np.uint64(53) != 0, cut, magnitude.astype(np.float64))
    return np.where(negative, -value, value)


def to_integer(value: Array, kind: type, nan: int) -> Array:
    """Whole doubles to integers with saturation."""
    info = np.iinfo(kind)
    out = [nan if np.isnan(v) else int(min(max(v, -1e30), 1e30)) for v in value]
    return np.array([min(max(v, info.min), info.max) for v in out], kind)


def _conversions(f: _Format) -> None:
    t, to = f.scalar, f.rounded
    for mode, whole in _ROUNDS.items():
        define(f"f>{t}", f"__float2{f.name}_{mode}({{0}})",
               lambda a, m=mode: to(_double(a), m), 2.0)  # fmt: skip
        for letter, name in _INTEGERS:
            kind = TYPES[letter].kind
            bits = 8 * np.dtype(kind).itemsize
            nan = 0 if bits == 32 else 1 << 63
            nan -= 2**64 if nan and letter == "l" else 0
            weight = 0.5 if bits == 32 else 0.15
            define(f"{letter}>{t}", f"__{name}2{f.name}_{mode}({{0}})",
                   lambda a, m=mode: to(_odd_double(a), m), weight)  # fmt: skip
            define(f"{t}>{letter}", f"__{f.name}2{name}_{mode}({{0}})",
                   lambda a, k=kind, n=nan, w=whole: to_integer(w(_double(a)), k, n), weight
                   )  # fmt: skip
    define(f"d>{t}", f"__double2{f.name}({{0}})", to)
    define(f"{t}>f", f"__{f.name}2float({{0}})", lambda a: a.astype(np.float32), 2.0)
    define(f"{t}>d", f"((double)__{f.name}2float({{0}}))", _double)
    kind = TYPES[t]
    define(f"u>{t}", f"({kind.unpack.format('({0} & 0xffffu)')})",
           lambda a: kind.from_words([a & np.uint32(0xFFFF)]))  # fmt: skip
    define(f"{t}>u", f"(__hisnan({{0}}) ? 77u : {kind.pack[0]})",
           lambda a: np.where(np.isnan(a), np.uint32(77), kind.to_words(a)[0]))  # fmt: skip


def _pairs(f: _Format) -> None:
    t, p, to = f.scalar, f.pair, f.rounded
    define(f"{t}{t}>{p}", f"__halves2{f.pair_name}({{0}}, {{1}})", lambda a, b: np.stack([a, b], 1))
    define(f"ff>{p}", f"__floats2{f.pair_name}_rn({{0}}, {{1}})",
           lambda a, b: to(np.stack([a, b], 1).astype(np.float64)), 2.0)  # fmt: skip
    define(f"f>{p}", f"__float2{f.pair_name}_rn({{0}})",
           lambda a: to(np.stack([a, a], 1).astype(np.float64)))  # fmt: skip
    define(f"{t}>{p}", f"__{f.halves}2{f.pair_name}({{0}})", lambda a: np.stack([a, a], 1))
    for side, k in (("low", 0), ("high", 1)):
        define(f"{p}>{t}", f"__{side}2{f.halves}({{0}})", lambda a, k=k: a[:, k])
        define(f"{p}>f", f"__{side}2float({{0}})", lambda a, k=k: a[:, k].astype(np.float32))
        define(f"{p}>{p}", f"__{side}2{f.pair_name}({{0}})", lambda a, k=k: a[:, [k, k]])
        define(f"{p}{p}>{p}", f"__{side}s2{f.pair_name}({{0}}, {{1}})",
               lambda a, b, k=k: np.stack([a[:, k], b[:, k]], 1))  # fmt: skip
    define(f"{p}>{p}", "__lowhigh2highlow({0})", lambda a: a[:, ::-1])
    kind = TYPES[p]
    define(f"u>{p}", f"({kind.unpack})", lambda a: kind.from_words([a]))
    define(f"{p}>u", f"(__hbeq2({{0}}, {{0}}) ? {kind.pack[0]} : 78u)",
           lambda a: np.where(np.isnan(a).any(1), np.uint32(78), kind.to_words(a)[0])
           )  # fmt: skip


def _fp8() -> None:
    for kind, name in (("e4m3", "__NV_E4M3"), ("e5m2", "__NV_E5M2")):
        values = narrow.fp8_values(kind)
        for saturate, how in ((True, "__NV_SATFINITE"), (False, "__NV_NOSAT")):

            def bits(a: Array, k: str = kind, s: bool = saturate) -> Array:
                clean = np.where(np.isnan(a), 0.0, _double(a))
                return narrow.fp8_bits(clean, k, s).astype(np.uint32)

            weight = 0.2 if saturate else 0.05
            for t in "fd":
                source = {"f": "float", "d": "double"}[t]
                text = f"__nv_cvt_{source}_to_fp8({{0}} == {{0}} ? {{0}} : 0, {how}, {name})"
                define(f"{t}>u", f"((unsigned){text})", bits, weight / 2)
            for t, raw, cast in (("h", "halfraw", "__half_raw"),
                                 ("b", "bfloat16raw", "__nv_bfloat16_raw")):  # fmt: skip
                clean = f"({cast})(__hisnan({{0}}) ? {TYPES[t].unpack.format('0')} : {{0}})"
                text = f"((unsigned)__nv_cvt_{raw}_to_fp8({clean}, {how}, {name}))"
                define(f"{t}>u", text, bits, weight)
            define("ff>u", "((unsigned)__nv_cvt_float2_to_fp8x2(make_float2({0} == {0} ? {0} : 0, "
                   f"{{1}} == {{1}} ? {{1}} : 0), {how}, {name}))",
                   lambda a, b, f=bits: f(a) | f(b) << np.uint32(8), weight / 2)  # fmt: skip
        storage = "(__nv_fp8_storage_t)({0} & 255)"
        define("u>h", f"__half(__nv_cvt_fp8_to_halfraw({storage}, {name}))",
               lambda a, v=values: v[a & 255].astype(np.float16), 0.3)  # fmt: skip
        pair = "(__nv_fp8x2_storage_t)({0} & 65535)"
        define("u>H", f"__half2(__nv_cvt_fp8x2_to_halfraw2({pair}, {name}))",
               lambda a, v=values: np.stack([v[a & 255], v[a >> 8 & 255]], 1).astype(np.float16),
               0.3)  # fmt: skip


def _collectives() -> None:
    lanes = np.arange(32)
    for t in "hbHB":
        for n in (1, 7, 16):
            COLLECTIVES.append(Collective(
                argument=t, result=t, text=f"__shfl_xor_sync(~0u, {{0}}, {n})",
                function=lambda v, n=n: v[lanes ^ n],
            ))  # fmt: skip
            COLLECTIVES.append(Collective(
                argument=t, result=t, text=f"__shfl_down_sync(~0u, {{0}}, {n})",
                function=lambda v, n=n: v[np.where(lanes + n < 32, lanes + n, lanes)],
            ))  # fmt: skip


for _format in (_HALF, _BFLOAT):
    _arithmetic(_format)
    _comparisons(_format)
    _conversions(_format)
    _pairs(_format)
_fp8()
_collectives()
