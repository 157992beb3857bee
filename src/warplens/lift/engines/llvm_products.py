"""A tensor core's sums of products of halves by AVX-512, eight products at a time in doubles.

A product is to be cut towards zero to whole units, which differ from sum to sum. Added to a number
whose last bit is a unit it is cut by the addition itself, rounded down: one fused product does all.
Rounded down, a negative product is cut away from zero. So B's numbers are first enlarged by less
than any two products differ: then every negative product, whole or not, comes out exactly one unit
too low, and how many there are follows from signs alone. Zeros become tiny positive numbers.

Where no number is negative none is counted, and where all of C are beyond any product their
exponents are known to be the largest.
"""

from __future__ import annotations

from functools import partial

from warplens.lift.engines.llvm_core import LlvmCore
from warplens.lift.engines.llvm_text import Value

_WORD, _HALVES, _COUNTS = "<32 x i32>", "<64 x i16>", "<32 x i16>"
_SINGLES, _DOUBLES, _PAIRS = "<16 x float>", "<8 x double>", "<16 x i32>"
_DOWN = 9  # immediate of AVX-512, without exceptions
_ENLARGED = 0x3FF0000000400000  # 1 + 2**-30, a double: products have 22 bits, sums 31
_TINY = 0x3810000000000000  # 2**-126, a double
_MORE = 33  # on B's exponents: a sum of two has the bias of single precision then
_LEAST_SUM = 33 + 33 + _MORE
_SPECIAL = 63  # exponent of an infinity or NaN
# Upper words of doubles whose last bit is a unit, in the middle of those with their exponent.
_MIDDLE = (1023 - 127 + 52 - 25 << 20) + (1 << 19)
_RESULTS = ["p", *["u32"] * 8]


def _shuffled(x: LlvmCore, kind: str, a: str, b: str, order: list[int]) -> str:
    numbers = ", ".join(f"i32 {n}" for n in order)
    return x.raw(f"shufflevector {kind} {a}, {kind} {b}, <{len(order)} x i32> <{numbers}>")


def _halves(x: LlvmCore, word: Value) -> str:
    return x.raw(f"bitcast {_WORD} {word.ref} to {_HALVES}")


def _typed(x: LlvmCore, values: list[Value]) -> list[str]:
    return [f"{x.types[value.type]} {value.ref}" for value in values]


# ---------------------------------------------------------------------------------- exponents


def _exponents(x: LlvmCore, words: list[Value], more: int) -> Value:
    """Bytes with the exponents of a lane's numbers, from 33 (and `more`) on; 1 for zeros."""
    fields = []
    for n, word in enumerate(words):
        size = x.and_(word, x.u32(0x7FFF7FFF))
        is_there = x.and_(x.add(size, x.u32(0x7FFF7FFF)), x.u32(0x80008000))
        halves = _halves(x, x.or_(is_there, size))
        field = x.raw(f"lshr {_HALVES} {halves}, splat (i16 {10 - 8 * n})")
        fields.append(x.emit("u32", f"bitcast {_HALVES} {field} to {_WORD}"))
    packed = fields[0]
    if len(fields) > 1:
        low, high = x.u32(0x00FF00FF), x.u32(0xFF00FF00)
        packed = x.or_(x.and_(fields[1], high), x.and_(packed, low))
    of_denormals = x.or_(x.and_(packed, x.u32(0x20202020)), x.u32(0x01010101))
    return x.add(x.umax_parts(packed, of_denormals, 8), x.u32(more * 0x01010101))


def _top(x: LlvmCore, a: list[Value], b: list[Value], least: Value) -> Value:
    """The largest exponent of a product; `least` if that is larger or all products are zero."""
    top = x.u32(0)
    for p, q in zip(a, b, strict=True):
        top = x.umax_parts(top, x.add(p, q), 8)
    for bits in (16, 8):
        top = x.umax_parts(top, x.lshr(top, x.u32(bits)), 8)
    top = x.and_(top, x.u32(255))
    return x.select(x.icmp("ult", top, x.u32(_LEAST_SUM)), least, x.umax(top, least))


def _tops(
    x: LlvmCore, rows: list[list[Value]], columns: list[Value], least: list[Value]
) -> list[Value]:
    """Lanes that hold an infinity or NaN, then for each of D's elements the largest exponent."""
    of_rows = [_exponents(x, words, 0) for words in rows]
    of_columns = _exponents(x, columns, _MORE)
    to_sign = (128 - _SPECIAL - _MORE) * 0x01010101
    special = x.and_(x.add(of_columns, x.u32(to_sign)), x.u32(0x80808080))
    for field in of_rows:
        special = x.or_(special, x.and_(x.add(field, x.u32(0x01010101)), x.u32(0x40404040)))

    def lanes(field: Value, first: list[int]) -> list[Value]:
        orders = ([n + j for n in first] for j in range(4))
        return [Value("u32", _shuffled(x, _WORD, field.ref, "poison", one)) for one in orders]

    near = [lanes(field, [n & 28 for n in range(32)]) for field in of_rows]
    far = [lanes(of_columns, [(n & 3) << 3 | odd << 2 for n in range(32)]) for odd in range(2)]
    tops = [_top(x, near[n // 2], far[n % 2], start) for n, start in enumerate(least)]
    return [x.icmp("ne", special, x.u32(0)), *tops]


def _field_of_largest(x: LlvmCore, words: list[Value]) -> str:
    """The exponent's field of the largest of halves that are not negative, an i32."""
    largest = words[0]
    for word in words[1:]:
        largest = x.umax_parts(largest, word, 16)
    name = "llvm.vector.reduce.umax.v64i16"
    found = x.call_raw(name, "i16", f"{_HALVES} {_halves(x, largest)}")
    normal = x.call_raw("llvm.umax.i16", "i16", f"i16 {found}", "i16 1024")  # denormals
    return x.raw(f"zext i16 {x.raw(f'lshr i16 {normal}, 10')} to i32")


def _is_least_larger(
    x: LlvmCore, rows: list[list[Value]], columns: list[Value], least: list[Value]
) -> str:
    """An i1: all numbers are finite, and no product has an exponent above any of `least`."""
    fields = [_field_of_largest(x, words) for words in ([*rows[0], *rows[1]], columns)]
    smallest = least[0]
    for one in least[1:]:
        smallest = x.umin(smallest, one)
    name = "llvm.vector.reduce.umin.v32i32"
    bound = x.call_raw(name, "i32", f"{_WORD} {smallest.ref}")
    total = x.raw(f"add i32 {fields[0]}, {fields[1]}")
    exponent = x.raw(f"add i32 {total}, {127 - 2 * 15}")
    is_below = x.raw(f"icmp ule i32 {exponent}, {bound}")
    for field in fields:
        is_finite = x.raw(f"icmp ult i32 {field}, 31")
        is_below = x.raw(f"and i1 {is_below}, {is_finite}")
    return is_below


# ---------------------------------------------------------------------------------- operands


def _scratch(x: LlvmCore, size: int) -> str:
    return x.raw(f"alloca [{size} x i8], align 64")


def _put(x: LlvmCore, kind: str, value: str, size: int, place: str, offset: int) -> None:
    """32 bytes at a time: of a store of 64 processors of Intel's hand on the lower half only.

    Volatile, or LLVM makes shuffles of what the stores are for.
    """
    whole = f"<{size // 8} x double>"
    doubles = x.raw(f"bitcast {kind} {value} to {whole}")
    for first in range(0, size // 8, 4):
        part = _shuffled(x, whole, doubles, "poison", list(range(first, first + 4)))
        to = x.raw(f"getelementptr i8, ptr {place}, i64 {offset + 8 * first}")
        x.line(f"store volatile <4 x double> {part}, ptr {to}, align 32")


def _get(x: LlvmCore, kind: str, place: str, offset: int, align: int) -> str:
    at = x.raw(f"getelementptr i8, ptr {place}, i64 {offset}")
    return x.raw(f"load {kind}, ptr {at}, align {align}")


def _put_singles(x: LlvmCore, halves: str, size: int, more: str) -> str:
    """Where the halves at a place are in single precision, all a little `more`."""
    place = _scratch(x, 2 * size)
    for offset in range(0, size, 32):
        some = _get(x, "<16 x half>", halves, offset, 32)
        single = x.raw(f"fpext <16 x half> {some} to {_SINGLES}")
        if more:
            single = x.raw(f"fadd {_SINGLES} {single}, splat (float {more})")
        _put(x, _SINGLES, single, 64, place, 2 * offset)
    return place


def _doubles(x: LlvmCore, singles: str, offset: int) -> str:
    """Eight halves in doubles, by way of singles: straight it takes four times as long."""
    some = _get(x, "<8 x float>", singles, offset, 32)
    return x.raw(f"fpext <8 x float> {some} to {_DOUBLES}")


def _enlarged_columns(x: LlvmCore, columns: list[Value]) -> str:
    """Where B's numbers are, enlarged: of each word, column after column, eight along k."""
    size = 128 * len(columns)
    halves, place = _scratch(x, size), _scratch(x, 4 * size)
    for n, word in enumerate(columns):
        _put(x, _WORD, word.ref, 128, halves, 128 * n)
    singles = _put_singles(x, halves, size, "")
    factor, more = (f"{_DOUBLES} splat (double 0x{n:X})" for n in (_ENLARGED, _TINY))
    for n in range(8 * len(columns)):
        number = f"{_DOUBLES} {_doubles(x, singles, 32 * n)}"
        number = x.call_raw("llvm.fma.v8f64", _DOUBLES, number, factor, more)
        _put(x, _DOUBLES, number, 64, place, 64 * n)
    return place


def _turned_rows(x: LlvmCore, words: list[Value]) -> str:
    """Where A's numbers are in single precision, eight rows of each place along k together."""
    halves = _scratch(x, 128 * len(words))
    for n, word in enumerate(words):
        for pair in range(2):  # the rows' lanes have four pairs of neighbours along k
            order = [4 * row + 2 * pair + k for k in range(2) for row in range(8)]
            some = _shuffled(x, _WORD, word.ref, "poison", order)
            some = x.raw(f"bitcast {_PAIRS} {some} to {_SINGLES}")
            # Both shuffles in one would take three operations.
            some = x.call_raw("llvm.arithmetic.fence.v16f32", _SINGLES, f"{_SINGLES} {some}")
            some = x.raw(f"bitcast {_SINGLES} {some} to {_COUNTS}")
            places = [(k, half, row) for k in range(2) for half in range(2) for row in range(8)]
            order = [16 * k + 2 * row + half for k, half, row in places]
            some = _shuffled(x, _COUNTS, some, "poison", order)
            _put(x, _COUNTS, some, 64, halves, 128 * n + 64 * pair)
    return _put_singles(x, halves, 128 * len(words), f"0x{_TINY:X}")


# ---------------------------------------------------------------------------------- sums


def _uppers(x: LlvmCore, tops: list[Value]) -> list[Value]:
    """Upper words of the numbers to which products are added."""
    return [x.add(x.shl(top, x.u32(20)), x.u32(_MIDDLE)) for top in tops]


def _starts(x: LlvmCore, uppers: list[Value]) -> list[list[str]]:
    """For each of two times eight rows, and for each column, the numbers with these upper words.

    Their lower words are the same once more, which saves an operation each.
    """
    found = []
    for group in (uppers[:2], uppers[2:]):
        columns = []
        for column in range(8):
            order = [4 * row + column // 2 for row in range(8) for _ in range(2)]
            some = _shuffled(x, _WORD, group[column % 2].ref, "poison", order)
            columns.append(x.raw(f"bitcast {_PAIRS} {some} to {_DOUBLES}"))
        found.append(columns)
    return found


def _totals(
    x: LlvmCore, uppers: list[Value], rows: list[str], columns: str, depth: int
) -> list[list[str]]:
    """All products added to `_starts`."""
    totals = _starts(x, uppers)
    for k in range(depth):
        word, place = divmod(k, 8)
        numbers = [_doubles(x, one, 32 * k) for one in rows]
        for column in range(8):
            one = _get(x, "double", columns, 512 * word + 64 * column + 8 * place, 8)
            one = x.raw(f"insertelement {_DOUBLES} poison, double {one}, i64 0")
            every = _shuffled(x, _DOUBLES, one, "poison", [0] * 8)
            for group, number in zip(totals, numbers, strict=True):
                group[column] = x.call_raw(
                    "llvm.x86.avx512.vfmadd.pd.512", _DOUBLES, f"{_DOUBLES} {number}",
                    f"{_DOUBLES} {every}", f"{_DOUBLES} {group[column]}", f"i32 {_DOWN}",
                )  # fmt: skip
    return totals


def _lower_words(x: LlvmCore, totals: list[list[str]]) -> list[Value]:
    """Those of the totals, for each of D's elements."""
    found = []
    for group in totals:
        for odd in range(2):
            four = [x.raw(f"bitcast {_DOUBLES} {one} to {_PAIRS}") for one in group[odd::2]]
            lower = [first + row for first in (0, 16) for row in range(0, 16, 2)]
            two = [_shuffled(x, _PAIRS, four[n], four[n + 1], lower) for n in (0, 2)]
            order = [8 * n + row for row in range(8) for n in range(4)]
            found.append(Value("u32", _shuffled(x, _PAIRS, two[0], two[1], order)))
    return found


def _negatives(x: LlvmCore, rows: list[list[Value]], columns: list[Value]) -> list[Value]:
    """How many products are below zero, where zeros are positive, for each of D's elements."""
    signs = []
    for words in (*rows, columns):
        bits = "zeroinitializer"
        for n, word in enumerate(words):
            some = x.raw(f"icmp ugt {_HALVES} {_halves(x, word)}, splat (i16 {0x8000})")
            some = x.raw(f"bitcast <64 x i1> {some} to i64")
            bits = x.raw(f"insertelement <2 x i64> {bits}, i64 {some}, i64 {n}")
        signs.append(x.raw(f"bitcast <2 x i64> {bits} to <16 x i8>"))

    def spread(bits: str, rows: list[int]) -> str:
        order = [n for row in rows for n in (row, 8 + row)]
        some = _shuffled(x, "<16 x i8>", bits, "poison", order)
        return x.raw(f"bitcast <64 x i8> {some} to {_COUNTS}")

    near = [spread(bits, [n >> 2 for n in range(32)]) for bits in signs[:2]]
    far = [spread(signs[2], [2 * (n & 3) + odd for n in range(32)]) for odd in range(2)]
    found = []
    for n in range(4):
        differ = x.raw(f"xor {_COUNTS} {near[n // 2]}, {far[n % 2]}")
        count = x.call_raw("llvm.ctpop.v32i16", _COUNTS, f"{_COUNTS} {differ}")
        found.append(x.emit("u32", f"zext {_COUNTS} {count} to {_WORD}"))
    return found


# ---------------------------------------------------------------------------------- products


def _sums_of_any(
    x: LlvmCore, rows: list[list[Value]], columns: list[Value], least: list[Value]
) -> list[str]:
    """Special lanes, exponents and sums, typed."""
    (special, *tops), b, *a = x.woven(
        partial(_tops, x, rows, columns, least),
        partial(_enlarged_columns, x, columns),
        *(partial(_turned_rows, x, words) for words in rows),
    )
    uppers = _uppers(x, tops)
    totals, counts = x.woven(
        partial(_totals, x, uppers, a, b, 8 * len(columns)), partial(_negatives, x, rows, columns)
    )
    parts = zip(_lower_words(x, totals), counts, uppers, strict=True)
    return _typed(x, [special, *tops, *(x.sub(x.add(n, more), upper) for n, more, upper in parts)])


def _sums_of_positive(
    x: LlvmCore, rows: list[list[Value]], columns: list[Value], least: list[Value]
) -> list[str]:
    """The same where no number has a sign."""
    is_larger, b, *a = x.woven(
        partial(_is_least_larger, x, rows, columns, least),
        partial(_enlarged_columns, x, columns),
        *(partial(_turned_rows, x, words) for words in rows),
    )
    found = x.either(
        is_larger,
        lambda: _typed(x, [x.false(), *least]),
        lambda: _typed(x, _tops(x, rows, columns, least)),
    )
    special, *tops = x.values_of(_RESULTS[:5], found)
    uppers = _uppers(x, tops)
    totals = _totals(x, uppers, a, b, 8 * len(columns))
    parts = zip(_lower_words(x, totals), uppers, strict=True)
    return _typed(x, [special, *tops, *(x.sub(n, upper) for n, upper in parts)])


def cut_products(
    x: LlvmCore, rows: list[list[Value]], columns: list[Value], least: list[Value]
) -> tuple[Value, list[Value], list[Value]]:
    """See `cut_products` of isa/lanes.py."""
    signs = x.u32(0)
    for word in (*rows[0], *rows[1], *columns):
        signs = x.or_(signs, word)
    has_sign = x.icmp("ne", x.and_(signs, x.u32(0x80008000)), x.u32(0))
    some = x.raw(f"icmp ne i32 {x.raw(f'bitcast <32 x i1> {has_sign.ref} to i32')}, 0")
    found = x.either(
        some,
        partial(_sums_of_any, x, rows, columns, least),
        partial(_sums_of_positive, x, rows, columns, least),
    )
    special, *both = x.values_of(_RESULTS, found)
    return special, both[:4], both[4:]
