"""Raw loads and stores of 8 to 64 bits, and bit scans, for the native checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from warplens.compiled import intrinsic, types
from warplens.execute.native import peek32 as _peek32

_I8 = ir.IntType(8)
_I1 = ir.IntType(1)
_I64 = ir.IntType(64)


@intrinsic
def _peek64(typing_context: Any, address: Any) -> Any:
    """The int64 at a host address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.inttoptr(args[0], _I64.as_pointer()))

    return types.int64(types.int64), codegen


@intrinsic
def _peek8(typing_context: Any, address: Any) -> Any:
    """The byte at a host address, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.zext(builder.load(builder.inttoptr(args[0], _I8.as_pointer())), _I64)

    return types.int64(types.int64), codegen


@intrinsic
def poke8(typing_context: Any, address: Any, value: Any) -> Any:
    """Stores the low byte of an int64 at a host address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], _I8.as_pointer())
        builder.store(builder.trunc(args[1], _I8), pointer)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def _lowest_bit(typing_context: Any, value: Any) -> Any:
    """Number of the lowest set bit of a non-zero int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(_I1, 1))

    return types.int64(types.int64), codegen


# The same with the types that their callers see.
peek8: Callable[[int], int] = _peek8
peek32: Callable[[int], int] = _peek32
peek64: Callable[[int], int] = _peek64
lowest_bit: Callable[[int], int] = _lowest_bit
