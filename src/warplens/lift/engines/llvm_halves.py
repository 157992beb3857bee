"""Both halves of words by AVX-512 of single precision, for processors without half precision.

Halves are taken as they stand in memory, 16 at a time: nothing need be taken apart into low and
high ones. Lone sums and products are done in single precision; rounding twice does no harm there.

Fused products, and what goes on with them, are computed 2**-112 times as large. All halves, also
denormal ones, are then singles whose last 13 bits are 0, and what has more bits is rounded by
adding half a place to it, cut to a single, and cutting 13 bits: no conversion lies between two such
operations. That is wrong only where it was exactly half a place behind an even one. If it is so in
some lane (of random numbers one in 16,000 is) two more products tell whether the single was exact.
"""

from __future__ import annotations

from functools import partial, reduce

from warplens.lift.engines.llvm_text import LlvmText

_AT_ONCE = 16
_SINGLES, _HALVES = f"<{_AT_ONCE} x float>", f"<{_AT_ONCE} x half>"
_BITS, _PATTERNS = f"<{_AT_ONCE} x i32>", f"<{_AT_ONCE} x i16>"
_FLAGS = f"<{_AT_ONCE} x i1>"
_DOWN, _UP, _TO_ZERO = 9, 10, 11  # immediates of AVX-512, without exceptions
_NAN = 0x7FFF
_TOGETHER = 2  # vectors that are rounded again if one must be
# Of singles that are 2**-112 times as large as halves:
_SIGN, _INFINITY, _TOO_LARGE = 0x80000000, 0x7F800000, 0x0F800000
_HALF_A_PLACE, _CUT = 0x1000, 0x1FFF
_MINUS_ZERO = f"{_SINGLES} bitcast ({_BITS} splat (i32 {_SIGN}) to {_SINGLES})"
# With this added, exactly half a place behind an even one has 14 zeros at its end, and what may be
# rounded beyond a half's range, but not infinity or NaN, the bit below.
_PROBE, _IS_BEYOND = 0x00803000, 0x10000000


def _lanes(first: int, n: int) -> str:
    return f"<{n} x i32> <" + ", ".join(f"i32 {i}" for i in range(first, first + n)) + ">"


def _joined(x: LlvmText, element: str, pieces: list[str]) -> str:
    n = _AT_ONCE
    while len(pieces) > 1:
        kind = f"<{n} x {element}>"
        pieces = [
            x.raw(f"shufflevector {kind} {a}, {kind} {b}, {_lanes(0, 2 * n)}")
            for a, b in zip(pieces[::2], pieces[1::2], strict=True)
        ]
        n *= 2
    return pieces[0]


def _directed(x: LlvmText, operands: list[str], rounding: int) -> str:
    """a * b + c rounded down, up or to zero, typed."""
    function = "llvm.x86.avx512.vfmadd.ps.512"
    return f"{_SINGLES} " + x.call_raw(function, _SINGLES, *operands, f"i32 {rounding}")


def _bits(x: LlvmText, single: str) -> str:
    return x.raw(f"bitcast {single} to {_BITS}")


def _single(x: LlvmText, bits: str) -> str:
    return f"{_SINGLES} " + x.raw(f"bitcast {_BITS} {bits} to {_SINGLES}")


def _integer(x: LlvmText, op: str, a: str, b: str | int) -> str:
    """An operation on singles' bits; `b` may be a number."""
    return x.raw(f"{op} {_BITS} {a}, {b if isinstance(b, str) else f'splat (i32 {b})'}")


def _scaled(x: LlvmText, single: str, exponent: int) -> str:
    """Times a power of two, exactly."""
    factor = f"bitcast ({_BITS} splat (i32 {127 + exponent << 23}) to {_SINGLES})"
    return f"{_SINGLES} " + x.raw(f"fmul {single}, {factor}")


def _halves(x: LlvmText, single: str) -> str:
    """The bits of the nearest halves."""
    half = x.raw(f"fptrunc {single} to {_HALVES}")
    return x.raw(f"bitcast {_HALVES} {half} to {_PATTERNS}")


def _to_even(x: LlvmText, cut: str, raised: str, is_more: str = "") -> str:
    """Rounded to nearest; exactly half a place to even unless more was cut off (last bit set)."""
    stays = _integer(x, "lshr", cut, 13)
    stays = _integer(x, "or", stays, is_more) if is_more else stays
    less = _integer(x, "and", _integer(x, "xor", stays, -1), 1)
    return _single(x, _integer(x, "and", _integer(x, "sub", raised, less), ~_CUT))


def _nearest(x: LlvmText, products: list[tuple[list[str], str, str]]) -> list[str]:
    """a * b + c rounded to nearest, given each with it cut, and that raised by half a place."""
    found = []
    for operands, cut, raised in products:
        down, up = (_bits(x, _directed(x, operands, to)) for to in (_DOWN, _UP))
        found.append(_to_even(x, cut, raised, _integer(x, "xor", down, up)))
    return found


def _infinite(x: LlvmText, rounded: str) -> str:
    """Infinity for what is beyond a half's range."""
    bits = _bits(x, rounded)
    magnitude = _single(x, _integer(x, "and", bits, _SIGN - 1))
    limit = f"bitcast ({_BITS} splat (i32 {_TOO_LARGE}) to {_SINGLES})"
    is_over = x.raw(f"fcmp oge {magnitude}, {limit}")
    infinite = _integer(x, "or", _integer(x, "and", bits, _SIGN), _INFINITY)
    kinds = f"{_FLAGS} {is_over}, {_BITS} {infinite}, {_BITS} {bits}"
    return _single(x, x.raw(f"select {kinds}"))


def _beyond(x: LlvmText, probes: list[str]) -> str:
    """In which lanes some vector may be rounded beyond a half's range."""
    every = _integer(x, "and", reduce(partial(_integer, x, "or"), probes), _IS_BEYOND)
    return x.raw(f"icmp ne {_BITS} {every}, zeroinitializer")


def _some_halfway(x: LlvmText, probes: list[str]) -> str:
    """Whether exactly half a place is behind an even one in some lane."""
    unlike = ""
    for one in probes:
        last = _integer(x, "and", one, 2 * _CUT + 1)
        is_other = x.raw(f"icmp ne {_BITS} {last}, zeroinitializer")
        unlike = x.raw(f"and {_FLAGS} {unlike}, {is_other}") if unlike else is_other
    whole = x.raw(f"bitcast {_FLAGS} {unlike} to i{_AT_ONCE}")
    return x.raw(f"icmp ne i{_AT_ONCE} {whole}, -1")


def _finished(x: LlvmText, rounded: list[str], beyond: str) -> list[str]:
    """With infinity for what is beyond a half's range."""
    whole = x.raw(f"bitcast {_FLAGS} {beyond} to i{_AT_ONCE}")
    return x.branch_rarely(
        x.raw(f"icmp ne i{_AT_ONCE} {whole}, 0"),
        rounded,
        lambda: [_infinite(x, one) for one in rounded],
    )


def _fused(x: LlvmText, a: str, b: str, c: str | None) -> list[str]:
    """a * b + c, or a * b, as singles that are 2**-112 times halves, typed."""
    small, plain = sorted((b, a), key=lambda word: (word not in x.small, "%" in word))
    terms = _small(x, c) if c else [_MINUS_ZERO] * (2 * x.width // _AT_ONCE)
    factors = zip(_small(x, small), _plain(x, plain), terms, strict=True)
    every = [list(operands) for operands in factors]
    cut = [_bits(x, _directed(x, operands, _TO_ZERO)) for operands in every]
    raised = [_integer(x, "add", one, _HALF_A_PLACE) for one in cut]
    rounded = [_single(x, _integer(x, "and", one, ~_CUT)) for one in raised]
    probes = [_integer(x, "add", one, _PROBE) for one in cut]

    products = list(zip(every, cut, raised, strict=True))
    beyond, found = _beyond(x, probes), []
    for i in range(0, len(products), _TOGETHER):
        at = slice(i, i + _TOGETHER)
        some, nearest = _some_halfway(x, probes[at]), partial(_nearest, x, products[at])
        found += x.branch_rarely(some, rounded[at], nearest)
    return _finished(x, found, beyond)


def _added(x: LlvmText, a: str, b: str) -> list[str]:
    """a + b in the same form; rounding to a single first does no harm."""
    both = zip(_small(x, a), _small(x, b), strict=True)
    sums = [_bits(x, _operation(x, "fadd", p, q)) for p, q in both]
    rounded = [_to_even(x, one, _integer(x, "add", one, _HALF_A_PLACE)) for one in sums]
    return _finished(x, rounded, _beyond(x, [_integer(x, "add", one, _PROBE) for one in sums]))


def _operation(x: LlvmText, op: str, a: str, b: str) -> str:
    return f"{_SINGLES} " + x.raw(f"{op} {a}, {b.removeprefix(_SINGLES)}")


def _plain(x: LlvmText, word: str) -> list[str]:
    """The halves of a word in single precision, typed."""
    if word in x.small:
        return [_scaled(x, one, 112) for one in x.small[word]]
    kind = f"<{2 * x.width} x half>"
    whole = x.raw(f"bitcast {word} to {kind}")
    pieces = []
    for first in range(0, 2 * x.width, _AT_ONCE):
        part = x.raw(f"shufflevector {kind} {whole}, {kind} poison, {_lanes(first, _AT_ONCE)}")
        pieces.append(f"{_SINGLES} " + x.raw(f"fpext {_HALVES} {part} to {_SINGLES}"))
    return pieces


def _small(x: LlvmText, word: str) -> list[str]:
    """The halves of a word as singles that are 2**-112 times as large, typed."""
    return x.small.get(word) or [_scaled(x, one, -112) for one in _plain(x, word)]


def _packed(x: LlvmText, small: str) -> str:
    """The bits of halves from singles that are 2**-112 times as large."""
    bits = _bits(x, small)
    magnitude = _integer(x, "and", _integer(x, "lshr", bits, 13), 0x7FFF)
    sign = _integer(x, "and", _integer(x, "lshr", bits, 16), 0x8000)
    both = _integer(x, "or", magnitude, sign)
    return x.raw(f"trunc {_BITS} {both} to {_PATTERNS}")


def by_singles(x: LlvmText, op: str, words: list[str]) -> tuple[str, str]:
    """fadd, fmul or fma of words, typed; the halves' bits, NaNs as they come and canonical."""
    is_small = op == "fma" or any(word in x.small for word in words)
    if is_small:
        a, b, *more = words
        results = _added(x, a, b) if op == "fadd" else _fused(x, a, b, more[0] if more else None)
        pieces = [_packed(x, one) for one in results]
    else:
        both = zip(_plain(x, words[0]), _plain(x, words[1]), strict=True)
        results = [_operation(x, op, a, b) for a, b in both]
        pieces = [_halves(x, one) for one in results]
    kept = []
    for one, piece in zip(results, pieces, strict=True):
        is_nan = x.raw(f"fcmp uno {one}, {one.removeprefix(_SINGLES)}")
        nan = f"{_PATTERNS} splat (i16 {_NAN})"
        kept.append(x.raw(f"select {_FLAGS} {is_nan}, {nan}, {_PATTERNS} {piece}"))
    patterns = _joined(x, "i16", pieces)
    if is_small:
        x.small[f"<{2 * x.width} x i16> {patterns}"] = results
    return patterns, _joined(x, "i16", kept)


def taken(x: LlvmText, small: list[str], how: str) -> list[str]:
    """Of singles in pairs, the "low" or "high" ones twice, or all "negated" or "absolute"."""
    found = []
    for one in small:
        if how in ("low", "high"):
            odd = how == "high"
            order = ", ".join(f"i32 {i - i % 2 + odd}" for i in range(_AT_ONCE))
            mask = f"<{_AT_ONCE} x i32> <{order}>"
            found.append(f"{_SINGLES} " + x.raw(f"shufflevector {one}, {_SINGLES} poison, {mask}"))
        else:
            op, mask_bits = ("xor", _SIGN) if how == "negated" else ("and", _SIGN - 1)
            found.append(_single(x, _integer(x, op, _bits(x, one), mask_bits)))
    return found
