"""What the native checks do to all 32 lanes of a warp at once, in vectors of 32-bit words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from warplens.compiled import intrinsic, types

_I1, _I32, _I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
_ROW = ir.VectorType(_I32, 32)
_LANES = ir.Constant(_ROW, list(range(32)))
_READ, _CODES = 1 << 10, 12  # of intervals.py's entries


def _load(b: Any, address: Any) -> Any:
    return b.load(b.inttoptr(address, _ROW.as_pointer()), align=4)


def _store(b: Any, row: Any, address: Any) -> None:
    b.store(row, b.inttoptr(address, _ROW.as_pointer()), align=4)


def _splat(b: Any, word: Any) -> Any:
    """A 32-bit word in all lanes."""
    first = b.insert_element(ir.Constant(_ROW, ir.Undefined), word, ir.Constant(_I32, 0))
    zeros = ir.Constant(_ROW, [0] * 32)
    return b.shuffle_vector(first, ir.Constant(_ROW, ir.Undefined), zeros)


def _number(b: Any, value: int) -> Any:
    return ir.Constant(_ROW, [value] * 32)


def _mask(b: Any, truths: Any) -> Any:
    """The lanes for which something holds, as an int64."""
    return b.zext(b.bitcast(truths, _I32), _I64)


@intrinsic
def _add_lanes(typing_context: Any, target: Any, source: Any, by: Any) -> Any:
    """Stores the lanes of a row, each raised by the same number, as another row."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        by = _splat(builder, builder.trunc(args[2], _I32))
        _store(builder, builder.add(_load(builder, args[1]), by), args[0])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic
def _lanes_between(typing_context: Any, row: Any, first: Any, span: Any, low: Any) -> Any:
    """The lanes of [first, first + span] none of whose bits of `low` are set."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = [_splat(builder, builder.trunc(word, _I32)) for word in args[1:]]
        row = _load(builder, args[0])
        near = builder.icmp_unsigned("<=", builder.sub(row, words[0]), words[1])
        even = builder.icmp_signed("==", builder.and_(row, words[2]), _number(builder, 0))
        return _mask(builder, builder.and_(near, even))

    return types.int64(types.int64, types.int64, types.int64, types.int64), codegen


@intrinsic
def _rises_by(typing_context: Any, row: Any, step: Any) -> Any:
    """The lanes that are as far above the first as a row of elements of a size puts them."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _load(builder, args[0])
        first = _splat(builder, builder.extract_element(row, ir.Constant(_I32, 0)))
        step = _splat(builder, builder.trunc(args[1], _I32))
        wanted = builder.add(first, builder.mul(step, _LANES))
        return _mask(builder, builder.icmp_signed("==", row, wanted))

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def _repeats(typing_context: Any, row: Any) -> Any:
    """The lanes that hold what the lane before, or eight before, holds."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row, found = _load(builder, args[0]), ir.Constant(_I64, 0)
        for distance in (1, 8):
            before = _load(builder, builder.sub(args[0], ir.Constant(_I64, 4 * distance)))
            same = _mask(builder, builder.icmp_signed("==", row, before))
            in_row = ir.Constant(_I64, -1 << distance)
            found = builder.or_(found, builder.and_(same, in_row))
        return found

    return types.int64(types.int64), codegen


def _own_or_old(b: Any, entries: Any, own: Any) -> tuple[Any, Any]:
    """Which entries are of an older interval, and which are those or the lane's own."""
    shift = _number(b, _CODES)
    old = b.icmp_signed("!=", b.lshr(entries, shift), b.lshr(own, shift))
    same = b.icmp_signed("==", b.and_(entries, _number(b, ~_READ)), own)
    return old, b.or_(old, same)


@intrinsic
def _write_row(typing_context: Any, entries: Any, own: Any) -> Any:
    """Makes entries in a row those of their lanes' writes; returns the lanes that may."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        own = builder.add(_splat(builder, builder.trunc(args[1], _I32)), _LANES)
        entries = _load(builder, args[0])
        _, free = _own_or_old(builder, entries, own)
        _store(builder, builder.select(free, own, entries), args[0])
        return _mask(builder, free)

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def _read_row(typing_context: Any, entries: Any, own: Any) -> Any:
    """The same for reads, which leave the lanes' own writes as they are."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        own = builder.add(_splat(builder, builder.trunc(args[1], _I32)), _LANES)
        entries = _load(builder, args[0])
        old, free = _own_or_old(builder, entries, own)
        read = builder.or_(own, _number(builder, _READ))
        _store(builder, builder.select(old, read, entries), args[0])
        return _mask(builder, free)

    return types.int64(types.int64, types.int64), codegen


# The same with the types that their callers see.
add_lanes: Callable[[int, int, int], None] = _add_lanes
lanes_between: Callable[[int, int, int, int], int] = _lanes_between
repeats: Callable[[int], int] = _repeats
rises_by: Callable[[int, int], int] = _rises_by
write_row: Callable[[int, int], int] = _write_row
read_row: Callable[[int, int], int] = _read_row
