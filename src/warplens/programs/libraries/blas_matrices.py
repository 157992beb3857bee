"""cuBLAS: a matrix with vectors (level 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warplens.programs.libraries.arrays import Array, written
from warplens.programs.libraries.blas import blas
from warplens.programs.libraries.factors import solved
from warplens.programs.libraries.work import Call, precision_of

LOWER, UPPER = 0, 1
UNIT = 1


def transposed(values: Array, operation: int) -> Array:
    """op(A): 0 as it is, 1 transposed, 2 its conjugate transposed."""
    if not operation:
        return values
    return values.T.conj() if operation == 2 else values.T


def triangle(values: Array, fill: int, diagonal: int = 0) -> Array:
    """A triangular matrix of which one half is stored, with ones on the diagonal if asked for."""
    found = np.tril(values) if fill == LOWER else np.triu(values)
    if diagonal == UNIT:
        np.fill_diagonal(found, 1)
    return found


def symmetric(values: Array, fill: int, *, is_hermitian: bool = False) -> Array:
    """A symmetric or Hermitian matrix of which one half is stored."""
    half = triangle(values, fill)
    other = np.tril(half, -1) if fill == LOWER else np.triu(half, 1)
    if is_hermitian:
        np.fill_diagonal(half, half.diagonal().real)
        return half + other.T.conj()
    return half + other.T


def set_half(target: Array, values: Array, fill: int) -> None:
    """Changes the half of a matrix that is stored."""
    n = target.shape[0]
    chosen = np.tri(n, dtype=bool) if fill == LOWER else np.tri(n, dtype=bool).T
    np.copyto(target, values.astype(target.dtype), where=chosen)


def added(product: Array, factor: Any, target: Array) -> Array:
    """product + factor * target: what the target held does not count if the factor is 0."""
    return product if factor == 0 else product + factor * target


def _to_vector(
    call: Call, dtype: Any, size: int, target: tuple[int, int, int], value: Callable[[], Array],
    betas: Callable[[], Any] | None = None,
) -> None:  # fmt: skip
    """Puts a result into the vector `target`: address, elements, step."""
    address, n, step = target

    def compute() -> None:
        y = call.vector(address, n, step, dtype)
        y[:] = value() if betas is None else added(value(), betas(), y)
        written(call.program, address, (n - 1) * abs(step) + 1, dtype)

    call.does(compute, operations=2 * size, moved=size * dtype.itemsize,
              precision=precision_of(dtype))  # fmt: skip


@blas("cublas{}gemv_v2", "SDCZ", "i n n p p n p n p p n")
def gemv(
    call: Call, dtype: Any, trans: int, m: int, n: int, alpha: int, a: int, lda: int, x: int,
    incx: int, beta: int, y: int, incy: int,
) -> None:  # fmt: skip
    """y = alpha * op(A) x + beta * y."""
    alphas, betas = call.scalar(alpha, dtype), call.scalar(beta, dtype)
    rows, columns = (n, m) if trans else (m, n)

    def value() -> Array:
        left = transposed(call.matrix(a, m, n, lda, dtype), trans)
        return alphas() * (left @ call.vector(x, columns, incx, dtype))  # type: ignore[no-any-return]

    _to_vector(call, dtype, m * n, (y, rows, incy), value, betas)


def _symmetric_product(is_hermitian: bool) -> Callable[..., None]:
    def function(
        call: Call, dtype: Any, fill: int, n: int, alpha: int, a: int, lda: int, x: int, incx: int,
        beta: int, y: int, incy: int,
    ) -> None:  # fmt: skip
        alphas, betas = call.scalar(alpha, dtype), call.scalar(beta, dtype)

        def value() -> Array:
            left = symmetric(call.matrix(a, n, n, lda, dtype), fill, is_hermitian=is_hermitian)
            return alphas() * (left @ call.vector(x, n, incx, dtype))  # type: ignore[no-any-return]

        _to_vector(call, dtype, n * n, (y, n, incy), value, betas)

    return function


blas("cublas{}symv_v2", "SDCZ", "i n p p n p n p p n")(_symmetric_product(False))
blas("cublas{}hemv_v2", "CZ", "i n p p n p n p p n")(_symmetric_product(True))


@blas("cublas{}trmv_v2", "SDCZ", "i i i n p n p n")
def trmv(
    call: Call, dtype: Any, fill: int, trans: int, diagonal: int, n: int, a: int, lda: int, x: int,
    incx: int,
) -> None:  # fmt: skip
    """x = op(A) x with a triangular A."""

    def value() -> Array:
        left = transposed(triangle(call.matrix(a, n, n, lda, dtype), fill, diagonal), trans)
        return left @ call.vector(x, n, incx, dtype)

    _to_vector(call, dtype, n * n // 2, (x, n, incx), value)


@blas("cublas{}trsv_v2", "SDCZ", "i i i n p n p n")
def trsv(
    call: Call, dtype: Any, fill: int, trans: int, diagonal: int, n: int, a: int, lda: int, x: int,
    incx: int,
) -> None:  # fmt: skip
    """Solves op(A) x' = x with a triangular A."""

    def value() -> Array:
        left = transposed(triangle(call.matrix(a, n, n, lda, dtype), fill, diagonal), trans)
        return solved(left, call.vector(x, n, incx, dtype))

    _to_vector(call, dtype, n * n // 2, (x, n, incx), value)


def _outer(is_conjugate: bool) -> Callable[..., None]:
    def function(
        call: Call, dtype: Any, m: int, n: int, alpha: int, x: int, incx: int, y: int, incy: int,
        a: int, lda: int,
    ) -> None:  # fmt: skip
        alphas = call.scalar(alpha, dtype)

        def compute() -> None:
            right = call.vector(y, n, incy, dtype)
            target = call.matrix(a, m, n, lda, dtype)
            target += alphas() * np.outer(
                call.vector(x, m, incx, dtype), right.conj() if is_conjugate else right
            )
            written(call.program, a, lda * (n - 1) + m, dtype)

        call.does(compute, operations=2 * m * n, moved=2 * m * n * dtype.itemsize,
                  precision=precision_of(dtype))  # fmt: skip

    return function


blas("cublas{}ger_v2", "SD", "n n p p n p n p n")(_outer(False))
blas("cublas{}geru_v2", "CZ", "n n p p n p n p n")(_outer(False))
blas("cublas{}gerc_v2", "CZ", "n n p p n p n p n")(_outer(True))


@blas("cublas{}syr_v2", "SDCZ", "i n p p n p n")
def syr(
    call: Call, dtype: Any, fill: int, n: int, alpha: int, x: int, incx: int, a: int, lda: int
) -> None:
    """A = alpha * x xT + A, one half."""
    alphas = call.scalar(alpha, dtype)

    def compute() -> None:
        left, target = call.vector(x, n, incx, dtype), call.matrix(a, n, n, lda, dtype)
        set_half(target, target + alphas() * np.outer(left, left), fill)
        written(call.program, a, lda * (n - 1) + n, dtype)

    call.does(compute, operations=n * n, moved=n * n * dtype.itemsize,
              precision=precision_of(dtype))  # fmt: skip
