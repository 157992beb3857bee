"""Both halves of words by AVX-512 of single precision, for processors without half precision.

Halves are taken as they stand in memory, 16 at a time: nothing need be taken apart into low and
high ones. Sums and products of halves are rounded twice without harm. A fused product lies between
its values rounded down and up: where both give the same half, that is it. Where they do not, in one
of a thousand words of ordinary numbers, it is rounded to odd first, which is one of the two.
"""

from __future__ import annotations

from warplens.lift.engines.llvm_text import LlvmText

_AT_ONCE = 16
_SINGLES, _HALVES = f"<{_AT_ONCE} x float>", f"<{_AT_ONCE} x half>"
_BITS, _PATTERNS = f"<{_AT_ONCE} x i32>", f"<{_AT_ONCE} x i16>"
_DOWN, _UP, _TO_ZERO = 9, 10, 11  # immediates of AVX-512, without exceptions


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


def _to_odd(x: LlvmText, down: str, up: str, operands: list[str]) -> str:
    """a * b + c rounded to odd: as rounded to zero, its last bit set unless it is exact."""
    bounds = [x.raw(f"bitcast {one} to {_BITS}") for one in (down, up)]
    cut = x.raw(f"bitcast {_directed(x, operands, _TO_ZERO)} to {_BITS}")
    differ = x.raw(f"xor {_BITS} {bounds[0]}, {bounds[1]}")
    last = x.raw(f"and {_BITS} {differ}, splat (i32 1)")
    return f"{_SINGLES} " + x.raw(
        f"bitcast {_BITS} {x.raw(f'or {_BITS} {cut}, {last}')} to {_SINGLES}"
    )


def _halves(x: LlvmText, single: str) -> str:
    """The bits of the nearest halves, typed."""
    half = x.raw(f"fptrunc {single} to {_HALVES}")
    return f"{_PATTERNS} " + x.raw(f"bitcast {_HALVES} {half} to {_PATTERNS}")


def _fused(x: LlvmText, words: list[list[str]]) -> tuple[list[str], list[str]]:
    """a * b + c of singles; the halves' bits and singles that are NaN where they are, typed."""
    every = [list(operands) for operands in zip(*words, strict=True)]
    down = [_directed(x, operands, _DOWN) for operands in every]
    up = [_directed(x, operands, _UP) for operands in every]
    usual = [_halves(x, one) for one in down]
    unlike = ""
    for one, other in zip(usual, up, strict=True):
        differ = x.raw(f"xor {one}, {_halves(x, other).removeprefix(_PATTERNS)}")
        unlike = x.raw(f"or {_PATTERNS} {unlike}, {differ}") if unlike else differ
    bits = 16 * _AT_ONCE
    some = x.raw(f"icmp ne i{bits} {x.raw(f'bitcast {_PATTERNS} {unlike} to i{bits}')}, 0")

    def exactly() -> list[str]:
        odd = [_to_odd(x, *bounds) for bounds in zip(down, up, every, strict=True)]
        return [_halves(x, one) for one in odd]

    return x.branch_rarely(some, usual, exactly), down


def by_singles(x: LlvmText, op: str, words: list[str]) -> tuple[str, str]:
    """fadd, fmul or fma of words, typed; the halves' bits, NaNs as they come, and which are NaN."""
    kind = f"<{2 * x.width} x half>"
    singles: list[list[str]] = []
    for word in words:
        whole = x.raw(f"bitcast {word} to {kind}")
        pieces = []
        for first in range(0, 2 * x.width, _AT_ONCE):
            part = x.raw(f"shufflevector {kind} {whole}, {kind} poison, {_lanes(first, _AT_ONCE)}")
            pieces.append(f"{_SINGLES} " + x.raw(f"fpext {_HALVES} {part} to {_SINGLES}"))
        singles.append(pieces)
    if op == "fma":
        patterns, results = _fused(x, singles)
    else:
        results = [
            f"{_SINGLES} " + x.raw(f"{op} {a}, {b.removeprefix(_SINGLES)}")
            for a, b in zip(*singles, strict=True)
        ]
        patterns = [_halves(x, one) for one in results]
    nans = [x.raw(f"fcmp uno {one}, {one.removeprefix(_SINGLES)}") for one in results]
    pieces = [one.removeprefix(_PATTERNS) for one in patterns]
    return _joined(x, "i16", pieces), _joined(x, "i1", nans)
