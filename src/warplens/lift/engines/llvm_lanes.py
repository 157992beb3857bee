"""The LLVM engine: the primitives of isa/lanes.py, written as textual LLVM IR.

A value of 32 lanes is one vector (`<32 x i32>`, predicates `<32 x i1>`), a value of the uniform
datapath (width 1) a plain scalar. No pass may change a result: there are no fast-math flags.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from warplens.lift.engines.host import HostFeatures
from warplens.lift.engines.llvm_float import LlvmFloat
from warplens.lift.engines.llvm_text import Emitter, Value

__all__ = ["Emitter", "HostFeatures", "LlvmLanes", "Value", "prepare_symbols"]


def prepare_symbols() -> None:
    """Makes the C functions known that code for lesser hosts calls, such as fma."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    for name in ("fma", "fmaf", "roundeven", "roundevenf", "trunc", "truncf", "floor", "floorf",
                 "ceil", "ceilf"):  # fmt: skip
        function = getattr(library, name, None)
        if function is not None:
            address = ctypes.cast(function, ctypes.c_void_p).value
            llvm.add_symbol(name, address)


class _FunctionEmitter:
    """Collects the lines of a module-level function and the helpers that it needs."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.helpers: dict[str, str] = {}
        self._next = 0

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def name(self) -> str:
        self._next += 1
        return f"%x{self._next}"

    def helper(self, name: str, ir: str) -> None:
        self.helpers.setdefault(name, ir)


@dataclass(frozen=True, slots=True)
class _SharedFunction:
    """A function made by `LlvmLanes.shared`: its text, result types and whether it is a tuple."""

    ir: str
    helpers: dict[str, str]
    results: tuple[str, ...]
    is_tuple: bool


_shared_functions: dict[tuple[str, str], _SharedFunction] = {}


class LlvmLanes(LlvmFloat):
    """Emits one instruction's semantics into an open basic block.

    Args:
        emitter: takes the lines, names and module-level helpers.
        width: 32, or 1 for the uniform datapath.
        active: name of the `<32 x i1>` mask of executing lanes; None if all are.
        features: what the host can do.
    """

    # across lanes

    def lane_id(self) -> Value:
        return self.const("u32", tuple(range(self.width)))

    def active(self) -> Value:
        return self.true() if self._active is None else Value("p", self._active)

    def ballot_scalar(self, p: Value) -> str:
        """The ballot as one i32, without spreading it over the lanes."""
        if self.width == 1:
            return self._raw(f"zext i1 {p.ref} to i32")
        voted = self.pand(p, self.active())
        if isinstance(voted.const, int):
            return str(0xFFFFFFFF if voted.const else 0)
        if voted.const is not None:
            return str(sum(bit << lane for lane, bit in enumerate(voted.const)))
        return self._raw(f"bitcast <32 x i1> {voted.ref} to i32")

    def ballot(self, p: Value) -> Value:
        scalar = self.ballot_scalar(p)
        if not scalar.startswith("%"):
            return self.u32(int(scalar))
        return self.broadcast("u32", scalar)

    def gather_lane(self, a: Value, index: Value) -> Value:
        if a.scalar is not None or isinstance(a.const, int):
            return a
        if a.type != "u32":
            return self._gather_other(a, index)
        if index.const is not None:
            lanes = index.const if isinstance(index.const, tuple) else (index.const,) * 32
            mask = ", ".join(f"i32 {n & 31}" for n in lanes)
            sources = f"<32 x i32> {a.ref}, <32 x i32> poison"
            return self.emit("u32", f"shufflevector {sources}, <32 x i32> <{mask}>")
        if self.features.has_avx512:
            return self._gather_permute(a, index)
        if self.features.has_avx2:
            return self._gather_eighths(a, index)
        return self._gather_memory(a, index)

    def _gather_other(self, a: Value, index: Value) -> Value:
        if a.type == "p":
            words = self.select(a, self.u32(1), self.u32(0))
            return self.icmp("ne", self.gather_lane(words, index), self.u32(0))
        if a.type == "u64":
            low = self.gather_lane(self.low32(a), index)
            return self.pair(low, self.gather_lane(self.high32(a), index))
        pattern = self._pattern(a)
        if pattern.type != "bf16":
            return self._float(self.gather_lane(pattern, index), a.type)
        return self._float(self._to_small(self.gather_lane(self.raw_bits(a), index)), a.type)

    def _gather_permute(self, a: Value, index: Value) -> Value:
        low, high = (self.slice(a, first, 16) for first in (0, 16))
        half = "<16 x i32>"
        pieces = [
            self.call_raw(
                "llvm.x86.avx512.vpermi2var.d.512",
                half,
                f"{half} {low}",
                f"{half} {self.slice(index, first, 16)}",
                f"{half} {high}",
            )
            for first in (0, 16)
        ]
        return self.join("u32", pieces)

    def _gather_eighths(self, a: Value, index: Value) -> Value:
        """AVX2 permutes eight lanes by the low three bits; the other two choose among four."""
        kind = "<8 x i32>"
        tables = [f"{kind} {self.slice(a, first, 8)}" for first in range(0, 32, 8)]
        pieces = []
        for first in range(0, 32, 8):
            places = f"{kind} {self.slice(index, first, 8)}"
            found = [self.call_raw("llvm.x86.avx2.permd", kind, table, places) for table in tables]
            for bit in (8, 16):
                masked = self._raw(f"and {places}, splat (i32 {bit})")
                is_set = self._raw(f"icmp ne {kind} {masked}, zeroinitializer")
                found = [
                    self._raw(f"select <8 x i1> {is_set}, {kind} {odd}, {kind} {even}")
                    for even, odd in zip(found[::2], found[1::2], strict=True)
                ]
            pieces += found
        return self.join("u32", pieces)

    def _gather_memory(self, a: Value, index: Value) -> Value:
        """Stores the lanes and loads them by index, in a function so that the buffer is its own."""
        name = "warplens.gather.lane"
        lines = [
            f"define internal <32 x i32> @{name}(<32 x i32> %a, <32 x i32> %index) noinline {{",
            "  %buffer = alloca <32 x i32>, align 128",
            "  store <32 x i32> %a, ptr %buffer, align 128",
            "  %i = and <32 x i32> %index, splat (i32 31)",
        ]
        result = "poison"
        for lane in range(32):
            lines += [
                f"  %i{lane} = extractelement <32 x i32> %i, i32 {lane}",
                f"  %p{lane} = getelementptr i32, ptr %buffer, i32 %i{lane}",
                f"  %v{lane} = load i32, ptr %p{lane}, align 4",
                f"  %r{lane} = insertelement <32 x i32> {result}, i32 %v{lane}, i32 {lane}",
            ]
            result = f"%r{lane}"
        lines += [f"  ret <32 x i32> {result}", "}"]
        self.add_helper(name, "\n".join(lines))
        return self.emit("u32", f"call <32 x i32> @{name}({self._arg(a)}, {self._arg(index)})")

    def first_active(self, a: Value) -> Value:
        if self.width == 1 or a.scalar is not None:
            return a
        if self._active is None:
            return self.broadcast(a.type, self.scalar(a))
        mask = self._raw(f"bitcast <32 x i1> {self._active} to i32")
        count = self.call_raw("llvm.cttz.i32", "i32", f"i32 {mask}", "i1 false")
        lane = self._raw(f"and i32 {count}, 31")
        if a.type == "p":
            word = self._raw(f"bitcast <32 x i1> {a.ref} to i32")
            bit = self._raw(f"lshr i32 {word}, {lane}")
            return self.broadcast("p", self._raw(f"trunc i32 {bit} to i1"))
        return self.broadcast(
            a.type, self._raw(f"extractelement {self.types[a.type]} {a.ref}, i32 {lane}")
        )

    def _shared_function(
        self, name: str, function: Callable[..., Any], args: tuple[Value, ...]
    ) -> tuple[str, _SharedFunction]:
        symbol = f"warplens.shared.{name}.{self.width}"
        key = symbol, self.features.key()
        made = _shared_functions.get(key)
        if made is None:
            made = _shared_functions[key] = self._make_shared(symbol, function, args)
        if symbol not in self._declared:
            self._declared.add(symbol)
            for helper, ir in made.helpers.items():
                self._emitter.helper(helper, ir)
            self._emitter.helper(symbol, made.ir)
        return symbol, made

    def shared_name(self, name: str, function: Callable[..., Any], *args: Value) -> str:
        """As `shared`, for helpers that call the function themselves: its name."""
        return self._shared_function(name, function, args)[0]

    def shared(self, name: str, function: Callable[..., Any], *args: Value) -> Any:
        symbol, made = self._shared_function(name, function, args)
        kind = "{ " + ", ".join(self.types[t] for t in made.results) + " }"
        operands = ", ".join(self._arg(a) for a in args)
        whole = self._raw(f"call {kind} @{symbol}({operands})")
        values = tuple(
            self.emit(type, f"extractvalue {kind} {whole}, {i}")
            for i, type in enumerate(made.results)
        )
        return values if made.is_tuple else values[0]

    def rarely(
        self, p: Value, usual: tuple[Value, ...], otherwise: Callable[[], tuple[Value, ...]]
    ) -> tuple[Value, ...]:
        some = p.ref
        if self.width > 1:
            word = self._raw(f"bitcast {self._arg(p)} to i{self.width}")
            some = self._raw(f"icmp ne i{self.width} {word}, 0")
        found = self.branch_rarely(
            some, [self._arg(a) for a in usual], lambda: [self._arg(a) for a in otherwise()]
        )
        return tuple(self.values_of([a.type for a in usual], found))

    def _make_shared(
        self, symbol: str, function: Callable[..., Any], args: tuple[Value, ...]
    ) -> _SharedFunction:
        emitter = _FunctionEmitter()
        inner = type(self)(emitter, self.width, None, self.features)
        result = function(inner, *(Value(a.type, f"%a{i}") for i, a in enumerate(args)))
        values = result if isinstance(result, tuple) else (result,)
        kind = "{ " + ", ".join(self.types[v.type] for v in values) + " }"
        whole = "poison"
        for i, value in enumerate(values):
            element = f"{self.types[value.type]} {value.ref}"
            whole = inner._raw(f"insertvalue {kind} {whole}, {element}, {i}")
        parameters = ", ".join(f"{self.types[a.type]} %a{i}" for i, a in enumerate(args))
        ir = "\n".join(
            [
                f"define internal {kind} @{symbol}({parameters}) noinline {{",
                *emitter.lines,
                f"  ret {kind} {whole}",
                "}",
            ]
        )
        types = tuple(v.type for v in values)
        return _SharedFunction(ir, emitter.helpers, types, isinstance(result, tuple))

    def table(self, words: tuple[int, ...], index: Value) -> Value:
        folded = self._fold("u32", lambda n: words[n], index)
        if folded is not None:
            return folded
        if self.features.has_avx512 and self.width == 32 and len(words) <= 128:
            return self._table_permute(words, index)
        name = f"warplens.table.{len(words)}.{hash(words) & 0xFFFFFFFFFFFFFFFF:x}"
        kind = f"[{len(words)} x i32]"
        if name not in self._declared:
            body = ", ".join(f"i32 {word & 0xFFFFFFFF}" for word in words)
            array = f"private unnamed_addr constant {kind} [{body}], align 64"
            self.add_helper(name, f"@{name} = {array}")
        if self.width == 1:
            place = self._raw(f"getelementptr {kind}, ptr @{name}, i32 0, i32 {index.ref}")
            return self.emit("u32", f"load i32, ptr {place}, align 4")
        zero = "<32 x i32> zeroinitializer"
        places = self._raw(f"getelementptr {kind}, ptr @{name}, {zero}, {self._arg(index)}")
        return self.emit(
            "u32",
            self._call(
                "llvm.masked.gather.v32i32.v32p0",
                "<32 x i32>",
                f"<32 x ptr> {places}",
                "i32 4",
                "<32 x i1> splat (i1 true)",
                "<32 x i32> poison",
            ),
        )

    def _table_permute(self, words: tuple[int, ...], index: Value) -> Value:
        """Tables of up to 128 words by two-register permutes of 32: far cheaper than gathers."""
        kind = "<16 x i32>"
        size = max(32, 1 << (len(words) - 1).bit_length())
        padded = [word & 0xFFFFFFFF for word in words] + [0] * (size - len(words))
        rows = [
            f"{kind} <" + ", ".join(f"i32 {word}" for word in padded[i : i + 16]) + ">"
            for i in range(0, size, 16)
        ]
        pieces = []
        for first in (0, 16):
            places = f"{kind} {self.slice(index, first, 16)}"
            found = [
                self.call_raw("llvm.x86.avx512.vpermi2var.d.512", kind, low, places, high)
                for low, high in zip(rows[::2], rows[1::2], strict=True)
            ]
            bit = 32
            while len(found) > 1:
                masked = self._raw(f"and {places}, splat (i32 {bit})")
                is_set = self._raw(f"icmp ne {kind} {masked}, zeroinitializer")
                found = [
                    self._raw(f"select <16 x i1> {is_set}, {kind} {odd}, {kind} {even}")
                    for even, odd in zip(found[::2], found[1::2], strict=True)
                ]
                bit *= 2
            pieces += found
        return self.join("u32", pieces)
