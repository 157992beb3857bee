"""Python functions compiled to machine code: a small subset of the language, typed by use.

Here are the translator to LLVM, the decorators and what compiled functions may call besides each
other. Of warplens this package imports the cache on disk and nothing else.

Numbers are 64-bit integers and doubles, memory is NumPy arrays and records of them; `translate.py`
tells what may be written. A decorated function is compiled when it is first called from Python (or
its address is asked for), together with everything that it calls, for the types of its arguments.
The machine code is kept on disk under a digest of all sources. Calls release the GIL.

    @native
    def largest(values: Ints) -> int:
        best = values[0]
        for i in range(values.size):
            best = max(best, values[i])
        return best

    largest(np.arange(10))            # machine code
    largest.py_func(np.arange(10))    # the Python function, for tests
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from warplens.compiled import signatures as types
from warplens.compiled.build import Intrinsic
from warplens.compiled.entry import CFunction, Function
from warplens.compiled.values import NotCompilable

__all__ = ["NotCompilable", "carray", "cfunc", "intrinsic", "native", "record_at", "types"]

P = ParamSpec("P")
R = TypeVar("R")


def native(function: Callable[P, R]) -> Function[P, R]:
    """Compiles a function for calls from Python and from other compiled functions."""
    return Function(function)


def cfunc(signature: types.Signature) -> Callable[[Callable[..., Any]], CFunction]:
    """Compiles a function that C code calls by its `address`."""

    def decorate(function: Callable[..., Any]) -> CFunction:
        return CFunction(function, signature)

    return decorate


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that emits instructions: takes a context and its arguments, returns a signature
    and what emits a call: `codegen(context, builder, signature, arguments)`."""
    made: Callable[..., Any] = Intrinsic(function)
    return made


def carray(address: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """The array at an address; only compiled functions can call it."""
    raise NotCompilable("carray works in compiled functions only")


def record_at(address: int, dtype: Any) -> Any:
    """The record of a structured NumPy type at an address; only compiled functions can call it."""
    raise NotCompilable("record_at works in compiled functions only")
