"""Bits of numbers and typed memory, for the compiled texture unit."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from warplens.compiled import intrinsic, native, types
from warplens.lift import layout as at

_I8, _I16, _I32, _I64 = (ir.IntType(n) for n in (8, 16, 32, 64))


@intrinsic
def float_of(typing_context: Any, bits: Any) -> Any:
    """The float whose 32 bits are given."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        single = builder.bitcast(builder.trunc(args[0], _I32), ir.FloatType())
        return builder.fpext(single, ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def bits_of(typing_context: Any, value: Any) -> Any:
    """The 32 bits of a number rounded to a float."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        single = builder.fptrunc(args[0], ir.FloatType())
        return builder.zext(builder.bitcast(single, _I32), _I64)

    return types.int64(types.float64), codegen


@intrinsic
def double_of(typing_context: Any, bits: Any) -> Any:
    """The double whose 64 bits are given."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def bits_of_double(typing_context: Any, value: Any) -> Any:
    """The 64 bits of a double."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], _I64)

    return types.int64(types.float64), codegen


@intrinsic
def floor_of(typing_context: Any, value: Any) -> Any:
    """The largest whole number that is not larger; of numbers below 2**62."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        down = builder.fptosi(args[0], _I64)
        back = builder.sitofp(down, ir.DoubleType())
        above = builder.fcmp_ordered(">", back, args[0])
        return builder.sub(down, builder.zext(above, _I64))

    return types.int64(types.float64), codegen


def _peek(kind: Any) -> Any:
    def reading(typing_context: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.inttoptr(args[0], kind.as_pointer())
            return builder.zext(builder.load(place, align=1), _I64)

        return types.int64(types.int64), codegen

    return reading


def _poke(kind: Any) -> Any:
    def writing(typing_context: Any, address: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.inttoptr(args[0], kind.as_pointer())
            builder.store(builder.trunc(args[1], kind), place, align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), codegen

    return writing


peek8, peek16 = intrinsic(_peek(_I8)), intrinsic(_peek(_I16))
poke8, poke16 = intrinsic(_poke(_I8)), intrinsic(_poke(_I16))


@intrinsic
def ask(typing_context: Any, callback: Any, env: Any, inst: Any, lane: Any, address: Any, kind: Any,
        size: Any) -> Any:  # fmt: skip
    """Calls i64 callback(env, inst, lane, address, kind, size) of the worker."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _I8.as_pointer()
        kind = ir.FunctionType(_I64, [pointer, _I32, _I32, _I64, _I32, _I32])
        function = builder.inttoptr(args[0], kind.as_pointer())
        env = builder.inttoptr(args[1], pointer)
        inst, lane, access, size = (builder.trunc(args[k], _I32) for k in (2, 3, 5, 6))
        return builder.call(function, [env, inst, lane, args[4], access, size])

    return types.int64(*[types.int64] * 7), codegen


@intrinsic
def check(typing_context: Any, function: Any, env: Any, warp: Any, site: Any, inst: Any,
          lanes: Any, kind: Any, size: Any) -> Any:  # fmt: skip
    """Asks an observer's check function about lanes' accesses to global memory, see observe.py."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_I32, [_I64] * 3 + [_I32] * 6)
        function = builder.inttoptr(args[0], kind.as_pointer())
        inst, lanes, access, size = (builder.trunc(args[k], _I32) for k in range(4, 8))
        space, immediate = ir.Constant(_I32, at.SPACE_GLOBAL), ir.Constant(_I32, 0)
        given = [args[1], args[2], args[3], inst, lanes, space, access, size, immediate]
        return builder.zext(builder.call(function, given), _I64)

    return types.int64(*[types.int64] * 8), codegen


@intrinsic
def show_access(typing_context: Any, function: Any, env: Any, warp: Any, inst: Any, lanes: Any,
                done: Any, size: Any) -> Any:  # fmt: skip
    """Tells an observer of what lanes have `done` (ACCESS_*) to global memory, see observe.py."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _I8.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, _I64, *[_I32] * 5, _I64, _I64])
        function = builder.inttoptr(args[0], kind.as_pointer())
        inst, lanes, done, size = (builder.trunc(args[k], _I32) for k in (3, 4, 5, 6))
        space = ir.Constant(_I32, at.SPACE_GLOBAL)
        nothing = ir.Constant(_I64, 0)
        builder.call(function, [builder.inttoptr(args[1], pointer), args[2], inst, lanes, space,
                                done, size, nothing, nothing])  # fmt: skip
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7), codegen


@native
def power_of_two(exponent: int) -> float:
    """2**exponent, of a normal double."""
    return float(double_of((exponent + 1023) << 52))


@native
def float_of_half(bits: int) -> float:
    """The value of a half; NaN and infinities too."""
    sign = -1.0 if bits & 0x8000 else 1.0
    exponent, mantissa = bits >> 10 & 31, bits & 1023
    if exponent == 31:
        if mantissa:
            return float(double_of(0x7FF8000000000000))
        return float(sign * double_of(0x7FF0000000000000))
    if exponent == 0:
        return sign * mantissa * power_of_two(-24)
    return sign * (1024 + mantissa) * power_of_two(exponent - 25)
