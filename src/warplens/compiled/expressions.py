"""Expressions of compiled functions: names, fields and elements, operators, calls."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from warplens.compiled.operations import Operations, integer
from warplens.compiled.values import (
    BOOL,
    F64,
    FLOAT,
    I1,
    I8,
    INT,
    Array,
    Known,
    NotCompilable,
    Record,
    Tuple,
    Type,
    Value,
    array_of,
    describe,
    join,
    llvm_types,
    size_of,
    storage_of,
)

# Emits a call of a function that is compiled in its turn, or returns None if it is none.
Caller = Callable[[Any, Any, list[Value | Known]], Value | None]
_BUILTINS = {"range": range, "min": min, "max": max, "int": int, "float": float, "bool": bool,
             "abs": abs, "len": len}  # fmt: skip


class Expressions(Operations):
    """Emits expressions of a function into its blocks."""

    def __init__(self, module: Any, function: Any, scope: dict[str, Any], caller: Caller,
                 types: dict[str, Type]) -> None:  # fmt: skip
        super().__init__(module)
        self._function = function
        self._scope = scope
        self._caller = caller
        self.types = types  # of variables; "return" of the result
        self._places: dict[str, list[Any]] = {}
        self._locals: set[str] = set()
        self._allocas: Any = ir.IRBuilder(function.append_basic_block("entry"))
        self.builder.position_at_end(function.append_basic_block("body"))

    def _block(self) -> Any:
        return self._function.append_basic_block()

    def _variable(self, name: str) -> Value:
        if name not in self._places:
            raise NotCompilable(f"{name} has no value yet")
        parts = tuple(self.builder.load(place) for place in self._places[name])
        return Value(self.types[name], parts)

    # --- places ----------------------------------------------------------------------------------

    def _place(self, node: ast.expr) -> Value:
        """What an attribute or subscript refers to."""
        if isinstance(node, ast.Attribute):
            return self.field(self.value(self.expression(node.value)), node.attr)
        if isinstance(node, ast.Subscript):
            owner = self.value(self.expression(node.value))
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                return self.field(owner, node.slice.value)
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return self.element(owner, [self.expression(part) for part in parts])
        raise NotCompilable(f"{type(node).__name__} cannot be assigned to")

    # --- expressions -----------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Value | Known:
        """Emits an expression."""
        method = getattr(self, f"_of_{type(node).__name__}", None)
        if method is None:
            raise NotCompilable(f"{type(node).__name__} is not supported")
        found: Value | Known = method(node)
        return found

    def _of_Constant(self, node: ast.Constant) -> Known:
        return Known(node.value)

    def _of_Name(self, node: ast.Name) -> Value | Known:
        if node.id in self._locals:
            return self._variable(node.id)
        if node.id not in self._scope:
            raise NotCompilable(f"the name {node.id} is not known")
        return Known(self._scope[node.id])

    def _of_Tuple(self, node: ast.Tuple) -> Value | Known:
        items = [self.expression(item) for item in node.elts]
        if all(isinstance(item, Known) for item in items):
            return Known(tuple(item.value for item in items if isinstance(item, Known)))
        return self.tuple([self.value(item) for item in items])

    def _of_Attribute(self, node: ast.Attribute) -> Value | Known:
        owner = self.expression(node.value)
        if isinstance(owner, Known):
            return Known(getattr(owner.value, node.attr))
        if isinstance(owner.type, Tuple):
            if node.attr not in owner.type.names:
                raise NotCompilable(f"{describe(owner.type)} has no {node.attr}")
            return self.items(owner)[owner.type.names.index(node.attr)]
        if isinstance(owner.type, Array):
            return self._of_array(owner, node.attr)
        return self.read(self.field(owner, node.attr))

    def _of_array(self, owner: Value, name: str) -> Value:
        dims = [Value(INT, (n,)) for n in owner.parts[1:]]
        if name == "shape":
            return self.tuple(dims)
        if name != "size":
            raise NotCompilable(f"arrays have no {name} here")
        whole: Any = integer(1)
        for n in dims:
            whole = self.builder.mul(whole, n.parts[0])
        return Value(INT, (whole,))

    def _of_Subscript(self, node: ast.Subscript) -> Value | Known:
        owner = self.expression(node.value)
        if isinstance(owner, Known) or isinstance(owner.type, Tuple):
            index = self.expression(node.slice)
            if not isinstance(index, Known):
                raise NotCompilable("a tuple's index must be a constant")
            if isinstance(owner, Known):
                return Known(owner.value[index.value])
            item: Value = self.items(owner)[index.value]
            return item
        return self.read(self._place(node))

    def _of_BinOp(self, node: ast.BinOp) -> Value | Known:
        left = self.expression(node.left)
        return self.binary(node.op, left, self.expression(node.right))

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Value | Known:
        return self.unary(node.op, self.expression(node.operand))

    def _of_Compare(self, node: ast.Compare) -> Value | Known:
        left = self.expression(node.left)
        found: Value | Known | None = None
        for op, other in zip(node.ops, node.comparators, strict=True):
            right = self.expression(other)
            one = self.compare(op, left, right)
            if found is None:
                found = one
            else:
                found = Value(BOOL, (self.builder.and_(self.truth(found), self.truth(one)),))
            left = right
        assert found is not None
        return found

    def _of_BoolOp(self, node: ast.BoolOp) -> Value | Known:
        """`and`, `or` of truth values: what follows is looked at only where it matters."""
        stops = isinstance(node.op, ast.Or)
        after = self._block()
        found = []
        for i, part in enumerate(node.values):
            truth = self.truth(self.expression(part))
            found.append((truth, self.builder.block))
            if i + 1 == len(node.values):
                self.builder.branch(after)
                break
            following = self._block()
            self.builder.cbranch(truth, *((after, following) if stops else (following, after)))
            self.builder.position_at_end(following)
        self.builder.position_at_end(after)
        phi = self.builder.phi(I1)
        for truth, block in found:
            phi.add_incoming(truth, block)
        return Value(BOOL, (phi,))

    def _of_IfExp(self, node: ast.IfExp) -> Value | Known:
        condition = self.expression(node.test)
        if isinstance(condition, Known):
            return self.expression(node.body if condition.value else node.orelse)
        yes, no, after = (self._block() for _ in range(3))
        self.builder.cbranch(self.truth(condition), yes, no)
        ends = []
        for block, part in ((yes, node.body), (no, node.orelse)):
            self.builder.position_at_end(block)
            value = self.value(self.expression(part))
            ends.append((self.builder.block, value))
        kind = join(ends[0][1].type, ends[1][1].type)
        arms = []
        for block, value in ends:
            self.builder.position_at_end(block)
            arms.append(self.convert(value, kind).parts)
            self.builder.branch(after)
        self.builder.position_at_end(after)
        phis = [self.builder.phi(t) for t in llvm_types(kind)]
        for (block, _), parts in zip(ends, arms, strict=True):
            for phi, part in zip(phis, parts, strict=True):
                phi.add_incoming(part, block)
        return Value(kind, tuple(phis))

    # --- calls -----------------------------------------------------------------------------------

    def _callee(self, node: ast.Call) -> Any:
        function = node.func
        if (
            isinstance(function, ast.Name)
            and function.id in _BUILTINS
            and function.id not in self._scope
        ):
            return _BUILTINS[function.id]
        found = self.expression(function)
        if not isinstance(found, Known):
            raise NotCompilable("only functions of modules can be called")
        return found.value

    def _of_Call(self, node: ast.Call) -> Value | Known:
        callee = self._callee(node)
        if node.keywords:
            raise NotCompilable("keyword arguments in calls")
        args = [self.expression(arg) for arg in node.args]
        result = self._caller(self, callee, args)
        return self._builtin(callee, args) if result is None else result

    def _builtin(self, callee: Any, args: list[Value | Known]) -> Value | Known:
        name = getattr(callee, "__name__", getattr(callee, "name", str(callee)))
        if callee in (min, max):
            return self.extreme(name, args)
        if name in ("int", "int64") and len(args) == 1:
            return Value(INT, (self.number(args[0], INT),))
        if name in ("float", "float64") and len(args) == 1:
            return Value(FLOAT, (self.number(args[0], FLOAT),))
        if callee is bool:
            return Value(BOOL, (self.truth(args[0]),))
        if callee is abs:
            return self._absolute(self.value(args[0]))
        if callee is math.sqrt:
            root = self.builder.module.declare_intrinsic("llvm.sqrt", [F64])
            return Value(FLOAT, (self.builder.call(root, [self.number(args[0], FLOAT)]),))
        if callee is len:
            return Value(INT, (self.value(args[0]).parts[1],))
        if name == "carray":
            return self._array_at(args)
        if name == "record_at":
            return self._record_at(args)
        if name in ("zeros", "empty") and getattr(callee, "__module__", "") == "numpy":
            return self._scratch(args, name == "zeros")
        raise NotCompilable(f"{name} cannot be called here")

    def _absolute(self, x: Value) -> Value:
        negative = self.truth(self.compare(ast.Lt(), x, Known(0)))
        opposite = self.value(self.unary(ast.USub(), x))
        kind = opposite.type
        same = self.convert(x, kind).parts[0]
        return Value(kind, (self.builder.select(negative, opposite.parts[0], same),))

    def _scratch(self, args: list[Value | Known], zeroed: bool) -> Value:
        """A small array that lives as long as the call: np.zeros or np.empty."""
        known = [arg.value for arg in args if isinstance(arg, Known)]
        if len(known) != 2 or len(args) != 2:
            raise NotCompilable("arrays need a known size and type")
        size, dtype = known
        kind = array_of(np.dtype(dtype), 1, f"scratch{len(self._function.blocks)}")
        n_bytes = size * size_of(kind.item)
        place = self._allocas.alloca(I8, integer(n_bytes))
        place.align = 16
        if zeroed:
            self.clear(place, integer(n_bytes))
        return Value(kind, (place, integer(size)))

    def _array_at(self, args: list[Value | Known]) -> Value:
        """The array at an address: carray(address, (size,), dtype)."""
        address, shape, dtype = args
        if not isinstance(dtype, Known):
            raise NotCompilable("an array needs a known type")
        dims = [self.number(n, INT) for n in self.items(self.value(shape))]
        kind = Array(storage_of(np.dtype(dtype.value)), len(dims), "")
        return Value(kind, (self.address(address), *dims))

    def _record_at(self, args: list[Value | Known]) -> Value:
        """The record at an address: record_at(address, dtype)."""
        address, dtype = args
        item = storage_of(np.dtype(dtype.value)) if isinstance(dtype, Known) else None
        if not isinstance(item, Record):
            raise NotCompilable("a record needs a known structured type")
        return Value(item, (self.address(address),))
