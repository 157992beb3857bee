"""cuBLAS: vectors alone, and a matrix with vectors (levels 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warplens.programs.libraries.arrays import Array, written
from warplens.programs.libraries.blas import blas
from warplens.programs.libraries.work import Call, precision_of

_REAL = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(float)}


def real_of(dtype: Any) -> Any:
    """The type of a type's real part."""
    return _REAL.get(dtype, dtype)


def _wrote(call: Call, address: int, n: int, step: int, dtype: Any) -> None:
    written(call.program, address, (n - 1) * abs(step) + 1 if n > 0 else 0, dtype)


def _changes(
    call: Call, dtype: Any, n: int, parts: tuple[tuple[int, int], ...], operations: int,
    change: Callable[..., None],
) -> None:  # fmt: skip
    """Changes vectors: `parts` are their addresses and steps."""

    def compute() -> None:
        change(*(call.vector(address, n, step, dtype) for address, step in parts))
        for address, step in parts:
            _wrote(call, address, n, step, dtype)

    call.does(compute, operations=operations * n, moved=(len(parts) + 1) * n * dtype.itemsize,
              precision=precision_of(dtype))  # fmt: skip


@blas("cublas{}axpy_v2", "SDCZ", "n p p n p n")
def axpy(call: Call, dtype: Any, n: int, alpha: int, x: int, incx: int, y: int, incy: int) -> None:
    """y = alpha * x + y."""
    factor = call.scalar(alpha, dtype)

    def compute() -> None:
        target = call.vector(y, n, incy, dtype)
        target += factor() * call.vector(x, n, incx, dtype)
        _wrote(call, y, n, incy, dtype)

    call.does(compute, operations=2 * n, moved=3 * n * dtype.itemsize,
              precision=precision_of(dtype))  # fmt: skip


@blas("cublas{}copy_v2", "SDCZ", "n p n p n")
def copy(call: Call, dtype: Any, n: int, x: int, incx: int, y: int, incy: int) -> None:
    """y = x."""

    def compute() -> None:
        call.vector(y, n, incy, dtype)[:] = call.vector(x, n, incx, dtype)
        _wrote(call, y, n, incy, dtype)

    call.does(compute, operations=0, moved=2 * n * dtype.itemsize)


@blas("cublas{}swap_v2", "SDCZ", "n p n p n")
def swap(call: Call, dtype: Any, n: int, x: int, incx: int, y: int, incy: int) -> None:
    """x, y = y, x."""

    def change(a: Array, b: Array) -> None:
        a[:], b[:] = b.copy(), a.copy()

    _changes(call, dtype, n, ((x, incx), (y, incy)), 0, change)


@blas("cublas{}scal_v2", "SDCZ", "n p p n")
def scal(call: Call, dtype: Any, n: int, alpha: int, x: int, incx: int) -> None:
    """x = alpha * x."""
    _scaled(call, dtype, n, call.scalar(alpha, dtype), x, incx)


def _scaled(
    call: Call, dtype: Any, n: int, factor: Callable[[], Any], x: int, incx: int
) -> None:
    def change(a: Array) -> None:
        a *= factor()

    _changes(call, dtype, n, ((x, incx),), 1, change)


@blas("cublasCsscal_v2", "C", "n p p n")
@blas("cublasZdscal_v2", "Z", "n p p n")
def real_scal(call: Call, dtype: Any, n: int, alpha: int, x: int, incx: int) -> None:
    """x = alpha * x with a real alpha."""
    _scaled(call, dtype, n, call.scalar(alpha, real_of(dtype)), x, incx)


@blas("cublas{}rot_v2", "SD", "n p n p n p p")
def rot(
    call: Call, dtype: Any, n: int, x: int, incx: int, y: int, incy: int, c: int, s: int
) -> None:
    """Rotates the points (x, y)."""
    cosine, sine = call.scalar(c, dtype), call.scalar(s, dtype)

    def change(a: Array, b: Array) -> None:
        a[:], b[:] = cosine() * a + sine() * b, cosine() * b - sine() * a

    _changes(call, dtype, n, ((x, incx), (y, incy)), 6, change)


# --- results -------------------------------------------------------------------------------------


def _gives(
    call: Call, dtype: Any, n: int, parts: tuple[tuple[int, int], ...], result: int, kind: Any,
    value: Callable[..., Any],
) -> None:  # fmt: skip
    def compute() -> None:
        vectors = [call.vector(address, n, step, dtype) for address, step in parts]
        call.gives(result, value(*vectors) if n > 0 else 0, kind)

    call.does(compute, operations=2 * n, moved=len(parts) * n * dtype.itemsize,
              precision=precision_of(dtype))  # fmt: skip
    call.waits_for_result()


def _dot(is_conjugate: bool) -> Callable[..., None]:
    def function(
        call: Call, dtype: Any, n: int, x: int, incx: int, y: int, incy: int, result: int
    ) -> None:
        def value(a: Array, b: Array) -> Any:
            return np.vdot(a, b) if is_conjugate else np.dot(a, b)

        _gives(call, dtype, n, ((x, incx), (y, incy)), result, dtype, value)

    return function


blas("cublas{}dot_v2", "SD", "n p n p n p")(_dot(False))
blas("cublas{}dotu_v2", "CZ", "n p n p n p")(_dot(False))
blas("cublas{}dotc_v2", "CZ", "n p n p n p")(_dot(True))


def _sizes(values: Array) -> Array:
    """What asum and amax compare: |re| + |im|."""
    if values.dtype.kind == "c":
        values = np.abs(values.real) + np.abs(values.imag)
    sizes: Array = np.abs(values)
    return sizes


def _norm(values: Array) -> Any:
    return np.linalg.norm(values.astype(np.complex128 if values.dtype.kind == "c" else float))


_REDUCTIONS: tuple[tuple[tuple[str, ...], str, Callable[[Array], Any], bool], ...] = (
    (("cublasSasum_v2", "cublasDasum_v2", "cublasScasum_v2", "cublasDzasum_v2"), "SDCZ",
     lambda a: _sizes(a).sum(), False),
    (("cublasSnrm2_v2", "cublasDnrm2_v2", "cublasScnrm2_v2", "cublasDznrm2_v2"), "SDCZ",
     _norm, False),
    (tuple(f"cublasI{letter}amax_v2" for letter in "sdcz"), "SDCZ",
     lambda a: int(_sizes(a).argmax()) + 1, True),
    (tuple(f"cublasI{letter}amin_v2" for letter in "sdcz"), "SDCZ",
     lambda a: int(_sizes(a).argmin()) + 1, True),
)  # fmt: skip


def _reduction(value: Callable[[Array], Any], is_index: bool) -> Callable[..., None]:
    def function(call: Call, dtype: Any, n: int, x: int, incx: int, result: int) -> None:
        is_wide = call.entry.name.endswith("_64")
        kind = np.dtype(np.int64 if is_wide else np.int32) if is_index else real_of(dtype)
        _gives(call, dtype, n, ((x, incx),), result, kind, value)

    return function


for _names, _letters, _value, _is_index in _REDUCTIONS:
    for _name, _letter in zip(_names, _letters, strict=True):
        blas(_name, _letter, "n p n p")(_reduction(_value, _is_index))
