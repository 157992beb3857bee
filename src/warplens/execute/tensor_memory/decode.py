"""Numbers of a tensor core's formats as singles and exponents of 16 bits, eight at a time."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from warplens.compiled import intrinsic, types
from warplens.execute.tensor_memory.numbers import (
    BF16,
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E5M2,
    F16,
    NO_TERM,
    S8,
    SPECIAL,
    TF32,
    U8,
)
from warplens.execute.tensor_memory.vectors import Code, all_of, called

_I8, _I16, _I32, _I64 = (ir.IntType(n) for n in (8, 16, 32, 64))
_ARGUMENTS = ("source", "numbers", "exponents", "stride", "negated")
# of floats in a few bits: the highest bit's place, how far it is from a half's exponent, and what
# makes up for the other bias
_SMALL = {E4M3: (7, 7, 256.0), E2M3: (5, 7, 2.0**14), E3M2: (5, 8, 2.0**12), E2M1: (3, 9, 2.0**14)}
LEAST = {F16: -14, BF16: -126, TF32: -126, E4M3: -6, E5M2: -14, E2M3: 0, E3M2: -2, E2M1: 0}
_BITS = {E2M3: 6, E3M2: 6, E2M1: 4}


def _packed(code: Code, bits: int) -> Any:
    """Eight numbers of six or four bits, from bytes that lie together."""
    b, wide = code.b, ir.VectorType(_I64, 8)
    word = code.load(code.given["source"], _I64(0), _I64 if bits == 6 else _I32, 1)
    every = code.spread(b.zext(word, _I64) if bits == 4 else word, wide)
    shifted = b.lshr(every, ir.Constant(wide, [bits * n for n in range(8)]))
    codes = b.and_(shifted, all_of(wide, (1 << bits) - 1))
    return b.trunc(codes, ir.VectorType(_I16, 8))


def _small_float(code: Code, kind: int, codes: Any) -> Any:
    """From the places of a half's bits, times a power of two."""
    b, shorts, singles = code.b, codes.type, ir.VectorType(ir.FloatType(), 8)
    halves = ir.VectorType(ir.HalfType(), 8)
    high, up, factor = _SMALL[kind]
    size = b.and_(codes, all_of(shorts, (1 << high) - 1))
    sign = b.shl(b.lshr(codes, all_of(shorts, high)), all_of(shorts, 15))
    bits = b.or_(b.shl(size, all_of(shorts, up)), sign)
    number = b.fmul(b.fpext(b.bitcast(bits, halves), singles), all_of(singles, factor))
    if kind != E4M3:
        return number
    is_nan = b.icmp_unsigned("==", size, all_of(shorts, 127))
    return b.select(is_nan, all_of(singles, float("nan")), number)


def _singles(code: Code, kind: int) -> Any:
    """Eight numbers (four of TF32) of which the first lies at `source`."""
    b, source = code.b, code.given["source"]
    singles, words, shorts = (ir.VectorType(k, 8) for k in (ir.FloatType(), _I32, _I16))
    if kind == TF32:
        four = code.load(source, _I64(0), ir.VectorType(_I32, 4), 1)
        kept = b.and_(four, all_of(four.type, -8192))  # the 13 low bits are not looked at
        return b.bitcast(kept, ir.VectorType(ir.FloatType(), 4))
    if kind == F16:
        halves = code.load(source, _I64(0), shorts, 1)
        return b.fpext(b.bitcast(halves, ir.VectorType(ir.HalfType(), 8)), singles)
    if kind == BF16:
        wide = b.zext(code.load(source, _I64(0), shorts, 1), words)
        return b.bitcast(b.shl(wide, all_of(words, 16)), singles)
    if kind in _BITS:
        return _small_float(code, kind, _packed(code, _BITS[kind]))
    codes = code.load(source, _I64(0), ir.VectorType(_I8, 8), 1)
    if kind in (U8, S8):
        return b.sitofp(b.sext(codes, words) if kind == S8 else b.zext(codes, words), singles)
    codes = b.zext(codes, shorts)
    if kind == E5M2:  # the high byte of a half
        bits = b.shl(codes, all_of(shorts, 8))
        return b.fpext(b.bitcast(bits, ir.VectorType(ir.HalfType(), 8)), singles)
    return _small_float(code, kind, codes)


def exponents_of_singles(code: Code, least: Any, numbers: Any) -> Any:
    """Exponents of 16 bits; `least` is that of the format's denormals, as a vector."""
    b = code.b
    words = ir.VectorType(_I32, numbers.type.count)
    bits = b.bitcast(numbers, words)
    field = b.and_(b.lshr(bits, all_of(words, 23)), all_of(words, 255))
    found = code.largest(b.sub(field, all_of(words, 127)), least)
    size = b.and_(bits, all_of(words, 0x7FFFFFFF))
    is_zero = b.icmp_unsigned("==", size, all_of(words, 0))
    found = b.select(is_zero, all_of(words, NO_TERM), found)
    special = b.icmp_unsigned("==", field, all_of(words, 255))
    found = b.select(special, all_of(words, SPECIAL), found)
    return b.trunc(found, ir.VectorType(_I16, numbers.type.count))


def _put(code: Code, values: Any, to: Any, size: int) -> None:
    """Stores elements `stride` apart."""
    b, stride = code.b, code.given["stride"]
    together, apart, after = (code.function.append_basic_block() for _ in range(3))
    b.cbranch(b.icmp_signed("==", stride, _I64(1)), together, apart)
    b.position_at_end(together)
    b.store(values, code.at(to, _I64(0), values.type, size), align=size)
    b.branch(after)
    b.position_at_end(apart)
    for n in range(values.type.count):
        place = code.at(to, b.mul(stride, _I64(n)), values.type.element, size)
        b.store(b.extract_element(values, _I32(n)), place, align=size)
    b.branch(after)
    b.position_at_end(after)


def _taken(module: Any, name: str, kind: int) -> Any:
    code = Code(module, name, _ARGUMENTS)
    b = code.b
    numbers = _singles(code, kind)
    words = ir.VectorType(_I32, numbers.type.count)
    flips = b.shl(b.trunc(code.given["negated"], _I32), _I32(31))
    bits = b.xor(b.bitcast(numbers, words), code.spread(flips, words))
    numbers = b.bitcast(bits, numbers.type)
    _put(code, numbers, code.given["numbers"], 4)
    if kind in LEAST:
        exponents = exponents_of_singles(code, all_of(words, LEAST[kind]), numbers)
        _put(code, exponents, code.given["exponents"], 2)
    b.ret(_I64(numbers.type.count))
    return code.function


_NAMES = {F16: "f16", BF16: "bf16", TF32: "tf32", E4M3: "e4m3", E5M2: "e5m2", E2M3: "e2m3",
          E3M2: "e3m2", E2M1: "e2m1", U8: "u8", S8: "s8"}  # fmt: skip


def _any(module: Any, name: str) -> Any:
    """Chooses by kind, the last argument."""
    code = Code(module, name, (*_ARGUMENTS, "kind"))
    b, kind = code.b, code.given["kind"]
    other = code.function.append_basic_block()
    choice = b.switch(kind, other)
    for number, short in _NAMES.items():
        made = _taken(module, f"{name}.{short}", number)
        block = code.function.append_basic_block()
        choice.add_case(_I64(number), block)
        b.position_at_end(block)
        b.ret(b.call(made, list(code.given.values())[:-1]))
    b.position_at_end(other)
    b.ret(_I64(0))
    return code.function


@intrinsic
def take(typing_context: Any, source: Any, numbers: Any, exponents: Any, stride: Any, negated: Any,
         kind: Any) -> Any:  # fmt: skip
    """Puts eight numbers (four of TF32) at addresses, `stride` elements apart, and their exponents
    (of integers none); how many they are."""
    return types.int64(*(types.int64,) * 6), called("taken", _any)
