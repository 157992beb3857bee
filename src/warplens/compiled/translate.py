"""From the syntax tree of a Python function to LLVM IR.

The subset: numbers, arrays, records, named tuples of them; `if`, `while`, `for` over `range`,
`return`; calls of other compiled functions, intrinsics and a few built-ins. A variable has one
type, the narrowest that holds all values given to it; where a later statement widens it, the
function is emitted anew.
"""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from warplens.compiled.expressions import Expressions
from warplens.compiled.values import (
    I64,
    INT,
    NOTHING,
    Known,
    NotCompilable,
    Value,
    join,
    llvm_types,
)


class Widened(Exception):
    """A variable or result holds more than was thought: begin again."""


class Translator(Expressions):
    """Emits one function for one combination of argument types."""

    _loops: list[tuple[Any, Any]]  # where continue and break go

    def run(self, tree: ast.FunctionDef, arguments: dict[str, Value]) -> None:
        """Emits the body."""
        self._loops = []
        self._locals = set(arguments) | {
            node.id for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }  # fmt: skip
        for name, value in arguments.items():
            self._assign(name, value)
        body = self._function.blocks[1]
        self.statements(tree.body)
        if not self._ended:
            if self.types.get("return", NOTHING) != NOTHING:
                raise NotCompilable("the function may end without a result")
            self.types["return"] = NOTHING
            self.builder.ret_void()
        self._allocas.branch(body)

    @property
    def _ended(self) -> bool:
        return bool(self.builder.block.is_terminated)

    # --- statements ------------------------------------------------------------------------------

    def statements(self, body: list[ast.stmt]) -> None:
        """Emits statements up to one that leaves."""
        for node in body:
            if self._ended:
                return
            method = getattr(self, f"_do_{type(node).__name__}", None)
            if method is None:
                raise NotCompilable(f"{type(node).__name__} is not supported")
            try:
                method(node)
            except NotCompilable as error:
                error.line = error.line or node.lineno
                raise

    def _do_Pass(self, node: ast.Pass) -> None:
        return

    def _do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value)

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.expression(node.value)
        for target in node.targets:
            self._store(target, value)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._store(node.target, self.expression(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            old = self._variable(node.target.id)
            self._store(node.target, self.binary(node.op, old, self.expression(node.value)))
            return
        place = self._place(node.target)
        self.write(place, self.binary(node.op, self.read(place), self.expression(node.value)))

    def _store(self, target: ast.expr, value: Value | Known) -> None:
        if isinstance(target, ast.Name):
            self._assign(target.id, self.value(value))
        elif isinstance(target, ast.Tuple):
            items = self.items(self.value(value))
            if len(items) != len(target.elts):
                raise NotCompilable(f"{len(items)} values for {len(target.elts)} names")
            for part, item in zip(target.elts, items, strict=True):
                self._store(part, item)
        else:
            self.write(self._place(target), value)

    def _assign(self, name: str, value: Value) -> None:
        known = self.types.setdefault(name, value.type)
        if join(known, value.type) != known:
            self.types[name] = join(known, value.type)
            raise Widened
        if name not in self._places:
            self._places[name] = [self._allocas.alloca(t) for t in llvm_types(known)]
        for part, place in zip(self.convert(value, known).parts, self._places[name], strict=True):
            self.builder.store(part, place)

    def _do_Return(self, node: ast.Return) -> None:
        value = None if node.value is None else self.value(self.expression(node.value))
        kind = NOTHING if value is None else value.type
        known = self.types.setdefault("return", kind)
        if known != kind and join(known, kind) != known:
            self.types["return"] = join(known, kind)
            raise Widened
        if value is None:
            self.builder.ret_void()
            return
        parts = self.convert(value, known).parts
        if len(parts) == 1:
            self.builder.ret(parts[0])
            return
        whole = ir.Constant(ir.LiteralStructType(llvm_types(known)), ir.Undefined)
        for i, part in enumerate(parts):
            whole = self.builder.insert_value(whole, part, i)
        self.builder.ret(whole)

    def _do_If(self, node: ast.If) -> None:
        condition = self.expression(node.test)
        if isinstance(condition, Known):
            self.statements(node.body if condition.value else node.orelse)
            return
        yes, no, after = (self._block() for _ in range(3))
        self.builder.cbranch(self.truth(condition), yes, no)
        for block, body in ((yes, node.body), (no, node.orelse)):
            self.builder.position_at_end(block)
            self.statements(body)
            if not self._ended:
                self.builder.branch(after)
        self._go_on(after)

    def _do_While(self, node: ast.While) -> None:
        head, body, after = (self._block() for _ in range(3))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        condition = self.expression(node.test)
        if isinstance(condition, Known) and condition.value:
            self.builder.branch(body)
        else:
            self.builder.cbranch(self.truth(condition), body, after)
        self._loop(node, body, head, after)
        self._go_on(after)

    def _do_For(self, node: ast.For) -> None:
        if not isinstance(node.iter, ast.Call) or self._callee(node.iter) is not range:
            raise NotCompilable("only loops over range(...)")
        numbers = [self.expression(arg) for arg in node.iter.args]
        first = Known(0) if len(numbers) == 1 else numbers[0]
        last = numbers[0] if len(numbers) == 1 else numbers[1]
        step = numbers[2] if len(numbers) > 2 else Known(1)
        start, end = self.number(first, INT), self.number(last, INT)
        by = self.number(step, INT)
        counter = self._allocas.alloca(I64)
        self.builder.store(start, counter)
        head, body, advance, after = (self._block() for _ in range(4))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        now = self.builder.load(counter)
        falls = isinstance(step, Known) and step.value < 0
        goes_on = self.builder.icmp_signed(">" if falls else "<", now, end)
        self.builder.cbranch(goes_on, body, after)
        self.builder.position_at_end(body)
        self._store(node.target, Value(INT, (now,)))
        self._loop(node, None, advance, after)
        self.builder.position_at_end(advance)
        self.builder.store(self.builder.add(now, by), counter)
        self.builder.branch(head)
        self._go_on(after)

    def _loop(self, node: ast.While | ast.For, body: Any, again: Any, after: Any) -> None:
        if node.orelse:
            raise NotCompilable("else of a loop")
        if body is not None:
            self.builder.position_at_end(body)
        self._loops.append((again, after))
        self.statements(node.body)
        self._loops.pop()
        if not self._ended:
            self.builder.branch(again)

    def _do_Break(self, node: ast.Break) -> None:
        self.builder.branch(self._loops[-1][1])

    def _do_Continue(self, node: ast.Continue) -> None:
        self.builder.branch(self._loops[-1][0])

    def _go_on(self, block: Any) -> None:
        """Continues in a block; if nothing leads there, what follows is never reached."""
        self.builder.position_at_end(block)
        if not any(
            block in (getattr(b.terminator, "operands", ()) if b.terminator else ())
            for b in self._function.blocks
        ):
            self.builder.unreachable()
