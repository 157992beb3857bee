"""B's panels out of rows, factors of blocks of k, and the largest exponent, in vectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir

from warplens.compiled import intrinsic, types
from warplens.execute.tensor_memory.decode import exponents_of_singles
from warplens.execute.tensor_memory.vectors import WIDTH, Code, all_of, called, either

_I16, _I32, _I64, _BIT = (ir.IntType(n) for n in (16, 32, 64, 1))
_SHORTS, _WORDS, _FLAGS = (ir.VectorType(kind, WIDTH) for kind in (_I16, _I32, _BIT))
_SINGLES, _EIGHT = (ir.VectorType(ir.FloatType(), n) for n in (WIDTH, 8))
_HALF = WIDTH // 2
_ORDINARY, _NOTHING = 100, -3000  # exponents, after scaling, that singles hold for certain; zeros'


def _turned(code: Code, rows: list[Any]) -> list[Any]:
    """Eight vectors of eight by eight numbers, twice beside each other: rows become columns."""

    def zipped(a: Any, b: Any, size: int) -> list[Any]:
        """Runs of `size` numbers of both in turn, the first half and the second."""
        found = []
        for first in (0, 4):
            order: list[int] = []
            for half in (0, _HALF):
                for run in range(half + first, half + first + 4, size):
                    order += [*range(run, run + size), *range(WIDTH + run, WIDTH + run + size)]
            found.append(code.b.shuffle_vector(a, b, ir.Constant(_WORDS, order)))
        return found

    pairs = [zipped(rows[i], rows[i + 1], 1) for i in range(0, 8, 2)]
    fours = [[zipped(pairs[i][h], pairs[i + 1][h], 2) for h in (0, 1)] for i in (0, 2)]
    return [
        column
        for h in (0, 1)
        for q in (0, 1)
        for column in zipped(fours[0][h][q], fours[1][h][q], 4)
    ]


def _fill(code: Code, is_wide: bool) -> None:
    """Sixteen rows become a panel, and get exponents."""
    b, given = code.b, code.given
    least = code.spread(b.trunc(given["least"], _I32), _WORDS)
    both = ir.Constant(_WORDS, list(range(WIDTH)))

    def round_(k: Any, values: list[Any]) -> list[Any]:
        rows = []
        for n in range(8):
            halves = [
                code.load(given["rows"], b.add(b.mul(given["depth"], _I64(m)), k), _EIGHT, 4)
                for m in (n, n + _HALF)
            ]
            rows.append(b.shuffle_vector(*halves, both))
        for i, numbers in enumerate(_turned(code, rows)):
            here, exponents = b.add(k, _I64(i)), exponents_of_singles(code, least, numbers)
            b.store(numbers, code.at(given["numbers"], here, _SINGLES, 4 * WIDTH), align=4)
            b.store(exponents, code.at(given["exponents"], here, _SHORTS, 2 * WIDTH), align=2)
        return values

    code.loop(given["depth"], 8, [], round_)
    b.ret(_I64(0))


def _scale(code: Code, is_wide: bool, is_b: bool) -> None:
    """Multiplies sixteen numbers after the other: of a row by one factor, of a panel each column by
    its own. Gives 1 if singles hold them all."""
    b, given = code.b, code.given
    if is_b:
        factor = code.load(given["factor"], _I64(0), _SINGLES, 4)
        more = b.trunc(code.load(given["more"], _I64(0), _WORDS, 4), _SHORTS)
    else:
        bits = code.spread(b.trunc(given["factor"], _I32), _WORDS)
        factor = b.bitcast(bits, _SINGLES)
        more = code.spread(b.trunc(given["more"], _I16), _SHORTS)

    def round_(n: Any, values: list[Any]) -> list[Any]:
        place = code.at(given["numbers"], n, _SINGLES, 4 * WIDTH)
        b.store(b.fmul(b.load(place, align=4), factor), place, align=4)
        place = code.at(given["exponents"], n, _SHORTS, 2 * WIDTH)
        exponent = code.call("llvm.sadd.sat.v16i16", b.load(place, align=2), more)
        b.store(exponent, place, align=2)
        above = b.icmp_signed(">", exponent, all_of(_SHORTS, _ORDINARY))
        below = b.icmp_signed("<", exponent, all_of(_SHORTS, -_ORDINARY))
        there = b.icmp_signed(">", exponent, all_of(_SHORTS, _NOTHING))
        bad = b.sext(b.or_(above, b.and_(below, there)), _SHORTS)
        return [b.or_(values[0], bad)]

    bad = code.loop(given["count"], 1, [all_of(_SHORTS, 0)], round_)[0]
    some = b.bitcast(b.icmp_signed("!=", bad, all_of(_SHORTS, 0)), ir.IntType(WIDTH))
    b.ret(b.zext(b.icmp_signed("==", some, ir.Constant(some.type, 0)), _I64))


def _largest(code: Code, is_wide: bool) -> None:
    """The largest of exponents, of which there are `count` times sixteen."""
    b, given = code.b, code.given

    def round_(n: Any, values: list[Any]) -> list[Any]:
        some = code.load(given["exponents"], n, _SHORTS, 2 * WIDTH)
        return [code.largest(values[0], some)]

    most = code.loop(given["count"], 1, [all_of(_SHORTS, -(1 << 15))], round_)[0]
    order = list(range(WIDTH))
    for half in (8, 4, 2, 1):
        turned = ir.Constant(_WORDS, [n ^ half for n in order])
        most = code.largest(most, b.shuffle_vector(most, most, turned))
    b.ret(b.sext(b.extract_element(most, _I32(0)), _I64))


def _of(name: str, emit: Callable[..., None], *arguments: str) -> Callable[..., Any]:
    """A function of these addresses and numbers, and of whether the processor has AVX-512."""
    every = (*arguments, "wide")

    def function(typing_context: Any, *given: Any) -> Any:
        signature = types.int64(*(types.int64,) * len(every))
        return signature, called(name, either(emit, every))

    return intrinsic(function)


fill_panel = _of("panel.fill", _fill, "rows", "numbers", "exponents", "depth", "least")
_SCALE = ("numbers", "exponents", "count", "factor", "more")
scale_row = _of("row.scale", partial(_scale, is_b=False), *_SCALE)
scale_panel = _of("panel.scale", partial(_scale, is_b=True), *_SCALE)
largest_exponent = _of("largest.exponent", _largest, "exponents", "count")
