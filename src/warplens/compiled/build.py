"""Modules of compiled functions: every function that an entry reaches, optimised together."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import threading
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from warplens.compiled.translate import Translator, Widened
from warplens.compiled.values import (
    BOOL,
    F64,
    FLOAT,
    I32,
    I64,
    INT,
    NOTHING,
    Known,
    NotCompilable,
    Tuple,
    Type,
    Value,
    describe,
    llvm_types,
)
from warplens.toolchain.cache import default_cache, shipped_cache, source_files, sources

lock = threading.RLock()
_engines: list[Any] = []  # own the machine code, which lives as long as the process
KIND = "compiled"  # in the cache
_X86_64_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
RESULTS: tuple[Type, ...] = (INT, FLOAT, BOOL)  # what an entry may return to Python, or tuples
# compiled into functions of other packages
_SHARED = ("compiled/*.py", "execute/**/*.py", "lift/layout.py")


class Intrinsic:
    """A function that emits LLVM instructions itself; see `compiled.intrinsic`."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any) -> Any:
        """Python cannot call one."""
        raise NotCompilable(f"{self.function.__name__} works in compiled functions only")

    def emit(self, translator: Translator, args: list[Value | Known]) -> Value:
        """Emits one use."""
        signature, codegen = self.function(None, *args)
        values = [translator.number(a, t.scalar)
                  for a, t in zip(args, signature.arguments, strict=True)]  # fmt: skip
        result = codegen(_Context, translator.builder, signature, values)
        if signature.result.scalar == NOTHING:
            return Value(NOTHING, ())
        return Value(signature.result.scalar, (result,))


class _Context:
    """What code generation of an intrinsic may ask for."""

    @staticmethod
    def get_dummy_value() -> None:
        """The result of one that gives nothing."""
        return None


@functools.cache
def _tree_of(function: Any) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise NotCompilable("only functions can be compiled")
    return tree


class Module:
    """One LLVM module and the specialisations in it."""

    def __init__(self) -> None:
        self.ir: Any = ir.Module()
        self._made: dict[tuple[Any, tuple[Type, ...]], tuple[Any, Type]] = {}
        self._open: list[Any] = []  # being emitted
        self._count = 0

    def specialise(self, function: Any, kinds: tuple[Type, ...]) -> tuple[Any, Type]:
        """The LLVM function for argument types, and the type of its result."""
        found = self._made.get((function, kinds))
        if found is not None:
            return found
        if function in self._open:
            raise NotCompilable(f"{function.__name__} calls itself, which is not supported")
        self._open.append(function)
        types: dict[str, Type] = {}  # known better after every attempt
        made = None
        while made is None:
            made = self._emit(function, kinds, types)
        self._open.pop()
        self._made[function, kinds] = made, types["return"]
        return made, types["return"]

    def _emit(self, function: Any, kinds: tuple[Type, ...], types: dict[str, Type]) -> Any:
        """The function, or None if the types of its variables were not known well enough."""
        tree = _tree_of(function)
        names = [argument.arg for argument in tree.args.args]
        if len(names) != len(kinds):
            raise NotCompilable(f"{function.__name__} takes {len(names)} arguments")
        result = _result(types.get("return"))
        parts = [part for kind in kinds for part in llvm_types(kind)]
        self._count += 1
        name = f"{function.__name__}.{self._count}"
        made = ir.Function(self.ir, ir.FunctionType(result, parts), name)
        made.linkage = "internal"
        made.attributes.add("nounwind")
        translator = Translator(self.ir, made, function.__globals__, self._call, types)
        try:
            translator.run(tree, _distribute(names, kinds, made.args))
            if _result(types["return"]) == result:
                return made
        except NotCompilable as error:
            raise _located(error, function) from error
        except Widened:
            pass
        del self.ir.globals[name]
        return None

    def _call(self, translator: Translator, callee: Any,
              args: list[Value | Known]) -> Value | None:  # fmt: skip
        if isinstance(callee, Intrinsic):
            return callee.emit(translator, args)
        function = getattr(callee, "py_func", None)
        if function is None:
            return None
        values = [translator.value(arg) for arg in args]
        made, result = self.specialise(function, tuple(value.type for value in values))
        parts = [part for value in values for part in value.parts]
        answer = translator.builder.call(made, parts)
        count = len(llvm_types(result))
        if count <= 1:
            return Value(result, (answer,) * count)
        extract = translator.builder.extract_value
        return Value(result, tuple(extract(answer, i) for i in range(count)))


def _result(kind: Type | None) -> Any:
    """The LLVM type of a result."""
    parts = [] if kind is None else llvm_types(kind)
    if len(parts) > 1:
        return ir.LiteralStructType(parts)
    return parts[0] if parts else ir.VoidType()


def _distribute(names: list[str], kinds: tuple[Type, ...], parts: Any) -> dict[str, Value]:
    """Arguments from the parts that hold them."""
    found, at = {}, 0
    for name, kind in zip(names, kinds, strict=True):
        count = len(llvm_types(kind))
        found[name] = Value(kind, tuple(parts[at : at + count]))
        at += count
    return found


def _located(error: NotCompilable, function: Any) -> NotCompilable:
    """The error with file and line, once."""
    if error.line is None:
        return error
    code = function.__code__
    line = code.co_firstlineno + error.line - 1
    return NotCompilable(f"{code.co_filename}:{line}: {function.__name__}: {error}")


def _patterns(package: str) -> tuple[str, ...]:
    return (*_SHARED, f"{package}/**/*.py")


def files_of(package: str) -> list[Path]:
    """All files that functions of a package compile in."""
    return source_files(*_patterns(package))


def key_of(function: Any, kinds: Any) -> str:
    """Under which an entry's machine code is kept; empty for functions outside the package."""
    module = function.__module__.split(".")
    if module[0] != "warplens":
        return ""
    names = f"{function.__module__}.{function.__qualname__} {kinds}"
    made_of = sources(*_patterns(module[1]))
    return f"{made_of} {llvm.get_default_triple()} {' '.join(_processor())} {names}"


@functools.cache
def _processor() -> tuple[str, str]:
    """Processor and features to compile for: of x86 what all have had for ten years, so that code
    compiled elsewhere can be used. The few vectors in these functions need no more."""
    features = llvm.get_host_cpu_features()
    if all(features.get(name) for name in _X86_64_V3):
        return "x86-64-v3", ""
    return llvm.get_host_cpu_name(), features.flatten()


def _optimise(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False  # short loops; slow to compile
    options.inlining_threshold = 100  # of 225: as fast, and compiled in two thirds of the time
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _compile(module: Any, machine: Any, target: Any) -> bytes:
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    _optimise(parsed, machine)
    data: bytes = machine.emit_object(parsed)
    return data


def load(key: str, make: Any) -> int:
    """Address of "entry" in the machine code kept under a key; `make` gives its IR if none is.

    Processes that start at once may compile the same code twice; whichever is kept, it is equal.
    """
    with lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(
            cpu=_processor()[0], features=_processor()[1],
            opt=2, reloc="static", codemodel="large",
        )  # fmt: skip
        cache = default_cache()
        data = (shipped_cache().get(KIND, key) or cache.get(KIND, key)) if key else None
        if data is None:
            data = _compile(make(), machine, target)
            if key:
                cache.put(KIND, key, data)
        # one block for all sections: see lift/jit.py
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, use_lmm=True)
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
        _engines.append(engine)
        return int(engine.get_function_address("entry"))


def block_entry(function: Any, kinds: tuple[Type, ...]) -> Any:
    """IR of an entry with its arguments in a block of slots, where it also puts its result.

    It returns what the result is: its number of items, then two bits for each.
    """
    module = Module()
    made, result = module.specialise(function, kinds)
    entry = ir.Function(module.ir, ir.FunctionType(I64, [I64.as_pointer()]), "entry")
    b = ir.IRBuilder(entry.append_basic_block())
    args = []
    for i, kind in enumerate(part for k in kinds for part in llvm_types(k)):
        raw = b.load(b.gep(entry.args[0], [I64(i)]))
        if isinstance(kind, ir.PointerType):
            args.append(b.inttoptr(raw, kind))
        elif kind == F64:
            args.append(b.bitcast(raw, kind))
        else:
            args.append(raw if kind == I64 else b.trunc(raw, kind))
    answer = b.call(made, args)
    scalars = result.items if isinstance(result, Tuple) else (result,) * (result != NOTHING)
    code = len(scalars)
    for i, scalar in enumerate(scalars):
        if scalar not in RESULTS:
            raise NotCompilable(f"{function.__name__} returns {describe(scalar)} to Python")
        part = answer if len(scalars) == 1 else b.extract_value(answer, i)
        part = b.bitcast(part, I64) if scalar == FLOAT else part
        b.store(b.zext(part, I64) if scalar == BOOL else part, b.gep(entry.args[0], [I64(i)]))
        code |= RESULTS.index(scalar) << 8 + 2 * i
    b.ret(I64(code))
    return module.ir


def c_entry(function: Any, signature: Any) -> Any:
    """IR of an entry that C code calls."""
    module = Module()
    kind = ir.FunctionType(signature.result.memory, [t.memory for t in signature.arguments])
    entry = ir.Function(module.ir, kind, "entry")
    b = ir.IRBuilder(entry.append_basic_block())
    args = []
    for part, given in zip(entry.args, signature.arguments, strict=True):
        if isinstance(given.memory, ir.PointerType):
            part = b.ptrtoint(part, I64)
        args.append(b.sext(part, I64) if given.memory == I32 else part)
    made, result = module.specialise(function, tuple(t.scalar for t in signature.arguments))
    if result != signature.result.scalar:
        raise NotCompilable(f"{function.__name__} returns {describe(result)}")
    answer = b.call(made, args)
    if result == NOTHING:
        b.ret_void()
    else:
        b.ret(b.trunc(answer, I32) if signature.result.memory == I32 else answer)
    return module.ir
