"""Types and values of compiled functions, and how NumPy's types stand in memory.

There are few: 64-bit integers, doubles, truth values; arrays and records by reference; tuples of
these. Whatever is read from memory is widened at once, so that an expression has one meaning
whatever the width of the field that it came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

I1, I8, I32, I64 = (ir.IntType(n) for n in (1, 8, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
POINTER = I8.as_pointer()


class NotCompilable(TypeError):
    """A function uses something outside the compiled subset; says where and what."""

    line: int | None = None  # of the function's source


@dataclass(frozen=True, slots=True)
class Scalar:
    """The type of a number, or of nothing."""

    name: str


INT, FLOAT, BOOL, NOTHING = (Scalar(name) for name in ("int", "float", "bool", "nothing"))


@dataclass(frozen=True, slots=True)
class Storage:
    """A number in memory: kind as in NumPy (i, u, f, b) and size."""

    kind: str
    size: int

    @property
    def loaded(self) -> Scalar:
        """What it is after loading."""
        return {"f": FLOAT, "b": BOOL}.get(self.kind, INT)

    @property
    def memory(self) -> Any:
        """Its LLVM type in memory."""
        if self.kind == "f":
            return F32 if self.size == 4 else F64
        return ir.IntType(8 * self.size)


@dataclass(frozen=True, slots=True)
class Record:
    """A reference to one element of a structured array."""

    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Array:
    """A reference to a C-contiguous array; `tag` names the memory for alias analysis."""

    item: Storage | Record
    ndim: int
    tag: str


@dataclass(frozen=True, slots=True)
class Tuple:
    """Several values; with names, a named tuple."""

    items: tuple[Type, ...]
    names: tuple[str, ...] = ()


Type = Scalar | Record | Array | Tuple


@dataclass(frozen=True, slots=True)
class Value:
    """A value that compiled code computes: the LLVM values that hold it."""

    type: Type
    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A value that is known while compiling: a number, a function, a module, ..."""

    value: Any


def storage_of(dtype: np.dtype[Any]) -> Storage | Record:
    """How elements of a NumPy type stand in memory."""
    if dtype.names is not None:
        return Record(dtype)
    if dtype.kind not in "iufb" or (dtype.kind == "f" and dtype.itemsize not in (4, 8)):
        raise NotCompilable(f"values of type {dtype} are not supported")
    if dtype.kind == "u" and dtype.itemsize == 8:
        raise NotCompilable("uint64 does not fit into compiled integers; use int64")
    return Storage(dtype.kind, dtype.itemsize)


def size_of(item: Storage | Record) -> int:
    """Bytes of an element."""
    return item.size if isinstance(item, Storage) else int(item.dtype.itemsize)


def array_of(dtype: np.dtype[Any], ndim: int, tag: str = "") -> Array:
    """The type of an array; arrays of one element type may overlap, others do not."""
    item = storage_of(dtype)
    return Array(item, ndim, tag or f"{dtype.kind}{dtype.itemsize}[]")


def llvm_types(kind: Type) -> list[Any]:
    """The LLVM types of the parts of a value."""
    if isinstance(kind, Tuple):
        return [part for item in kind.items for part in llvm_types(item)]
    if isinstance(kind, Array):
        return [POINTER] + [I64] * kind.ndim
    if isinstance(kind, Record):
        return [POINTER]
    return {"int": [I64], "float": [F64], "bool": [I1], "nothing": []}[kind.name]


def join(a: Type, b: Type) -> Type:
    """The type that holds values of both."""
    if a == b:
        return a
    if isinstance(a, Scalar) and isinstance(b, Scalar) and NOTHING not in (a, b):
        return FLOAT if FLOAT in (a, b) else INT
    if isinstance(a, Array) and isinstance(b, Array) and (a.item, a.ndim) == (b.item, b.ndim):
        return Array(a.item, a.ndim, "")
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        return Tuple(tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True)), a.names)
    raise NotCompilable(f"a value is {describe(a)} here and {describe(b)} there")


def describe(kind: Type) -> str:
    """A type in words, for messages."""
    if isinstance(kind, Scalar):
        return kind.name
    if isinstance(kind, Record):
        return f"a record with {', '.join((kind.dtype.names or ())[:3])}, …"
    if isinstance(kind, Array):
        return f"an array of {kind.ndim} dimensions"
    return f"({', '.join(describe(item) for item in kind.items)})"
