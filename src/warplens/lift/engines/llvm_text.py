"""Values and lines of the LLVM engine: textual IR, constants folded on the way.

Text and not llvmlite.ir, because a kernel of 20,000 instructions must be written in about a second.
Constants are folded here, so that a shuffle by an immediate becomes one `shufflevector` and a sum
with RZ costs nothing, even where LLVM runs no passes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from warplens.lift.engines.host import HostFeatures

Const = int | tuple[int, ...]


class Emitter(Protocol):
    """Where the lines go: the current basic block of the function being written."""

    def line(self, text: str) -> None:
        """Appends one instruction to the current block."""

    def name(self) -> str:
        """A fresh SSA name, with its `%`."""

    def helper(self, name: str, ir: str) -> None:
        """Adds a function, declaration or global to the module, once per `name`."""


class Value:
    """One value per lane: a type of the protocol and an SSA name or constant.

    `const` holds the bits if they are known (an int: the same in all lanes), `scalar` the name of
    the single value that all lanes share, if there is one. `inverse` is the value that this one is
    the complement of, so that ~~a costs nothing. `depth` is how many integer operations, one on the
    other, LLVM can look back from here.
    """

    __slots__ = ("const", "depth", "inverse", "ref", "scalar", "type")

    def __init__(
        self, type: str, ref: str, const: Const | None = None, scalar: str | None = None
    ) -> None:
        self.type = type
        self.ref = ref
        self.const = const
        self.scalar = scalar
        self.inverse: Value | None = None
        self.depth = 0

    def __repr__(self) -> str:
        return f"Value({self.type} {self.ref})"


ELEMENT = {
    "u32": "i32",
    "u64": "i64",
    "f32": "float",
    "f64": "double",
    "f16": "half",
    "bf16": "i16",
    "p": "i1",
}
_BITS_ELEMENT = {
    "u32": "i32",
    "u64": "i64",
    "f32": "i32",
    "f64": "i64",
    "f16": "i16",
    "bf16": "i16",
    "p": "i1",
}
SIZE = {"u32": 32, "u64": 64, "f32": 32, "f64": 64, "f16": 16, "bf16": 16, "p": 1}
_DEPTH = 4
_FLOAT = {"u32": "f32", "u64": "f64"}  # of integers' size
RARE = ("!2", '!2 = !{!"branch_weights", i32 1, i32 20000}')  # a branch's note, and its text
_constants: dict[tuple[int, str, Const], Value] = {}


def _literal(width: int, type: str, const: Const) -> str:
    element = _BITS_ELEMENT[type]
    if width == 1:
        number = const if isinstance(const, int) else const[0]
        text = ("true" if number else "false") if type == "p" else str(number)
        if element == ELEMENT[type]:
            return text
        return f"bitcast ({element} {text} to {ELEMENT[type]})"
    if const == 0:
        return "zeroinitializer"
    if isinstance(const, int):
        text = f"splat ({element} {const if type != 'p' else 'true'})"
    else:
        text = "<" + ", ".join(f"{element} {n}" for n in const) + ">"
    if element == ELEMENT[type]:
        return text
    return f"bitcast (<{width} x {element}> {text} to <{width} x {ELEMENT[type]}>)"


def constant(width: int, type: str, const: Const) -> Value:
    """A constant value, made once."""
    key = (width, type, const)
    value = _constants.get(key)
    if value is None:
        scalar = _literal(1, type, const) if isinstance(const, int) else None
        value = _constants[key] = Value(type, _literal(width, type, const), const, scalar)
    return value


def signed(n: int, size: int) -> int:
    """The two's-complement reading of `n`."""
    return n - (1 << size) if n >> (size - 1) else n


class LlvmText:
    """Constants, and how a line, a call and a module-level helper are written."""

    def __init__(
        self, emitter: Emitter, width: int, active: str | None, features: HostFeatures
    ) -> None:
        self.width = width
        self.features = features
        self._emitter = emitter
        self._line: Callable[[str], None] = emitter.line
        self._name = emitter.name
        self._active = active
        self._declared: set[str] = set()
        self._before: dict[str, str] = {}  # typed bits of halves whose NaNs have any pattern
        self.small: dict[str, list[str]] = {}  # singles of such bits, 2**-112 as large
        self.types = {
            type: element if width == 1 else f"<{width} x {element}>"
            for type, element in ELEMENT.items()
        }
        self._suffix = {
            type: ("" if width == 1 else f"v{width}") + short
            for type, short in (
                ("u32", "i32"),
                ("u64", "i64"),
                ("f32", "f32"),
                ("f64", "f64"),
                ("f16", "f16"),
                ("bf16", "i16"),
            )
        }

    # constants

    def const(self, type: str, const: Const) -> Value:
        """A constant of any type by its bits; a tuple gives one per lane."""
        if isinstance(const, tuple) and const.count(const[0]) == len(const):
            const = const[0]
        return constant(self.width, type, const)

    def u32(self, n: int) -> Value:
        return constant(self.width, "u32", n & 0xFFFFFFFF)

    def u64(self, n: int) -> Value:
        return constant(self.width, "u64", n & 0xFFFFFFFFFFFFFFFF)

    def f32(self, bits: int) -> Value:
        return constant(self.width, "f32", bits & 0xFFFFFFFF)

    def f64(self, bits: int) -> Value:
        return constant(self.width, "f64", bits & 0xFFFFFFFFFFFFFFFF)

    def true(self) -> Value:
        return constant(self.width, "p", 1)

    def false(self) -> Value:
        return constant(self.width, "p", 0)

    def known(self, a: Value) -> int | None:
        return a.const if isinstance(a.const, int) else None

    # building blocks

    def emit(self, type: str, text: str) -> Value:
        """One line whose result is a value of `type`."""
        name = self._name()
        self._line(f"{name} = {text}")
        return Value(type, name)

    def _raw(self, text: str) -> str:
        name = self._name()
        self._line(f"{name} = {text}")
        return name

    def _intrinsic(self, function: str, type: str, *args: str) -> Value:
        """A call of an LLVM intrinsic; `args` are typed operands, `type` the result's."""
        result = self.types[type]
        return self.emit(type, self._call(function, result, *args))

    def _call(self, function: str, result: str, *args: str) -> str:
        if function not in self._declared:
            kinds = ", ".join(_type_of(arg) for arg in args)
            self._emitter.helper(function, f"declare {result} @{function}({kinds})")
            self._declared.add(function)
        return f"call {result} @{function}({', '.join(args)})"

    def _arg(self, a: Value) -> str:
        return f"{self.types[a.type]} {a.ref}"

    def _fold(self, type: str, function: Callable[..., int], *args: Value) -> Value | None:
        """The constant result if all arguments are constants."""
        for arg in args:
            if arg.const is None:
                return None
        mask = (1 << SIZE[type]) - 1
        lanes = [arg.const for arg in args]
        if all(isinstance(lane, int) for lane in lanes):
            return constant(self.width, type, function(*lanes) & mask)
        columns = [(c,) * self.width if isinstance(c, int) else c for c in lanes if c is not None]
        return self.const(type, tuple(function(*row) & mask for row in zip(*columns, strict=True)))

    def _binary(self, op: str, a: Value, b: Value) -> Value:
        name = self._name()
        self._line(f"{name} = {op} {self.types[a.type]} {a.ref}, {b.ref}")
        value = Value(a.type, name)
        value.depth = 1 + max(a.depth, b.depth)
        return value

    def cast(self, op: str, a: Value, type: str) -> Value:
        """One LLVM cast instruction."""
        name = self._name()
        self._line(f"{name} = {op} {self.types[a.type]} {a.ref} to {self.types[type]}")
        value = Value(type, name)
        value.depth = a.depth
        return value

    def closed(self, a: Value) -> Value:
        """The same integer, behind which LLVM does not look any further, if it could look far.

        For every sum and product it asks which bits of the operands are known, six operations
        back, by way of both operands of each: most of what straight code took to compile.
        """
        if self.width == 1 or a.depth < _DEPTH or a.type not in _FLOAT:
            return a
        kind = _FLOAT[a.type]
        number = self.cast("bitcast", a, kind)
        function = f"llvm.arithmetic.fence.{self._suffix[kind]}"
        value = self.cast("bitcast", self._intrinsic(function, kind, self._arg(number)), a.type)
        value.depth = 0
        return value

    def scalar(self, a: Value) -> str:
        """The one value that all lanes share; lane 0's if that is not known to be so."""
        if a.scalar is not None:
            return a.scalar
        if self.width == 1:
            return a.ref
        return self._raw(f"extractelement {self.types[a.type]} {a.ref}, i32 0")

    def broadcast(self, type: str, scalar: str) -> Value:
        """A value that is `scalar` in all lanes."""
        if self.width == 1:
            return Value(type, scalar, None, scalar)
        vector = self.types[type]
        one = self._raw(f"insertelement {vector} poison, {ELEMENT[type]} {scalar}, i64 0")
        name = self._raw(
            f"shufflevector {vector} {one}, {vector} poison, <{self.width} x i32> zeroinitializer"
        )
        return Value(type, name, None, scalar)

    # pieces of vectors, for operations that exist only at the machine's own width

    def add_helper(self, name: str, ir: str) -> None:
        """Adds a module-level function; declarations it shares with others are split off."""
        if name in self._declared:
            return
        self._declared.add(name)
        body = []
        for line in ir.splitlines():
            if line.startswith("declare"):
                start = line.index("@") + 1
                self._emitter.helper(line[start : line.index("(", start)], line)
            else:
                body.append(line)
        self._emitter.helper(name, "\n".join(body))

    def raw(self, text: str) -> str:
        """An instruction of any type; the result's name."""
        return self._raw(text)

    def line(self, text: str) -> None:
        """An instruction without a result."""
        self._line(text)

    def woven(self, *tasks: Callable[[], Any]) -> list[Any]:
        """What tasks without blocks of their own give; their lines are mixed, each in its order.

        Processors look only so far ahead: where one task waits, the others' lines must be near.
        """
        emit, results, every = self._line, [], []
        for task in tasks:
            lines: list[str] = []
            self._line = lines.append
            results.append(task())
            every += [(n / len(lines), line) for n, line in enumerate(lines)]
        self._line = emit
        for _, line in sorted(every, key=lambda one: one[0]):
            emit(line)
        return results

    def call_raw(self, function: str, result: str, *args: str) -> str:
        """A call of an intrinsic on typed operands; the result's name."""
        return self._raw(self._call(function, result, *args))

    def branch_rarely(
        self, some: str, usual: list[str], otherwise: Callable[[], list[str]]
    ) -> list[str]:
        """A branch if `some` (an i1): `usual` or, then, what `otherwise` gives; all are typed.

        Its blocks are written as lines; nobody who writes lines needs to know them.
        """
        here, rare, end, done = (f"{self._name()[1:]}.{s}" for s in ("now", "rare", "end", "done"))
        self._line(f"br label %{here}")
        self._line(f"{here}:")
        self._emitter.helper(*RARE)
        self._line(f"br i1 {some}, label %{rare}, label %{done}, !prof {RARE[0]}")
        self._line(f"{rare}:")
        others = otherwise()
        self._line(f"br label %{end}")
        self._line(f"{end}:")
        self._line(f"br label %{done}")
        self._line(f"{done}:")
        return self._met((here, usual), (end, others))

    def either(
        self, some: str, first: Callable[[], list[str]], second: Callable[[], list[str]]
    ) -> list[str]:
        """A branch: what `first` gives if `some` (an i1), else what `second` gives, both typed."""
        number, ways = self._name()[1:], []
        self._line(f"br i1 {some}, label %{number}.first, label %{number}.second")
        for name, task in (("first", first), ("second", second)):
            self._line(f"{number}.{name}:")
            ways.append((f"{number}.{name}.end", task()))
            self._line(f"br label %{number}.{name}.end")
            self._line(f"{number}.{name}.end:")
            self._line(f"br label %{number}.done")
        self._line(f"{number}.done:")
        return self._met(*ways)

    def _met(self, *ways: tuple[str, list[str]]) -> list[str]:
        """Where blocks meet, what each (label, typed values) brings."""
        labels, values = zip(*ways, strict=True)
        found = []
        for some in zip(*values, strict=True):
            kind = _type_of(some[0])
            pairs = ", ".join(
                f"[{value.removeprefix(kind)}, %{label} ]"
                for value, label in zip(some, labels, strict=True)
            )
            found.append(f"{kind} " + self._raw(f"phi {kind} {pairs}"))
        return found

    def values_of(self, types: list[str], typed: list[str]) -> list[Value]:
        """Values from typed operands."""
        return [
            Value(type, one.removeprefix(self.types[type]).strip())
            for type, one in zip(types, typed, strict=True)
        ]

    def slice(self, a: Value, first: int, lanes: int) -> str:
        """Lanes [first, first + lanes) as a shorter vector."""
        vector = self.types[a.type]
        mask = _lane_list(first, lanes)
        return self._raw(f"shufflevector {vector} {a.ref}, {vector} poison, {mask}")

    def join(self, type: str, pieces: list[str]) -> Value:
        """The concatenation of equal pieces; the inverse of `slice`."""
        lanes = self.width // len(pieces)
        while len(pieces) > 1:
            vector = f"<{lanes} x {ELEMENT[type]}>"
            lanes *= 2
            mask = _lane_list(0, lanes)
            pieces = [
                self._raw(f"shufflevector {vector} {left}, {vector} {right}, {mask}")
                for left, right in zip(pieces[::2], pieces[1::2], strict=True)
            ]
        return Value(type, pieces[0])


@cache
def _lane_list(first: int, lanes: int) -> str:
    """The mask of a `shufflevector` that takes consecutive lanes."""
    numbers = ", ".join(f"i32 {n}" for n in range(first, first + lanes))
    return f"<{lanes} x i32> <{numbers}>"


def _type_of(arg: str) -> str:
    """The type of a typed operand: `<32 x i32> %5` gives `<32 x i32>`."""
    if arg[0] == "<":
        return arg[: arg.index(">") + 1]
    return arg[: arg.index(" ")]
