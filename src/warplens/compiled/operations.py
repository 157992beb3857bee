"""Arithmetic, comparisons and memory of compiled code, with Python's meaning."""

from __future__ import annotations

import ast
import functools
import operator
import zlib
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from warplens.compiled.values import (
    BOOL,
    F64,
    FLOAT,
    I1,
    I8,
    I64,
    INT,
    POINTER,
    Array,
    Known,
    NotCompilable,
    Record,
    Scalar,
    Storage,
    Tuple,
    Type,
    Value,
    describe,
    join,
    size_of,
    storage_of,
)

PYTHON: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.Pow: operator.pow,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
_SIGNS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_INTEGER = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.LShift: "shl", ast.RShift: "ashr",
    ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
_FLOATING = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_TRUTH = {ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}


def integer(number: int) -> Any:
    """A 64-bit constant."""
    if not -(1 << 63) <= number < 1 << 64:
        raise NotCompilable(f"{number} does not fit into 64 bits")
    return ir.Constant(I64, number - (1 << 64) if number >= 1 << 63 else number)


class Operations:
    """Emits instructions at a builder's position."""

    def __init__(self, module: Any) -> None:
        self.builder: Any = ir.IRBuilder()
        self._module = module
        self._tags: dict[str, Any] = {}

    # --- numbers ---------------------------------------------------------------------------------

    def value(self, x: Value | Known) -> Value:
        """A known number or tuple as a value."""
        if isinstance(x, Value):
            return x
        known = x.value
        if isinstance(known, bool):
            return Value(BOOL, (ir.Constant(I1, int(known)),))
        if isinstance(known, float):
            return Value(FLOAT, (ir.Constant(F64, known),))
        if isinstance(known, tuple):
            items = [self.value(Known(item)) for item in known]
            return self.tuple(items)
        if hasattr(known, "__index__"):
            return Value(INT, (integer(operator.index(known)),))
        raise NotCompilable(f"{known!r} is not a number")

    def tuple(self, items: list[Value]) -> Value:
        """Several values as one."""
        parts = tuple(part for item in items for part in item.parts)
        return Value(Tuple(tuple(item.type for item in items)), parts)

    def items(self, x: Value) -> list[Value]:
        """The items of a tuple."""
        if not isinstance(x.type, Tuple):
            raise NotCompilable(f"{describe(x.type)} cannot be unpacked")
        found, at = [], 0
        for kind in x.type.items:
            count = _count(kind)
            found.append(Value(kind, x.parts[at : at + count]))
            at += count
        return found

    def convert(self, x: Value, kind: Type) -> Value:
        """The value as another type of number (tuples by item)."""
        if x.type == kind:
            return x
        if isinstance(kind, Tuple):
            pairs = zip(self.items(x), kind.items, strict=True)
            parts = tuple(part for item, k in pairs for part in self.convert(item, k).parts)
            return Value(kind, parts)
        if isinstance(kind, Array) and isinstance(x.type, Array):
            join(kind, x.type)
            return Value(kind, x.parts)
        if not isinstance(kind, Scalar) or not isinstance(x.type, Scalar):
            raise NotCompilable(f"{describe(x.type)} where {describe(kind)} is needed")
        return Value(kind, (self._cast(x.parts[0], x.type, kind),))

    def _cast(self, part: Any, source: Scalar, kind: Scalar) -> Any:
        b = self.builder
        if kind == BOOL:
            if source == FLOAT:
                return b.fcmp_unordered("!=", part, ir.Constant(F64, 0.0))
            return b.icmp_signed("!=", part, integer(0))
        if source == BOOL:
            part = b.zext(part, I64)
            return part if kind == INT else b.sitofp(part, F64)
        return b.sitofp(part, F64) if kind == FLOAT else b.fptosi(part, I64)

    def number(self, x: Value | Known, kind: Scalar) -> Any:
        """The LLVM value of a number of a type."""
        return self.convert(self.value(x), kind).parts[0]

    def binary(self, op: ast.operator, left: Value | Known, right: Value | Known) -> Value | Known:
        """left op right."""
        kind = type(op)
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(PYTHON[kind](left.value, right.value))
        a, b = self.value(left), self.value(right)
        both = join(a.type, b.type)
        if kind in _TRUTH and both == BOOL:
            return Value(BOOL, (getattr(self.builder, _TRUTH[kind])(a.parts[0], b.parts[0]),))
        if both == FLOAT or kind is ast.Div:
            return self._floating(kind, a, b)
        if both not in (INT, BOOL):
            raise NotCompilable(f"{kind.__name__} of {describe(both)}")
        if kind in (ast.FloorDiv, ast.Mod):
            return self._division(kind, a, right)
        if kind not in _INTEGER:
            raise NotCompilable(f"{kind.__name__} of integers")
        emit = getattr(self.builder, _INTEGER[kind])
        return Value(INT, (emit(self.number(a, INT), self.number(b, INT)),))

    def _floating(self, kind: type, a: Value, b: Value) -> Value:
        x, y = self.number(a, FLOAT), self.number(b, FLOAT)
        if kind is ast.FloorDiv:
            floor = self._module.declare_intrinsic("llvm.floor", [F64])
            return Value(FLOAT, (self.builder.call(floor, [self.builder.fdiv(x, y)]),))
        if kind not in _FLOATING:
            raise NotCompilable(f"{kind.__name__} of floats")
        return Value(FLOAT, (getattr(self.builder, _FLOATING[kind])(x, y),))

    def _division(self, kind: type, a: Value, right: Value | Known) -> Value:
        """Rounds down, as Python does; dividing by zero is the caller's mistake."""
        b, x = self.builder, self.number(a, INT)
        if isinstance(right, Known) and right.value > 0 and right.value & right.value - 1 == 0:
            if kind is ast.Mod:
                return Value(INT, (b.and_(x, integer(right.value - 1)),))
            return Value(INT, (b.ashr(x, integer(right.value.bit_length() - 1)),))
        y = self.number(right, INT)
        rest = b.srem(x, y)
        differs = b.icmp_signed("<", b.xor(rest, y), integer(0))
        wrong = b.and_(b.icmp_signed("!=", rest, integer(0)), differs)
        if kind is ast.Mod:
            return Value(INT, (b.select(wrong, b.add(rest, y), rest),))
        return Value(INT, (b.sub(b.sdiv(x, y), b.zext(wrong, I64)),))

    def unary(self, op: ast.unaryop, x: Value | Known) -> Value | Known:
        """op x."""
        if isinstance(x, Known):
            return Known(PYTHON[type(op)](x.value))
        if isinstance(op, ast.Not):
            return Value(BOOL, (self.builder.not_(self.truth(x)),))
        if isinstance(op, ast.Invert):
            return Value(INT, (self.builder.not_(self.number(x, INT)),))
        if isinstance(op, ast.USub) and x.type == FLOAT:
            return Value(FLOAT, (self.builder.fneg(x.parts[0]),))
        number = self.number(x, INT) if x.type != FLOAT else x.parts[0]
        if isinstance(op, ast.USub):
            return Value(INT, (self.builder.neg(number),))
        return Value(FLOAT if x.type == FLOAT else INT, (number,))

    def compare(self, op: ast.cmpop, left: Value | Known, right: Value | Known) -> Value | Known:
        """left op right, a truth value; `in` and `not in` for tuples."""
        if isinstance(op, (ast.In, ast.NotIn)):
            return self._among(left, right, isinstance(op, ast.NotIn))
        if type(op) not in _SIGNS:
            raise NotCompilable(f"comparison {type(op).__name__}")
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(PYTHON[type(op)](left.value, right.value))
        a, b = self.value(left), self.value(right)
        sign = _SIGNS[type(op)]
        if join(a.type, b.type) == FLOAT:
            x, y = self.number(a, FLOAT), self.number(b, FLOAT)
            emit = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
            return Value(BOOL, (emit(sign, x, y),))
        x, y = self.number(a, INT), self.number(b, INT)
        return Value(BOOL, (self.builder.icmp_signed(sign, x, y),))

    def _among(self, left: Value | Known, right: Value | Known, negated: bool) -> Value | Known:
        items = ([Known(item) for item in right.value] if isinstance(right, Known)
                 else self.items(right))  # fmt: skip
        found: Any = ir.Constant(I1, 0)
        for item in items:
            found = self.builder.or_(found, self.truth(self.compare(ast.Eq(), left, item)))
        return Value(BOOL, (self.builder.not_(found) if negated else found,))

    def truth(self, x: Value | Known) -> Any:
        """Whether a number is not zero, as i1."""
        return self.number(Known(bool(x.value)) if isinstance(x, Known) else x, BOOL)

    def extreme(self, name: str, args: list[Value | Known]) -> Value | Known:
        """min or max of numbers."""
        known = [x.value for x in args if isinstance(x, Known)]
        if len(known) == len(args):
            return Known(min(known) if name == "min" else max(known))
        best = self.value(args[0])
        sign = ast.Lt() if name == "min" else ast.Gt()
        for other in args[1:]:
            x = self.value(other)
            kind = join(best.type, x.type)
            a, b = self.convert(best, kind), self.convert(x, kind)
            better = self.truth(self.compare(sign, b, a))
            best = Value(kind, (self.builder.select(better, b.parts[0], a.parts[0]),))
        return best

    # --- memory ----------------------------------------------------------------------------------

    def _tag(self, name: str) -> Any:
        """Metadata by which LLVM knows that differently tagged memory does not overlap."""
        if name not in self._tags:
            module = self._module
            root = module.add_metadata(["warplens compiled"])
            node = module.add_metadata([name, root, integer(0)])
            self._tags[name] = module.add_metadata([node, node, integer(0)])
        return self._tags[name]

    def load(self, pointer: Any, item: Storage, tag: str) -> Value:
        """A number from memory, widened."""
        b = self.builder
        raw = b.load(b.bitcast(pointer, item.memory.as_pointer()), align=1)
        if tag:
            raw.set_metadata("tbaa", self._tag(tag))
        if item.kind == "f":
            return Value(FLOAT, (raw if item.size == 8 else b.fpext(raw, F64),))
        if item.kind == "b":
            return Value(BOOL, (b.icmp_unsigned("!=", raw, ir.Constant(I8, 0)),))
        if item.size < 8:
            raw = b.sext(raw, I64) if item.kind == "i" else b.zext(raw, I64)
        return Value(INT, (raw,))

    def store(self, pointer: Any, item: Storage, tag: str, x: Value | Known) -> None:
        """Puts a number into memory."""
        b = self.builder
        raw = self.number(x, item.loaded)
        if item.kind == "f" and item.size == 4:
            raw = b.fptrunc(raw, item.memory)
        elif item.kind == "b":
            raw = b.zext(raw, I8)
        elif item.kind in "iu" and item.size < 8:
            raw = b.trunc(raw, item.memory)
        done = b.store(raw, b.bitcast(pointer, item.memory.as_pointer()), align=1)
        if tag:
            done.set_metadata("tbaa", self._tag(tag))

    def offset(self, pointer: Any, n_bytes: Any) -> Any:
        """pointer + n_bytes."""
        return self.builder.gep(pointer, [n_bytes], inbounds=True)

    def element(self, x: Value, indices: list[Value | Known]) -> Value:
        """A part of an array: fewer dimensions, or an element by reference (0 dimensions)."""
        kind = x.type
        if not isinstance(kind, Array):
            raise NotCompilable(f"{describe(kind)} has no elements")
        if len(indices) > kind.ndim:
            raise NotCompilable(f"{len(indices)} indices for {kind.ndim} dimensions")
        b, dims = self.builder, x.parts[1:]
        place: Any = integer(0)
        for i in range(kind.ndim):
            place = b.mul(place, dims[i])
            if i < len(indices):
                index = indices[i]
                if isinstance(index, Known) and index.value < 0:
                    raise NotCompilable("negative indices are not supported")
                place = b.add(place, self.number(index, INT))
        pointer = self.offset(x.parts[0], b.mul(place, integer(size_of(kind.item))))
        rest = kind.ndim - len(indices)
        if rest == 0 and isinstance(kind.item, Record):
            return Value(kind.item, (pointer,))
        return Value(Array(kind.item, rest, kind.tag), (pointer, *dims[len(indices) :]))

    def field(self, x: Value, name: str) -> Value:
        """A field of a record by reference."""
        kind = x.type
        fields: Any = kind.dtype.fields if isinstance(kind, Record) else None
        if not isinstance(kind, Record) or name not in fields:
            raise NotCompilable(f"{describe(kind)} has no field {name}")
        dtype, at = fields[name][:2]
        pointer = self.offset(x.parts[0], integer(at))
        base, shape = dtype.subdtype or (dtype, ())
        item = storage_of(base)
        if isinstance(item, Record) and not shape:
            return Value(item, (pointer,))
        tag = f"{_name(kind.dtype)}.{name}"
        return Value(Array(item, len(shape), tag), (pointer, *(integer(n) for n in shape)))

    def read(self, x: Value) -> Value:
        """The number at a reference; other values as they are."""
        if isinstance(x.type, Array) and x.type.ndim == 0 and isinstance(x.type.item, Storage):
            return self.load(x.parts[0], x.type.item, x.type.tag)
        return x

    def write(self, place: Value, x: Value | Known) -> None:
        """Stores a number at a reference."""
        kind = place.type
        if not isinstance(kind, Array) or not isinstance(kind.item, Storage):
            raise NotCompilable(f"{describe(kind)} cannot be stored to")
        if kind.ndim == 0:
            self.store(place.parts[0], kind.item, kind.tag, x)
            return
        if not isinstance(x, Known) or x.value != 0:
            raise NotCompilable("a part of an array can only be set to 0")
        size: Any = integer(kind.item.size)
        for n in place.parts[1:]:
            size = self.builder.mul(size, n)
        self.clear(place.parts[0], size)

    def clear(self, pointer: Any, n_bytes: Any) -> None:
        """Zeroes memory."""
        fill = self._module.declare_intrinsic("llvm.memset", [pointer.type, I64])
        self.builder.call(fill, [pointer, I8(0), n_bytes, I1(0)])

    def address(self, x: Value | Known) -> Any:
        """An integer address as a pointer."""
        return self.builder.inttoptr(self.number(x, INT), POINTER)


@functools.cache
def _name(dtype: Any) -> str:
    """A name for a record type, the same in every process."""
    return str(zlib.crc32(repr(dtype.descr).encode()))


def _count(kind: Type) -> int:
    if isinstance(kind, Tuple):
        return sum(_count(item) for item in kind.items)
    return 1 + kind.ndim if isinstance(kind, Array) else 1
