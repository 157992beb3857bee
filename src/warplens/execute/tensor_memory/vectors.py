"""Sums of a row of D in vectors of sixteen columns: those of sums.py where numbers are ordinary.

A row of A stands as singles and exponents of 16 bits, step by step of k; of B sixteen columns stand
beside each other for every step: a panel. A product of two operands is exact in single precision;
multiplied by the power of two that makes the last kept bit 1 and turned into an integer it is cut
as a tensor core cuts it. Eight such terms fit into a word. So does, mostly, what they add up to,
which AVX-512 turns into a single that is cut; what does not, and what other processors add, goes
through doubles.

Each function is compiled twice, for any x86-64-v3 and for processors with AVX-512, which take half
of the instructions; machine code is kept on disk for both, and the worker says which may run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir

from warplens.compiled import intrinsic, types
from warplens.execute.tensor_memory.numbers import NO_TERM
from warplens.lift import layout as at
from warplens.lift.engines.host import host_features

WIDTH = 16  # columns
_TOGETHER = 8  # steps of k
_KEPT, _LOWEST, _HIGHEST = 25, -90, 110  # largest exponents for which single precision is exact
_I16, _I32, _I64 = (ir.IntType(n) for n in (16, 32, 64))
_SHORTS, _WORDS, _WIDE = (ir.VectorType(kind, WIDTH) for kind in (_I16, _I32, _I64))
_HALVES, _SINGLES, _DOUBLES = (
    ir.VectorType(kind, WIDTH) for kind in (ir.HalfType(), ir.FloatType(), ir.DoubleType())
)
_PAIRS = ir.VectorType(_I16, 2 * WIDTH)  # exponents of two steps
_ARGUMENTS = (
    "a", "a_exponents", "b", "b_exponents", "depth", "panels", "d", "adds", "saturates", "wide",
)  # fmt: skip
_TO_ZERO = 11  # rounding, and no exceptions
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


def _old(code: Code, place: Any, halves: bool) -> tuple[Any, Any]:
    """D's old numbers as singles, zeros where they do not count, and their exponents."""
    b = code.b
    words = code.load(place, _I64(0), _WORDS, 4)
    counts = b.icmp_signed("!=", code.given["adds"], _I64(0))
    words = b.select(counts, words, all_of(_WORDS, 0))
    if halves:
        numbers = b.fpext(b.bitcast(b.trunc(words, _SHORTS), _HALVES), _SINGLES)
        words = b.bitcast(numbers, _WORDS)
    else:
        numbers = b.bitcast(words, _SINGLES)
    size = b.and_(words, all_of(_WORDS, 0x7FFFFFFF))
    field = b.lshr(size, all_of(_WORDS, 23))
    # that of infinities and NaN, 128, is beyond the highest
    exponent = b.sub(code.largest(field, all_of(_WORDS, 113 if halves else 1)), all_of(_WORDS, 127))
    is_zero = b.icmp_unsigned("==", size, all_of(_WORDS, 0))
    return numbers, b.select(is_zero, all_of(_WORDS, NO_TERM), exponent)


def _row_exponents(code: Code) -> Any:
    """The row's exponents, two steps to a vector, each as often as a panel has columns."""
    b, given = code.b, code.given
    room = b.alloca(_PAIRS, at.TM_DEPTH // 2)
    room.align = 64
    base = b.ptrtoint(room, _I64)
    order = ir.Constant(ir.VectorType(_I32, 2 * WIDTH), [0] * WIDTH + [WIDTH] * WIDTH)

    def round_(k: Any, values: list[Any]) -> list[Any]:
        one, other = (
            code.spread(code.load(given["a_exponents"], b.add(k, _I64(i)), _I16, 2), _SHORTS)
            for i in (0, 1)
        )
        both = b.shuffle_vector(one, other, order)
        b.store(both, code.at(base, k, _PAIRS, 2 * WIDTH), align=64)
        return values

    code.loop(given["depth"], 2, [], round_)
    return base


def _top(code: Code, row: Any, column: Any, start: Any) -> Any:
    """The largest exponent of a column's products and its old number."""
    b = code.b

    def round_(k: Any, values: list[Any]) -> list[Any]:
        top = values[0]
        for i in range(0, _TOGETHER, 2):
            here = b.add(k, _I64(i))
            mine = b.load(code.at(row, here, _PAIRS, 2 * WIDTH), align=64)
            theirs = b.load(code.at(column, here, _PAIRS, 2 * WIDTH), align=2)
            top = code.largest(top, code.call("llvm.sadd.sat.v32i16", mine, theirs))
        return [top]

    both = code.loop(code.given["depth"], _TOGETHER, [all_of(_PAIRS, -(1 << 15))], round_)[0]
    halves = [
        b.shuffle_vector(both, both, ir.Constant(_WORDS, [first + n for n in range(WIDTH)]))
        for first in (0, WIDTH)
    ]
    return code.largest(b.sext(code.largest(*halves), _WORDS), start)


def _power(code: Code, exponent: Any) -> Any:
    bits = code.b.shl(code.b.add(exponent, all_of(_WORDS, 127)), all_of(_WORDS, 23))
    return code.b.bitcast(bits, _SINGLES)


def _operands(code: Code, panel: Any, k: Any) -> tuple[Any, Any]:
    """A's number at a step of k, everywhere, and B's sixteen."""
    mine = code.spread(code.load(code.given["a"], k, ir.FloatType(), 4), _SINGLES)
    return mine, code.b.load(code.at(panel, k, _SINGLES, 4 * WIDTH), align=4)


def _part(code: Code, panel: Any, k: Any, scale: Any) -> Any:
    """The sum of some products from a step of k on, cut."""
    b, part = code.b, None
    for i in range(_TOGETHER):
        mine, theirs = _operands(code, panel, b.add(k, _I64(i)))
        term = b.fptosi(b.fmul(b.fmul(mine, theirs), scale), _WORDS)
        part = b.add(part, term) if part else term
    return part


def _total(code: Code, panel: Any, first: Any, scale: Any) -> Any:
    """The sum of what is cut off, as doubles."""
    b = code.b

    def round_(k: Any, values: list[Any]) -> list[Any]:
        return [b.fadd(values[0], b.sitofp(_part(code, panel, k, scale), _DOUBLES))]

    return code.loop(code.given["depth"], _TOGETHER, [b.sitofp(first, _DOUBLES)], round_)[0]


def _word_total(code: Code, panel: Any, first: Any, scale: Any) -> tuple[Any, Any]:
    """The same in words, and words that are negative where it does not fit."""
    b = code.b

    def round_(k: Any, values: list[Any]) -> list[Any]:
        total, beyond = values
        part = _part(code, panel, k, scale)
        after = b.add(total, part)
        lost = b.and_(b.xor(total, after), b.xor(part, after))
        return [after, b.or_(beyond, lost)]

    total, beyond = code.loop(code.given["depth"], _TOGETHER, [first, all_of(_WORDS, 0)], round_)
    return total, beyond


def _cut_words(code: Code, total: Any, halves: bool) -> Any:
    """Words as singles, cut by AVX-512; for halves with a last bit that tells of dropped ones."""
    b, name = code.b, "llvm.x86.avx512.sitofp.round.v16f32.v16i32"
    module = code.function.module
    convert = module.globals.get(name)
    if convert is None:
        convert = ir.Function(module, ir.FunctionType(_SINGLES, [_WORDS, _I32]), name)
    single = b.call(convert, [total, _I32(_TO_ZERO)])
    if not halves:
        return single
    lost = b.icmp_signed("!=", b.fptosi(single, _WORDS), total)
    bits = b.or_(b.bitcast(single, _WORDS), b.zext(lost, _WORDS))
    return b.bitcast(bits, _SINGLES)


def _cut_doubles(code: Code, total: Any, halves: bool) -> Any:
    """Doubles as singles, in the same way."""
    b = code.b
    bits = b.bitcast(total, _WIDE)
    cut = b.and_(bits, all_of(_WIDE, -(1 << 29)))
    if halves:  # rounding again is then right
        lost = b.icmp_unsigned("!=", cut, bits)
        cut = b.or_(cut, b.select(lost, all_of(_WIDE, 1 << 29), all_of(_WIDE, 0)))
    return b.fptrunc(b.bitcast(cut, _DOUBLES), _SINGLES)


def _store(code: Code, place: Any, single: Any, top: Any, halves: bool) -> None:
    """D's new words: of halves each in a word of its own, rounded."""
    b = code.b
    single = b.fmul(single, _power(code, b.sub(top, all_of(_WORDS, _KEPT))))
    words = b.bitcast(single, _WORDS)
    if halves:
        words = b.zext(b.bitcast(b.fptrunc(single, _HALVES), _SHORTS), _WORDS)
        size = b.and_(words, all_of(_WORDS, 0x7FFF))
        gone = b.icmp_unsigned("==", size, all_of(_WORDS, 0))  # a sum that vanishes is +0
        words = b.select(gone, all_of(_WORDS, 0), words)
    b.store(words, code.at(place, _I64(0), _WORDS, 4), align=4)


def _is_every(code: Code, flags: Any) -> Any:
    bits = code.b.bitcast(flags, ir.IntType(WIDTH))
    return code.b.icmp_signed("==", bits, ir.Constant(bits.type, -1))


def _panels(code: Code, emit: Callable[[Any, Any, Any], Any]) -> None:
    """One panel after the other; `emit` takes its index, where it begins, D's words, and gives
    whether that one is done. The function gives how many are, the first in which numbers are not
    ordinary aside."""
    b, given, before = code.b, code.given, code.b.block
    inside, further, after = (code.function.append_basic_block() for _ in range(3))
    b.branch(inside)
    b.position_at_end(inside)
    index = b.phi(_I64)
    index.add_incoming(_I64(0), before)
    panel = b.add(given["b"], b.mul(b.mul(index, given["depth"]), _I64(4 * WIDTH)))
    done = emit(index, panel, b.add(given["d"], b.mul(index, _I64(4 * WIDTH))))
    b.cbranch(done, further, after)
    left = b.block
    b.position_at_end(further)
    following = b.add(index, _I64(1))
    index.add_incoming(following, further)
    b.cbranch(b.icmp_signed("<", following, given["panels"]), inside, after)
    b.position_at_end(after)
    result = b.phi(_I64)
    result.add_incoming(index, left)
    result.add_incoming(following, further)
    b.ret(result)


def _floats(code: Code, halves: bool, is_wide: bool) -> None:
    b, given = code.b, code.given
    row = _row_exponents(code)

    def emit(index: Any, panel: Any, place: Any) -> Any:
        start, exponent = _old(code, place, halves)
        column = b.add(given["b_exponents"], b.mul(b.mul(index, given["depth"]), _I64(2 * WIDTH)))
        top = _top(code, row, column, exponent)
        above = b.sub(top, all_of(_WORDS, _LOWEST))
        fits = b.icmp_unsigned("<=", above, all_of(_WORDS, _HIGHEST - _LOWEST))
        none = b.icmp_signed("<=", top, all_of(_WORDS, -4000))
        good = _is_every(code, b.or_(fits, none))
        quick, end = (code.function.append_basic_block() for _ in range(2))
        b.cbranch(good, quick, end)
        b.position_at_end(quick)
        top = code.largest(top, all_of(_WORDS, _LOWEST))
        scale = _power(code, b.sub(all_of(_WORDS, _KEPT), top))
        first = b.fptosi(b.fmul(start, scale), _WORDS)
        if is_wide:
            _quick_words(code, panel, place, first, scale, top, halves, end)
        _store(code, place, _cut_doubles(code, _total(code, panel, first, scale), halves), top,
               halves)  # fmt: skip
        b.branch(end)
        b.position_at_end(end)
        return good

    _panels(code, emit)


def _quick_words(code: Code, panel: Any, place: Any, first: Any, scale: Any, top: Any,
                 halves: bool, end: Any) -> None:  # fmt: skip
    """Leaves for `end` if words hold the sums."""
    b = code.b
    total, beyond = _word_total(code, panel, first, scale)
    fits = _is_every(code, b.icmp_signed(">=", beyond, all_of(_WORDS, 0)))
    short, long = (code.function.append_basic_block() for _ in range(2))
    b.cbranch(fits, short, long)
    b.position_at_end(short)
    _store(code, place, _cut_words(code, total, halves), top, halves)
    b.branch(end)
    b.position_at_end(long)


def _wholes(code: Code, is_wide: bool) -> None:
    """Sums of whole numbers are exact in single precision without D's old ones."""
    b, given = code.b, code.given

    def emit(index: Any, panel: Any, place: Any) -> Any:
        def round_(k: Any, values: list[Any]) -> list[Any]:
            total = values[0]
            for i in range(_TOGETHER):
                mine, theirs = _operands(code, panel, b.add(k, _I64(i)))
                total = code.call("llvm.fmuladd.v16f32", mine, theirs, total)
            return [total]

        total = code.loop(given["depth"], _TOGETHER, [all_of(_SINGLES, 0.0)], round_)[0]
        whole = b.fptosi(total, _WORDS)
        counts = b.icmp_signed("!=", given["adds"], _I64(0))
        old = code.load(place, _I64(0), _WORDS, 4)
        old = b.select(counts, old, all_of(_WORDS, 0))
        saturates = b.icmp_signed("!=", given["saturates"], _I64(0))
        bounded = code.call("llvm.sadd.sat.v16i32", old, whole)
        words = b.select(saturates, bounded, b.add(old, whole))
        b.store(words, code.at(place, _I64(0), _WORDS, 4), align=4)
        return ir.Constant(ir.IntType(1), 1)

    _panels(code, emit)


def either(emit: Callable[..., None], arguments: tuple[str, ...]) -> Callable[[Any, str], Any]:
    """What makes a function that calls the one for this processor, as its last argument says."""

    def make(module: Any, name: str) -> Any:
        code = Code(module, name, arguments)
        functions = []
        for suffix in (".512", ".256"):
            one = Code(module, name + suffix, arguments)
            is_wide = suffix == ".512" and host_features().is_x86
            if is_wide:
                one.widen()
            emit(one, is_wide=is_wide)
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


def _of_row(name: str, emit: Callable[..., None]) -> Callable[..., Any]:
    """A function of the addresses and numbers named in `_ARGUMENTS`, `wide` of them: the processor
    has AVX-512. It gives how many panels are done: of the next numbers are not ordinary."""

    def row(typing_context: Any, *arguments: Any) -> Any:
        signature = types.int64(*(types.int64,) * len(_ARGUMENTS))
        return signature, called(name, either(emit, _ARGUMENTS))

    return intrinsic(row)


singles_of_row = _of_row("row.singles", partial(_floats, halves=False))
halves_of_row = _of_row("row.halves", partial(_floats, halves=True))  # each in a word
wholes_of_row = _of_row("row.wholes", _wholes)
