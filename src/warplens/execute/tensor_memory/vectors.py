"""Sums of sixteen columns of D at once, in vectors: those of sums.py where numbers are ordinary.

A row of A stands as singles and exponents of 16 bits, step by step of k; of B sixteen columns stand
beside each other for every step. A product of two operands is exact in single precision; multiplied
by the power of two that makes the last kept bit 1 and turned into an integer it is cut as a tensor
core cuts it. Eight such terms fit into a word, what they add up to into a double.

Each function is compiled twice, for any x86-64-v3 and for processors with AVX-512, which take half
of the instructions; machine code is kept on disk for both, and the worker says which may run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from warplens.compiled import intrinsic, types
from warplens.execute.tensor_memory.numbers import NO_TERM, SPECIAL
from warplens.lift.engines.host import host_features

WIDTH = 16  # columns
_TOGETHER = 8  # steps of k
_KEPT, _LOWEST, _HIGHEST = 25, -90, 110  # largest exponents for which single precision is exact
_I16, _I32, _I64 = (ir.IntType(n) for n in (16, 32, 64))
_FLAGS = ir.VectorType(ir.IntType(1), WIDTH)
_SHORTS, _WORDS, _WIDE = (ir.VectorType(kind, WIDTH) for kind in (_I16, _I32, _I64))
_HALVES, _SINGLES, _DOUBLES = (
    ir.VectorType(kind, WIDTH) for kind in (ir.HalfType(), ir.FloatType(), ir.DoubleType())
)
_ARGUMENTS = (
    "a", "a_exponents", "b", "b_exponents", "depth", "old", "new", "adds", "saturates", "wide",
)  # fmt: skip
_OF_512_BITS = (
    '"target-features"="+avx512f,+avx512bw,+avx512dq,+avx512vl"', '"prefer-vector-width"="512"',
    '"min-legal-vector-width"="512"',
)  # fmt: skip


def all_of(kind: Any, number: float) -> Any:
    """A vector of one constant."""
    return ir.Constant(kind, [number] * kind.count)


class Code:
    """Emits one function of vectors."""

    def __init__(self, module: Any, name: str, arguments: tuple[str, ...]) -> None:
        kind = ir.FunctionType(_I64, [_I64] * len(arguments))
        self.function = ir.Function(module, kind, name)
        self.function.linkage = "internal"
        self.b = ir.IRBuilder(self.function.append_basic_block())
        self.given = dict(zip(arguments, self.function.args, strict=True))

    def widen(self) -> None:
        """Compiles for AVX-512; llvmlite knows no attributes that are strings."""
        for text in _OF_512_BITS:
            set.add(self.function.attributes, text)

    def at(self, base: Any, offset: Any, kind: Any, size: int) -> Any:
        """A pointer to an element that lies `offset` times `size` bytes behind an address."""
        place = self.b.add(base, self.b.mul(offset, _I64(size)))
        return self.b.inttoptr(place, kind.as_pointer())

    def load(self, base: Any, offset: Any, kind: Any, size: int) -> Any:
        """A vector or number from there."""
        return self.b.load(self.at(base, offset, kind, size), align=size)

    def spread(self, number: Any, kind: Any) -> Any:
        """A number in every place of a vector."""
        one = self.b.insert_element(ir.Constant(kind, ir.Undefined), number, _I32(0))
        zeros = ir.Constant(ir.VectorType(_I32, kind.count), [0] * kind.count)
        return self.b.shuffle_vector(one, one, zeros)

    def largest(self, a: Any, b: Any) -> Any:
        """The larger of whole numbers."""
        return self.b.select(self.b.icmp_signed(">", a, b), a, b)

    def call(self, name: str, *values: Any) -> Any:
        """An LLVM intrinsic whose arguments are of its result's type."""
        module, kind = self.function.module, values[0].type
        found = module.globals.get(name)
        if found is None:
            found = ir.Function(module, ir.FunctionType(kind, [kind] * len(values)), name)
        return self.b.call(found, values)

    def loop(self, end: Any, step: int, values: list[Any],
             body: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:  # fmt: skip
        """Goes from 0 to `end`, at least once; the values after the last round."""
        b, before = self.b, self.b.block
        inside, after = (self.function.append_basic_block() for _ in range(2))
        b.branch(inside)
        b.position_at_end(inside)
        index = b.phi(_I64)
        index.add_incoming(_I64(0), before)
        carried = [b.phi(value.type) for value in values]
        for phi, value in zip(carried, values, strict=True):
            phi.add_incoming(value, before)
        results = body(index, list(carried))
        following = b.add(index, _I64(step))
        index.add_incoming(following, b.block)
        for phi, value in zip(carried, results, strict=True):
            phi.add_incoming(value, b.block)
        b.cbranch(b.icmp_signed("<", following, end), inside, after)
        b.position_at_end(after)
        return results


def _old(code: Code, halves: bool) -> tuple[Any, Any]:
    """D's old numbers as singles, zeros where they do not count, and their exponents."""
    b = code.b
    words = code.load(code.given["old"], _I64(0), _WORDS, 4)
    counts = b.icmp_signed("!=", code.given["adds"], _I64(0))
    words = b.select(counts, words, all_of(_WORDS, 0))
    if halves:
        numbers = b.fpext(b.bitcast(b.trunc(words, _SHORTS), _HALVES), _SINGLES)
        words = b.bitcast(numbers, _WORDS)
    else:
        numbers = b.bitcast(words, _SINGLES)
    field = b.and_(b.lshr(words, all_of(_WORDS, 23)), all_of(_WORDS, 255))
    exponent = b.sub(code.largest(field, all_of(_WORDS, 113 if halves else 1)), all_of(_WORDS, 127))
    size = b.and_(words, all_of(_WORDS, 0x7FFFFFFF))
    is_zero = b.icmp_unsigned("==", size, all_of(_WORDS, 0))
    exponent = b.select(is_zero, all_of(_WORDS, NO_TERM), exponent)
    special = b.icmp_unsigned("==", field, all_of(_WORDS, 255))
    return numbers, b.select(special, all_of(_WORDS, SPECIAL), exponent)


def _top(code: Code, start: Any) -> Any:
    """The largest exponent of a column's products and its old number."""
    b, given = code.b, code.given

    def round_(k: Any, values: list[Any]) -> list[Any]:
        top = values[0]
        for i in range(_TOGETHER):
            here = b.add(k, _I64(i))
            mine = code.spread(code.load(given["a_exponents"], here, _I16, 2), _SHORTS)
            theirs = b.load(code.at(given["b_exponents"], here, _SHORTS, 2 * WIDTH), align=2)
            top = code.largest(top, code.call("llvm.sadd.sat.v16i16", mine, theirs))
        return [top]

    top = code.loop(given["depth"], _TOGETHER, [b.trunc(start, _SHORTS)], round_)[0]
    return b.sext(top, _WORDS)


def _power(code: Code, exponent: Any) -> Any:
    bits = code.b.shl(code.b.add(exponent, all_of(_WORDS, 127)), all_of(_WORDS, 23))
    return code.b.bitcast(bits, _SINGLES)


def _operands(code: Code, k: Any) -> tuple[Any, Any]:
    """A's number at a step of k, everywhere, and B's sixteen."""
    mine = code.spread(code.load(code.given["a"], k, ir.FloatType(), 4), _SINGLES)
    place = code.at(code.given["b"], k, _SINGLES, 4 * WIDTH)
    return mine, code.b.load(place, align=4)


def _total(code: Code, first: Any, scale: Any) -> Any:
    """The sum of what is cut off, as doubles."""
    b = code.b

    def round_(k: Any, values: list[Any]) -> list[Any]:
        total, part = values
        for i in range(_TOGETHER):
            mine, theirs = _operands(code, b.add(k, _I64(i)))
            term = b.fptosi(b.fmul(b.fmul(mine, theirs), scale), _WORDS)
            part = b.add(part, term)
        return [b.fadd(total, b.sitofp(part, _DOUBLES)), all_of(_WORDS, 0)]

    nothing = all_of(_DOUBLES, 0.0)
    return code.loop(code.given["depth"], _TOGETHER, [nothing, first], round_)[0]


def _rounded(code: Code, total: Any, top: Any, halves: bool) -> Any:
    """D's new words: singles are cut to 24 bits, halves rounded."""
    b = code.b
    bits = b.bitcast(total, _WIDE)
    cut = b.and_(bits, all_of(_WIDE, -(1 << 29)))
    if halves:  # a last bit that tells of dropped ones: rounding again is then right
        lost = b.icmp_unsigned("!=", cut, bits)
        cut = b.or_(cut, b.select(lost, all_of(_WIDE, 1 << 29), all_of(_WIDE, 0)))
    single = b.fptrunc(b.bitcast(cut, _DOUBLES), _SINGLES)
    single = b.fmul(single, _power(code, b.sub(top, all_of(_WORDS, _KEPT))))
    if not halves:
        return b.bitcast(single, _WORDS)
    found = b.zext(b.bitcast(b.fptrunc(single, _HALVES), _SHORTS), _WORDS)
    size = b.and_(found, all_of(_WORDS, 0x7FFF))
    gone = b.icmp_unsigned("==", size, all_of(_WORDS, 0))  # a sum that vanishes is +0
    return b.select(gone, all_of(_WORDS, 0), found)


def _store(code: Code, words: Any) -> None:
    code.b.store(words, code.at(code.given["new"], _I64(0), _WORDS, 4), align=4)


def _floats(code: Code, halves: bool) -> None:
    b = code.b
    start, exponent = _old(code, halves)
    top = _top(code, exponent)
    low = b.icmp_signed(">=", top, all_of(_WORDS, _LOWEST))
    high = b.icmp_signed("<=", top, all_of(_WORDS, _HIGHEST))
    none = b.icmp_signed("<=", top, all_of(_WORDS, -4000))
    good = b.bitcast(b.or_(b.and_(low, high), none), ir.IntType(WIDTH))
    quick, slow = (code.function.append_basic_block() for _ in range(2))
    b.cbranch(b.icmp_signed("==", good, ir.Constant(good.type, -1)), quick, slow)
    b.position_at_end(slow)
    b.ret(_I64(0))
    b.position_at_end(quick)
    top = code.largest(top, all_of(_WORDS, _LOWEST))
    scale = _power(code, b.sub(all_of(_WORDS, _KEPT), top))
    total = _total(code, b.fptosi(b.fmul(start, scale), _WORDS), scale)
    _store(code, _rounded(code, total, top, halves))
    b.ret(_I64(1))


def _wholes(code: Code) -> None:
    """Sums of whole numbers are exact in single precision without D's old ones."""
    b, given = code.b, code.given

    def round_(k: Any, values: list[Any]) -> list[Any]:
        total = values[0]
        for i in range(_TOGETHER):
            mine, theirs = _operands(code, b.add(k, _I64(i)))
            total = b.fadd(total, b.fmul(mine, theirs))
        return [total]

    total = code.loop(given["depth"], _TOGETHER, [all_of(_SINGLES, 0.0)], round_)[0]
    whole = b.fptosi(total, _WORDS)
    counts = b.icmp_signed("!=", given["adds"], _I64(0))
    old = code.load(given["old"], _I64(0), _WORDS, 4)
    old = b.select(counts, old, all_of(_WORDS, 0))
    saturates = b.icmp_signed("!=", given["saturates"], _I64(0))
    bounded = code.call("llvm.sadd.sat.v16i32", old, whole)
    _store(code, b.select(saturates, bounded, b.add(old, whole)))
    b.ret(_I64(1))


def _either(emit: Callable[[Code], None]) -> Callable[[Any, str], Any]:
    """What makes a function that calls the one for this processor."""

    def make(module: Any, name: str) -> Any:
        code = Code(module, name, _ARGUMENTS)
        functions = []
        for suffix in (".512", ".256"):
            one = Code(module, name + suffix, _ARGUMENTS)
            if suffix == ".512" and host_features().is_x86:
                one.widen()
            emit(one)
            functions.append(one.function)
        b, given = code.b, list(code.given.values())
        wide, narrow = (code.function.append_basic_block() for _ in range(2))
        b.cbranch(b.icmp_signed("!=", code.given["wide"], _I64(0)), wide, narrow)
        for block, function in zip((wide, narrow), functions, strict=True):
            b.position_at_end(block)
            b.ret(b.call(function, given))
        return code.function

    return make


def called(name: str, make: Callable[[Any, str], Any]) -> Callable[..., Any]:
    """What emits a call of a function, which `make` puts into the module once."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        module = builder.module
        found = module.globals.get(name) or make(module, name)
        return builder.call(found, args)

    return codegen


def _of_tile(name: str, emit: Callable[[Code], None]) -> Callable[..., Any]:
    """A function of the addresses and numbers named in `_ARGUMENTS`, `wide` of them: the processor
    has AVX-512. It gives 0 if numbers are not ordinary: then nothing is stored."""

    def tile(typing_context: Any, *arguments: Any) -> Any:
        signature = types.int64(*(types.int64,) * len(_ARGUMENTS))
        return signature, called(name, _either(emit))

    return intrinsic(tile)


singles_of_tile = _of_tile("tile.singles", lambda code: _floats(code, halves=False))
halves_of_tile = _of_tile("tile.halves", lambda code: _floats(code, halves=True))  # each in a word
wholes_of_tile = _of_tile("tile.wholes", _wholes)
