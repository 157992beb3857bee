"""Raw memory and calls of generated code, for compiled functions."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from warplens.compiled import intrinsic, native, types

_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


@intrinsic
def peek32(typing_context: Any, address: Any) -> Any:
    """The u32 at a host address, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], _I32.as_pointer())
        return builder.zext(builder.load(pointer), _I64)

    return types.int64(types.int64), codegen


@intrinsic
def poke32(typing_context: Any, address: Any, value: Any) -> Any:
    """Stores the low 32 bits of an int64 at a host address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], _I32.as_pointer())
        builder.store(builder.trunc(args[1], _I32), pointer)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def poke64(typing_context: Any, address: Any, value: Any) -> Any:
    """Stores an int64 at a host address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], builder.inttoptr(args[0], _I64.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def call_region(typing_context: Any, function: Any, warp: Any, env: Any) -> Any:
    """Calls a compiled region; returns its event."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(_I32, [pointer, pointer])
        function = builder.inttoptr(args[0], kind.as_pointer())
        warp, env = (builder.inttoptr(a, pointer) for a in args[1:])
        return builder.sext(builder.call(function, [warp, env]), _I64)

    return types.int64(types.int64, types.int64, types.int64), codegen


@intrinsic
def call_release(typing_context: Any, function: Any, env: Any, slot: Any, number: Any) -> Any:
    """Calls an observer's void f(env, i64 slot, i64 barrier)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, _I64, _I64])
        function = builder.inttoptr(args[0], kind.as_pointer())
        builder.call(function, [builder.inttoptr(args[1], pointer), args[2], args[3]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), codegen


@intrinsic
def population(typing_context: Any, value: Any) -> Any:
    """Number of set bits of an int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), codegen


@intrinsic
def lowest_bit(typing_context: Any, value: Any) -> Any:
    """Number of the lowest set bit of an int64; 64 if there is none."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), codegen


@intrinsic
def clear_line(typing_context: Any, address: Any) -> Any:
    """Zeroes 64 bytes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        line = ir.VectorType(_I64, 8)
        pointer = builder.inttoptr(args[0], line.as_pointer())
        builder.store(ir.Constant(line, None), pointer, align=8)
        return context.get_dummy_value()

    return types.void(types.int64), codegen


@native
def fill_zero(address: int, n_bytes: int) -> None:
    """Zeroes memory, 8 bytes at a time (`n_bytes` is a multiple of 8)."""
    for offset in range(0, n_bytes, 8):
        poke64(address + offset, 0)


@native
def clear_lines(address: int, n_bytes: int) -> None:
    """Zeroes memory, 64 bytes at a time: up to 56 bytes more than `n_bytes`."""
    for offset in range(0, n_bytes, 64):
        clear_line(address + offset)
