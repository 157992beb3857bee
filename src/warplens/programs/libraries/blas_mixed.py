"""cuBLAS: vectors whose types are parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.programs.libraries.arrays import Array, data_type, itemsize, loaded, stored, written
from warplens.programs.libraries.blas import plain
from warplens.programs.libraries.work import Call, precision_of


def _values(call: Call, address: int, n: int, step: int, dtype: Any) -> Array:
    return loaded(_places(call, address, n, step, dtype), dtype)


def _places(call: Call, address: int, n: int, step: int, dtype: Any) -> Array:
    return call.vector(address, n, step, np.dtype(np.uint16) if isinstance(dtype, str) else dtype)


def _gives(call: Call, address: int, value: Any, dtype: Any) -> None:
    kept = stored(np.array([value]), dtype)
    call.gives(address, kept[0], kept.dtype)


def _dot(call: Call, words: tuple[int, ...], *, is_conjugate: bool) -> None:
    n, x, xt, incx, y, yt, incy, result, kind, _ = words
    types = [data_type(one) for one in (xt, yt, kind)]

    def compute() -> None:
        left, right = _values(call, x, n, incx, types[0]), _values(call, y, n, incy, types[1])
        product = np.vdot(left, right) if is_conjugate else np.dot(left, right)
        _gives(call, result, product, types[2])

    call.does(compute, operations=2 * n, moved=2 * n * itemsize(types[0]),
              precision=precision_of(types[0]))  # fmt: skip
    call.waits_for_result()


@plain("cublasDotEx", "n p i n p i n p i i")
def dot_ex(call: Call, *words: int) -> None:
    """The product of two vectors."""
    _dot(call, words, is_conjugate=False)


@plain("cublasDotcEx", "n p i n p i n p i i")
def dotc_ex(call: Call, *words: int) -> None:
    """The same with the first one's conjugate."""
    _dot(call, words, is_conjugate=True)


@plain("cublasNrm2Ex", "n p i n p i i")
def nrm2_ex(
    call: Call, n: int, x: int, xt: int, incx: int, result: int, kind: int, execution: int
) -> None:
    """A vector's length."""
    dtype, given = data_type(xt), data_type(kind)

    def compute() -> None:
        values = _values(call, x, n, incx, dtype)
        wide = np.complex128 if values.dtype.kind == "c" else np.float64
        _gives(call, result, np.linalg.norm(values.astype(wide)), given)

    call.does(compute, operations=2 * n, moved=n * itemsize(dtype), precision=precision_of(dtype))
    call.waits_for_result()


def _changed(call: Call, n: int, y: int, yt: int, incy: int, values: Array) -> None:
    dtype = data_type(yt)
    _places(call, y, n, incy, dtype)[:] = stored(values, dtype)
    written(call.program, y, (n - 1) * abs(incy) + 1 if n > 0 else 0, dtype)


@plain("cublasAxpyEx", "n p i p i n p i n i")
def axpy_ex(
    call: Call, n: int, alpha: int, at: int, x: int, xt: int, incx: int, y: int, yt: int, incy: int,
    execution: int,
) -> None:  # fmt: skip
    """y = alpha * x + y."""
    factor, types = call.scalar(alpha, data_type(at)), (data_type(xt), data_type(yt))

    def compute() -> None:
        left, right = _values(call, x, n, incx, types[0]), _values(call, y, n, incy, types[1])
        _changed(call, n, y, yt, incy, factor() * left + right)

    call.does(compute, operations=2 * n, moved=3 * n * itemsize(types[0]),
              precision=precision_of(types[0]))  # fmt: skip


@plain("cublasScalEx", "n p i p i n i")
def scal_ex(
    call: Call, n: int, alpha: int, at: int, x: int, xt: int, incx: int, execution: int
) -> None:
    """x = alpha * x."""
    factor, dtype = call.scalar(alpha, data_type(at)), data_type(xt)

    def compute() -> None:
        _changed(call, n, x, xt, incx, factor() * _values(call, x, n, incx, dtype))

    call.does(compute, operations=n, moved=2 * n * itemsize(dtype), precision=precision_of(dtype))
