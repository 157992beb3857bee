"""Runs a semantics function on either engine, over plain NumPy arrays, and compares the results."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from warplens.lift.engines.host import HostFeatures, host_features
from warplens.lift.engines.llvm_lanes import LlvmLanes, Value, prepare_symbols
from warplens.lift.engines.numpy_lanes import DTYPES, NumpyLanes, NumpyValue

Array = np.ndarray[Any, Any]
STORED = {"u32": "i32", "u64": "i64", "f32": "float", "f64": "double", "f16": "half", "bf16": "i16"}


class TextEmitter:
    """Collects lines and module-level helpers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.helpers: dict[str, str] = {}
        self._next = 0

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def name(self) -> str:
        self._next += 1
        return f"%x{self._next}"

    def helper(self, name: str, ir: str) -> None:
        self.helpers.setdefault(name, ir)


@dataclass
class Typed:
    """One operand: its protocol type and one element per lane (predicates as bool)."""

    type: str
    array: Array = field(repr=False)


@cache
def _initialize() -> bool:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    prepare_symbols()
    return True


def _lanes_of(types: Sequence[str], width: int, emitter: TextEmitter) -> list[Value]:
    values = []
    for n, type in enumerate(types):
        element = STORED.get(type, "i32")
        kind = element if width == 1 else f"<{width} x {element}>"
        if type == "p":
            emitter.line(f"%m{n} = load i32, ptr %in{n}, align 1")
            cast = "trunc i32 %m{} to i1" if width == 1 else "bitcast i32 %m{} to <32 x i1>"
            emitter.line(f"%v{n} = " + cast.format(n))
        else:
            emitter.line(f"%v{n} = load {kind}, ptr %in{n}, align 1")
        values.append(Value(type, f"%v{n}"))
    return values


def _store(x: LlvmLanes, emitter: TextEmitter, results: Sequence[Value]) -> None:
    for n, value in enumerate(results):
        if value.type == "p":
            mask = emitter.name()
            if x.width == 1:
                emitter.line(f"{mask} = zext i1 {value.ref} to i32")
            else:
                emitter.line(f"{mask} = bitcast <32 x i1> {value.ref} to i32")
            emitter.line(f"store i32 {mask}, ptr %out{n}, align 1")
        else:
            emitter.line(f"store {x.types[value.type]} {value.ref}, ptr %out{n}, align 1")


class Compiled:
    """A semantics function compiled for fixed operand types."""

    def __init__(
        self,
        function: Callable[..., Any],
        types: Sequence[str | Value],
        width: int = 32,
        features: HostFeatures | None = None,
        opt: int = 0,
    ) -> None:
        _initialize()
        self.features = features or host_features()
        self.width = width
        emitter = TextEmitter()
        if width == 32:
            emitter.line("%active = bitcast i32 %mask to <32 x i1>")
        x = LlvmLanes(emitter, width, "%active" if width == 32 else None, self.features)
        results = function(x, *_lanes_of(types, width, emitter))
        results = results if isinstance(results, tuple) else (results,)
        self.types = [value.type for value in results]
        _store(x, emitter, results)
        pointers = [f"ptr %in{n}" for n in range(len(types))]
        pointers += [f"ptr %out{n}" for n in range(len(results))]
        self.ir = "\n".join(
            [
                *emitter.helpers.values(),
                f"define void @f({', '.join(['i32 %mask', *pointers])}) {{",
                *emitter.lines,
                "  ret void",
                "}",
            ]
        )
        self._link(len(types) + len(results), opt)

    def _link(self, n_pointers: int, opt: int) -> None:
        module = llvm.parse_assembly(self.ir)
        module.verify()
        target = llvm.Target.from_default_triple()
        self._machine = target.create_target_machine(
            cpu=self.features.cpu, features=self.features.features, opt=opt, jit=True
        )
        if opt:
            builder = llvm.create_pass_builder(
                self._machine, llvm.create_pipeline_tuning_options(speed_level=opt)
            )
            builder.getModulePassManager().run(module, builder)
        self._engine = llvm.create_mcjit_compiler(module, self._machine)
        self._engine.finalize_object()
        address = self._engine.get_function_address("f")
        kinds = [ctypes.c_uint32] + [ctypes.c_void_p] * n_pointers
        self._call = ctypes.CFUNCTYPE(None, *kinds)(address)

    def __call__(self, active: Array, *inputs: Array) -> list[Array]:
        """The results as arrays; `inputs` are in the operand types' order."""
        buffers = [_to_buffer(array) for array in inputs]
        outputs = [
            np.zeros(1, np.uint32) if type == "p" else np.zeros(self.width, DTYPES[type])
            for type in self.types
        ]
        self._call(_mask(active), *[b.ctypes.data for b in (*buffers, *outputs)])
        return [
            _to_bools(output, self.width) if type == "p" else output
            for type, output in zip(self.types, outputs, strict=True)
        ]


def _mask(bools: Array) -> int:
    return int(sum(1 << lane for lane, on in enumerate(bools.tolist()) if on))


def _to_buffer(array: Array) -> Array:
    if array.dtype == bool:
        return np.array([_mask(array)], np.uint32)
    return np.ascontiguousarray(array)


def _to_bools(word: Array, width: int) -> Array:
    return np.array([bool(int(word[0]) >> lane & 1) for lane in range(width)])


def run_numpy(function: Callable[..., Any], active: Array, inputs: Sequence[Typed]) -> list[Array]:
    """The function's results on the NumPy engine."""
    x = NumpyLanes(active)
    results = function(x, *[NumpyValue(item.type, item.array) for item in inputs])
    results = results if isinstance(results, tuple) else (results,)
    return [value.array for value in results]


def assert_lanes_equal(expected: Sequence[Array], actual: Sequence[Array], *inputs: Array) -> None:
    """Bit-for-bit equality; prints the first lanes that differ, in hexadecimal, with inputs."""
    assert len(expected) == len(actual)
    for n, (left, right) in enumerate(zip(expected, actual, strict=True)):
        left_bits, right_bits = bits_of(left), bits_of(right)
        if np.array_equal(left_bits, right_bits):
            continue
        lines = [f"result {n} differs:"]
        for lane in np.flatnonzero(left_bits != right_bits)[:8]:
            sources = " ".join(f"{int(bits_of(i)[lane]):#x}" for i in inputs)
            lines.append(
                f"  lane {lane}: expected {int(left_bits[lane]):#x} got "
                f"{int(right_bits[lane]):#x} from {sources}"
            )
        raise AssertionError("\n".join(lines))


def bits_of(array: Array) -> Array:
    """The array's bit patterns as unsigned integers."""
    if array.dtype == bool:
        return array.astype(np.uint8)
    return array.view(f"u{array.dtype.itemsize}")
