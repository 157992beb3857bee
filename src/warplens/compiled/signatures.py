"""C types for the signatures of intrinsics and of functions that C code calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from warplens.compiled.values import FLOAT, INT, NOTHING, POINTER, Scalar


@dataclass(frozen=True, slots=True)
class Signature:
    """A result and arguments."""

    result: CType
    arguments: tuple[CType, ...]


@dataclass(frozen=True, slots=True)
class CType:
    """A C type: its name, how it is passed, and what it is in compiled functions."""

    name: str
    memory: Any
    scalar: Scalar

    def __call__(self, *arguments: CType) -> Signature:
        """The signature of a function that returns this."""
        return Signature(self, arguments)


void = CType("void", ir.VoidType(), NOTHING)
int32 = CType("int32", ir.IntType(32), INT)
int64 = CType("int64", ir.IntType(64), INT)
float64 = CType("float64", ir.DoubleType(), FLOAT)
pointer = CType("pointer", POINTER, INT)
