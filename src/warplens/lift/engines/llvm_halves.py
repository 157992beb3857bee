"""Both halves of words by AVX-512 of single precision, for processors without half precision.

Halves are taken as they stand in memory, 16 at a time: nothing need be taken apart into low and
high ones. Sums and products of halves are rounded twice without harm. What a fused product gives is
rounded to odd first: it lies between its values rounded down and up, of which one is odd.
"""

from __future__ import annotations

from warplens.lift.engines.llvm_text import LlvmText

_AT_ONCE = 16
_SINGLES, _HALVES = f"<{_AT_ONCE} x float>", f"<{_AT_ONCE} x half>"
_BITS = f"<{_AT_ONCE} x i32>"
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


def _fused(x: LlvmText, operands: list[str]) -> str:
    """a * b + c rounded to odd: as rounded to zero, its last bit set unless it is exact."""
    down, up, cut = (
        x.raw(
            f"bitcast {_SINGLES} "
            + x.call_raw("llvm.x86.avx512.vfmadd.ps.512", _SINGLES, *operands, f"i32 {rounding}")
            + f" to {_BITS}"
        )
        for rounding in (_DOWN, _UP, _TO_ZERO)
    )
    differ = x.raw(f"xor {_BITS} {down}, {up}")
    last = x.raw(f"and {_BITS} {differ}, splat (i32 1)")
    return x.raw(f"bitcast {_BITS} {x.raw(f'or {_BITS} {cut}, {last}')} to {_SINGLES}")


def by_singles(x: LlvmText, op: str, words: list[str]) -> tuple[str, str]:
    """fadd, fmul or fma of words, typed; the halves' bits, NaNs as they come, and which are NaN."""
    n = 2 * x.width
    kind = f"<{n} x half>"
    whole = [x.raw(f"bitcast {word} to {kind}") for word in words]
    patterns, nans = [], []
    for first in range(0, n, _AT_ONCE):
        operands = []
        for one in whole:
            part = x.raw(f"shufflevector {kind} {one}, {kind} poison, {_lanes(first, _AT_ONCE)}")
            operands.append(f"{_SINGLES} " + x.raw(f"fpext {_HALVES} {part} to {_SINGLES}"))
        if op == "fma":
            result = _fused(x, operands)
        else:
            a, b = operands
            result = x.raw(f"{op} {a}, {b.removeprefix(_SINGLES)}")
        nans.append(x.raw(f"fcmp uno {_SINGLES} {result}, {result}"))
        half = x.raw(f"fptrunc {_SINGLES} {result} to {_HALVES}")
        patterns.append(x.raw(f"bitcast {_HALVES} {half} to <{_AT_ONCE} x i16>"))
    return _joined(x, "i16", patterns), _joined(x, "i1", nans)
