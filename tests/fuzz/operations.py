"""The operations a random program may use: CUDA text and NumPy meaning side by side.

Signed arithmetic is written through unsigned types where C++ leaves overflow undefined, divisors
and shift amounts are guarded, and no NaN's payload or sign reaches an integer: what is left is
defined by C++, CUDA or IEEE 754 to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests import exact
from tests.fuzz.operation import Collective, Family, Operation, into
from tests.fuzz.values import TYPES, Array

NARROW: dict[str, type] = {
    "signed char": np.int8,
    "short": np.int16,
    "int": np.int32,
    "unsigned char": np.uint8,
    "unsigned short": np.uint16,
    "unsigned": np.uint32,
}


OPERATIONS: list[Operation] = []
define = into(OPERATIONS)


def truncated_quotient(a: Array, b: Array) -> Array:
    """C's division, for guarded operands."""
    quotient = a // b
    return quotient + ((a - quotient * b != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


def _guarded(a: Array, b: Array) -> Array:
    """Divisors with 0 and, for signed types, -1 replaced by 1, as the CUDA text does."""
    bad = (b == 0) | (b == -1) if np.issubdtype(b.dtype, np.signedinteger) else b == 0
    return np.where(bad, b.dtype.type(1), b)


def _high_product(a: Array, b: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    values = [int(x) * int(y) >> bits for x, y in zip(a, b, strict=True)]
    return np.array([v % 2**bits for v in values], f"u{bits // 8}").view(a.dtype)


def _per_value(function: Callable[..., int]) -> Callable[..., Array]:
    """A NumPy function from one on Python integers; the result is a uint32."""

    def apply(*arrays: Array) -> Array:
        rows = zip(*(a.tolist() for a in arrays), strict=True)
        return np.array([function(*row) % 2**32 for row in rows], np.uint32)

    return apply


def _reverse(bits: int) -> Callable[[Array], Array]:
    def apply(a: Array) -> Array:
        return np.array([int(f"{int(v):0{bits}b}"[::-1], 2) for v in a], a.dtype)

    return apply


def _permute(x: int, y: int, selector: int) -> int:
    data = y << 32 | x
    return sum((data >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i for i in range(4))


def _signed_clamp(value: Array, kind: type, nan: int) -> Array:
    """Float to integer with saturation, the value being whole already."""
    info = np.iinfo(kind)
    wide = value.astype(np.float64)
    out = [nan if np.isnan(v) else int(min(max(v, float(info.min)), float(info.max))) for v in wide]
    return np.array([min(max(v, info.min), info.max) for v in out], kind)


def _integers(t: str) -> None:
    name, kind = TYPES[t].name, TYPES[t].kind
    bits = 8 * np.dtype(kind).itemsize
    signed = t in "il"
    unsigned = TYPES["u" if bits == 32 else "m"].name
    for symbol, ufunc in (("+", np.add), ("-", np.subtract), ("*", np.multiply)):
        define(f"{t}{t}>{t}", f"({name})(({unsigned}){{0}} {symbol} ({unsigned}){{1}})", ufunc)
    for symbol, ufunc in (("&", np.bitwise_and), ("|", np.bitwise_or), ("^", np.bitwise_xor)):
        define(f"{t}{t}>{t}", f"({{0}} {symbol} {{1}})", ufunc)
    define(f"{t}>{t}", "(~{0})", np.invert)
    define(f"{t}>{t}", f"({name})(0 - ({unsigned}){{0}})", lambda a: kind(0) - a)
    bad = "({1} == 0 || {1} == -1)" if signed else "({1} == 0)"
    define(
        f"{t}{t}>{t}",
        f"({{0}} / ({bad} ? 1 : {{1}}))",
        lambda a, b: truncated_quotient(a, _guarded(a, b)),
        0.4 if bits == 32 else 0.05,
    )
    define(
        f"{t}{t}>{t}",
        f"({{0}} % ({bad} ? 1 : {{1}}))",
        lambda a, b: a - truncated_quotient(a, _guarded(a, b)) * _guarded(a, b),
        0.4 if bits == 32 else 0.05,
    )
    mask = kind(bits - 1)
    define(
        f"{t}{t}>{t}",
        f"({name})(({unsigned}){{0}} << ({{1}} & {bits - 1}))",
        lambda a, b: a << (b & mask),
    )
    define(f"{t}{t}>{t}", f"({{0}} >> ({{1}} & {bits - 1}))", lambda a, b: a >> (b & mask))
    define(f"{t}{t}>{t}", "min({0}, {1})", np.minimum)
    define(f"{t}{t}>{t}", "max({0}, {1})", np.maximum)
    high = {"i": "__mulhi", "u": "__umulhi", "l": "__mul64hi", "m": "__umul64hi"}[t]
    define(f"{t}{t}>{t}", f"{high}({{0}}, {{1}})", _high_product)
    for divisor in (3, 7, 10, 641, 1000003):
        define(
            f"{t}>{t}",
            f"({{0}} / {divisor})",
            lambda a, n=divisor: truncated_quotient(a, np.full_like(a, n)),
            0.3 if bits == 32 else 0.02,
        )
    for symbol, ufunc in (("<", np.less), ("==", np.equal), (">=", np.greater_equal)):
        define(f"{t}{t}>i", f"(int)({{0}} {symbol} {{1}})", lambda a, b, f=ufunc: f(a, b) * 1)
    define(f"i{t}{t}>{t}", "({0} & 1 ? {1} : {2})", lambda c, a, b: np.where(c & 1, a, b))


def _bit_operations() -> None:
    define("u>u", "__brev({0})", _reverse(32))
    define("m>m", "__brevll({0})", _reverse(64))
    define("u>u", "(unsigned)__clz((int){0})", _per_value(lambda a: 32 - a.bit_length()))
    define("m>u", "(unsigned)__clzll((long long){0})", _per_value(lambda a: 64 - a.bit_length()))
    define("u>u", "(unsigned)__popc({0})", _per_value(lambda a: a.bit_count()))
    define("m>u", "(unsigned)__popcll({0})", _per_value(lambda a: a.bit_count()))
    define("u>u", "(unsigned)__ffs((int){0})", _per_value(lambda a: (a & -a).bit_length()))
    define("m>u", "(unsigned)__ffsll((long long){0})", _per_value(lambda a: (a & -a).bit_length()))
    define("uuu>u", "__byte_perm({0}, {1}, {2} & 0x7777)", _per_value(_permute))
    define(
        "uuu>u",
        "__funnelshift_l({0}, {1}, {2})",
        _per_value(lambda a, b, n: (b << 32 | a) << (n & 31) >> 32),
    )
    define(
        "uuu>u",
        "__funnelshift_r({0}, {1}, {2})",
        _per_value(lambda a, b, n: (b << 32 | a) >> (n & 31)),
    )
    define(
        "uuu>u",
        "__funnelshift_lc({0}, {1}, {2})",
        _per_value(lambda a, b, n: (b << 32 | a) << min(n, 32) >> 32),
    )
    define(
        "uuu>u",
        "__funnelshift_rc({0}, {1}, {2})",
        _per_value(lambda a, b, n: (b << 32 | a) >> min(n, 32)),
    )
    define("uu>u", "__umul24({0}, {1})", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF))
    define("uuu>u", "__usad({0}, {1}, {2})", _per_value(lambda a, b, c: abs(a - b) + c))
    define("uu>u", "__uhadd({0}, {1})", _per_value(lambda a, b: (a + b) >> 1))
    define("uu>u", "__urhadd({0}, {1})", _per_value(lambda a, b: (a + b + 1) >> 1))
    define("i>i", "abs({0} == (int)0x80000000 ? 0 : {0})",
           lambda a: np.abs(np.where(a == -(2**31), 0, a)).astype(np.int32))  # fmt: skip
    define("iii>i", "__dp4a({0}, {1}, {2})", _dot4)
    define("iii>i", "(int)((unsigned){0} * (unsigned){1} + (unsigned){2})",
           lambda a, b, c: a * b + c)  # fmt: skip
    define("iil>l", "(long long)((unsigned long long)((long long){0} * {1}) + {2})",
           lambda a, b, c: a.astype(np.int64) * b + c)  # fmt: skip
    define("uum>m", "((unsigned long long){0} * {1} + {2})",
           lambda a, b, c: a.astype(np.uint64) * b + c)  # fmt: skip
    _packed_bytes()


def _dot4(a: Array, b: Array, c: Array) -> Array:
    bytes_a = np.ascontiguousarray(a).view(np.int8).reshape(-1, 4).astype(np.int32)
    bytes_b = np.ascontiguousarray(b).view(np.int8).reshape(-1, 4).astype(np.int32)
    return (bytes_a * bytes_b).sum(1, dtype=np.int32) + c


def _packed(function: Callable[[Array, Array], Array], kind: type) -> Callable[..., Array]:
    def apply(a: Array, b: Array) -> Array:
        parts = [np.ascontiguousarray(v).view(kind) for v in (a, b)]
        return np.ascontiguousarray(function(*parts).astype(kind)).view(np.uint32)

    return apply


def _packed_bytes() -> None:
    define("uu>u", "__vadd4({0}, {1})", _packed(np.add, np.uint8))
    define("uu>u", "__vsub2({0}, {1})", _packed(np.subtract, np.uint16))
    define("uu>u", "__vmaxu4({0}, {1})", _packed(np.maximum, np.uint8))
    define("uu>u", "__vmins2({0}, {1})", _packed(np.minimum, np.int16))
    define("uu>u", "__vcmpeq4({0}, {1})", _packed(lambda a, b: (a == b) * np.uint8(255), np.uint8))
    define("uu>u", "__vabsdiffu4({0}, {1})",
           _packed(lambda a, b: np.maximum(a, b) - np.minimum(a, b), np.uint8))  # fmt: skip


def _minimum(a: Array, b: Array) -> Array:
    return np.where((a < b) | ((a == b) & np.signbit(a)) | np.isnan(b), a, b)


def _maximum(a: Array, b: Array) -> Array:
    return np.where((a > b) | ((a == b) & np.signbit(b)) | np.isnan(b), a, b)


def _rounded(mode: str, function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *operands: function(*operands, mode)


def _floats(t: str) -> None:
    name, kind = TYPES[t].name, TYPES[t].kind
    end = "f" if t == "f" else ""
    prefix = "f" if t == "f" else "d"
    for symbol, ufunc in (("+", np.add), ("-", np.subtract), ("*", np.multiply)):
        define(f"{t}{t}>{t}", f"({{0}} {symbol} {{1}})", ufunc)
    heavy = 0.3 if t == "f" else 0.1
    define(f"{t}{t}>{t}", "({0} / {1})", np.divide, heavy)
    define(f"{t}>{t}", f"sqrt{end}({{0}})", np.sqrt, heavy)
    for function, ufunc in (
        ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc),
        ("rint", np.rint), ("fabs", np.abs),
    ):  # fmt: skip
        define(f"{t}>{t}", f"{function}{end}({{0}})", ufunc)
    define(f"{t}>{t}", "(-{0})", np.negative)
    define(f"{t}>{t}", f"__{prefix}rcp_rn({{0}})", lambda a: kind(1) / a, heavy)
    define(f"{t}{t}>{t}", f"fmin{end}({{0}}, {{1}})", _minimum, literals=False)
    define(f"{t}{t}>{t}", f"fmax{end}({{0}}, {{1}})", _maximum, literals=False)
    define(f"{t}{t}>{t}", f"copysign{end}({{0}}, {{1}} != {{1}} ? {name}(1) : {{1}})",
           lambda a, b: np.copysign(a, np.where(np.isnan(b), kind(1), b)),
           literals=False)  # fmt: skip
    define(f"{t}{t}>{t}", f"fmod{end}({{0}}, {{1}})", np.fmod, 0.05)
    define(f"{t}{t}{t}>{t}", f"fma{end}({{0}}, {{1}}, {{2}})", exact.fma)
    fma = "__fmaf" if t == "f" else "__fma"
    for mode in ("rz", "ru", "rd"):
        define(f"{t}{t}>{t}", f"__{prefix}add_{mode}({{0}}, {{1}})", _rounded(mode, exact.add))
        define(f"{t}{t}>{t}", f"__{prefix}mul_{mode}({{0}}, {{1}})", _rounded(mode, exact.mul))
        define(f"{t}{t}{t}>{t}", f"{fma}_{mode}({{0}}, {{1}}, {{2}})", _rounded(mode, exact.fma))
    for symbol, ufunc in (
        ("<", np.less), ("<=", np.less_equal), ("==", np.equal), ("!=", np.not_equal),
        (">", np.greater), (">=", np.greater_equal),
    ):  # fmt: skip
        define(f"{t}{t}>i", f"(int)({{0}} {symbol} {{1}})", lambda a, b, f=ufunc: f(a, b) * 1,
               literals=False)  # fmt: skip
    define(f"i{t}{t}>{t}", "({0} & 1 ? {1} : {2})", lambda c, a, b: np.where(c & 1, a, b),
           literals=False)  # fmt: skip


def _conversions() -> None:
    for source in "iulm":
        for target in "iulmfd":
            name, kind = TYPES[target].name, TYPES[target].kind
            if source != target:
                define(f"{source}>{target}", f"(({name}){{0}})", lambda a, k=kind: a.astype(k))
    for source, text in (("i", "signed char"), ("i", "short"), ("u", "unsigned char"),
                         ("u", "unsigned short"), ("l", "int"), ("m", "unsigned")):  # fmt: skip
        kind = NARROW[text]
        define(f"{source}>{source}", f"({TYPES[source].name})(({text}){{0}})",
               lambda a, k=kind: a.astype(k).astype(a.dtype))  # fmt: skip
    define("f>d", "((double){0})", lambda a: a.astype(np.float64))
    define("d>f", "((float){0})", lambda a: a.astype(np.float32))
    rounds = {"rz": np.trunc, "rn": np.rint, "rd": np.floor, "ru": np.ceil}
    names = {"i": "int", "u": "uint", "l": "ll", "m": "ull"}
    for source in "fd":
        for target, short in names.items():
            kind = TYPES[target].kind
            bits = 8 * np.dtype(kind).itemsize
            # PTX: 0 for .f32 to 32 bits, else the top bit alone.
            nan = 0 if source == "f" and bits == 32 else 1 << (bits - 1)
            nan -= 2**bits if nan and target in "il" else 0
            for mode, ufunc in rounds.items():
                define(
                    f"{source}>{target}",
                    f"__{'float' if source == 'f' else 'double'}2{short}_{mode}({{0}})",
                    lambda a, k=kind, n=nan, f=ufunc: _signed_clamp(f(a), k, n),
                )
    # Never 0 or 1: the compiler takes the float of a comparison's bits for the comparison as float.
    define("i>f", "__int_as_float({0} | 0x00800000)", lambda a: (a | 0x00800000).view(np.float32))
    define("l>d", "__longlong_as_double({0})", lambda a: a.view(np.float64))
    define("f>i", "({0} != {0} ? 77 : __float_as_int({0}))",
           lambda a: np.where(np.isnan(a), np.int32(77), a.view(np.int32)))  # fmt: skip
    define("d>l", "({0} != {0} ? 77ll : __double_as_longlong({0}))",
           lambda a: np.where(np.isnan(a), np.int64(77), a.view(np.int64)))  # fmt: skip
    define("d>i", "({0} != {0} ? 77 : __double2hiint({0}))",
           lambda a: np.where(np.isnan(a), 77, a.view(np.int64) >> 32))  # fmt: skip


for _type in "iulm":
    _integers(_type)
_bit_operations()
for _type in "fd":
    _floats(_type)
_conversions()

COLLECTIVES: list[Collective] = []
_LANES = np.arange(32)


def _collect(argument: str, result: str, text: str, function: Callable[[Array], Array]) -> None:
    COLLECTIVES.append(
        Collective(argument=argument, result=result, text=text, function=function)
    )


def _lane_moves() -> None:
    for n in (1, 2, 5, 16, 21, 31):
        for t in "iulmfd":
            _collect(t, t, f"__shfl_xor_sync(~0u, {{0}}, {n})", lambda v, n=n: v[_LANES ^ n])
            _collect(t, t, f"__shfl_up_sync(~0u, {{0}}, {n})",
                     lambda v, n=n: v[np.where(n <= _LANES, _LANES - n, _LANES)])  # fmt: skip
            _collect(t, t, f"__shfl_down_sync(~0u, {{0}}, {n}, 16)",
                     lambda v, n=n: v[np.where(_LANES % 16 + n > 15, _LANES, _LANES + n)]
                     )  # fmt: skip
            _collect(t, t, f"__shfl_sync(~0u, {{0}}, t + {n}, 8)",
                     lambda v, n=n: v[_LANES // 8 * 8 + (_LANES + n) % 8])  # fmt: skip


def _votes() -> None:
    def spread(word: int) -> Array:
        return np.full(32, word % 2**32, np.uint32)

    def ballot(v: Array) -> int:
        return sum(1 << k for k in range(32) if v[k] & 1)

    _collect("i", "u", "__ballot_sync(~0u, {0} & 1)", lambda v: spread(ballot(v)))
    _collect("i", "u", "__ballot_sync(~0u, {0} & 1) >> (t & 31)",
             lambda v: spread(ballot(v)) >> _LANES.astype(np.uint32))  # fmt: skip
    _collect("i", "i", "__any_sync(~0u, {0} & 1)", lambda v: (v & 1).any() * np.ones(32))
    _collect("i", "i", "__all_sync(~0u, {0} & 1)", lambda v: (v & 1).all() * np.ones(32))
    _collect("i", "i", "__popc(__ballot_sync(~0u, {0} > 0))",
             lambda v: np.full(32, (v > 0).sum()))  # fmt: skip
    for t in "ul":
        _collect(t, "u", "__match_any_sync(~0u, {0})",
                 lambda v: np.array([sum(1 << k for k in range(32) if v[k] == x) for x in v],
                                    np.uint64))  # fmt: skip


_lane_moves()
_votes()
NUMERIC = Family(
    name="numeric", prelude="", types="iulmfd", operations=OPERATIONS, collectives=COLLECTIVES
)
