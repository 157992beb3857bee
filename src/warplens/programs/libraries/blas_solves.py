"""cuBLAS: symmetric and triangular matrices, rank updates, solves, batches of small ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warplens.driver.cells import put_bytes
from warplens.programs.libraries.arrays import Array, written
from warplens.programs.libraries.blas import blas
from warplens.programs.libraries.blas_matrices import (
    added,
    set_half,
    symmetric,
    transposed,
    triangle,
)
from warplens.programs.libraries.blas_products import pointers
from warplens.programs.libraries.blas_vectors import real_of
from warplens.programs.libraries.factors import inverse, lu, lu_solve, solved
from warplens.programs.libraries.work import Call, precision_of

RIGHT = 1
_I32 = np.dtype(np.int32)


def _into(
    call: Call, dtype: Any, target: tuple[int, int, int, int], operations: float,
    value: Callable[[Array], Array], fill: int | None = None,
) -> None:  # fmt: skip
    """Puts a result into a matrix: address, rows, columns, leading dimension."""
    address, rows, columns, leading = target

    def compute() -> None:
        c = call.matrix(address, rows, columns, leading, dtype)
        if not c.size:
            return
        found = value(c)
        if fill is None:
            c[:] = found
        else:
            set_half(c, found, fill)
        written(call.program, address, leading * (columns - 1) + rows, dtype)

    call.does(compute, operations=operations, moved=3 * rows * columns * dtype.itemsize,
              precision=precision_of(dtype))  # fmt: skip


def _symmetric_product(is_hermitian: bool) -> Callable[..., None]:
    def function(
        call: Call, dtype: Any, side: int, fill: int, m: int, n: int, alpha: int, a: int, lda: int,
        b: int, ldb: int, beta: int, c: int, ldc: int,
    ) -> None:  # fmt: skip
        size = n if side == RIGHT else m
        alphas, betas = call.scalar(alpha, dtype), call.scalar(beta, dtype)

        def value(old: Array) -> Array:
            one = symmetric(call.matrix(a, size, size, lda, dtype), fill,
                            is_hermitian=is_hermitian)  # fmt: skip
            other = call.matrix(b, m, n, ldb, dtype)
            return added(alphas() * (other @ one if side == RIGHT else one @ other), betas(), old)

        _into(call, dtype, (c, m, n, ldc), 2.0 * m * n * size, value)

    return function


blas("cublas{}symm_v2", "SDCZ", "i i n n p p n p n p p n")(_symmetric_product(False))
blas("cublas{}hemm_v2", "CZ", "i i n n p p n p n p p n")(_symmetric_product(True))


def _rank_update(is_hermitian: bool) -> Callable[..., None]:
    def function(
        call: Call, dtype: Any, fill: int, trans: int, n: int, k: int, alpha: int, a: int, lda: int,
        beta: int, c: int, ldc: int,
    ) -> None:  # fmt: skip
        kind = real_of(dtype) if is_hermitian else dtype
        alphas, betas = call.scalar(alpha, kind), call.scalar(beta, kind)

        def value(old: Array) -> Array:
            left = call.matrix(a, *((k, n) if trans else (n, k)), lda, dtype)
            left = transposed(left, trans)
            right = left.T.conj() if is_hermitian else left.T
            return added(alphas() * (left @ right), betas(), old)

        _into(call, dtype, (c, n, n, ldc), 1.0 * n * n * k, value, fill)

    return function


blas("cublas{}syrk_v2", "SDCZ", "i i n n p p n p p n")(_rank_update(False))
blas("cublas{}herk_v2", "CZ", "i i n n p p n p p n")(_rank_update(True))


@blas("cublas{}syr2k_v2", "SDCZ", "i i n n p p n p n p p n")
def syr2k(
    call: Call, dtype: Any, fill: int, trans: int, n: int, k: int, alpha: int, a: int, lda: int,
    b: int, ldb: int, beta: int, c: int, ldc: int,
) -> None:  # fmt: skip
    """C = alpha * (op(A) op(B)T + op(B) op(A)T) + beta * C, one half."""
    alphas, betas = call.scalar(alpha, dtype), call.scalar(beta, dtype)
    shape = (k, n) if trans else (n, k)

    def value(old: Array) -> Array:
        left = transposed(call.matrix(a, *shape, lda, dtype), trans)
        right = transposed(call.matrix(b, *shape, ldb, dtype), trans)
        return added(alphas() * (left @ right.T + right @ left.T), betas(), old)

    _into(call, dtype, (c, n, n, ldc), 2.0 * n * n * k, value, fill)


# --- triangular ----------------------------------------------------------------------------------


def _solved(left: Array, right: Array, side: int) -> Array:
    if side == RIGHT:
        return solved(left.T, right.T).T
    return solved(left, right)


@blas("cublas{}trsm_v2", "SDCZ", "i i i i n n p p n p n")
def trsm(
    call: Call, dtype: Any, side: int, fill: int, trans: int, diagonal: int, m: int, n: int,
    alpha: int, a: int, lda: int, b: int, ldb: int,
) -> None:  # fmt: skip
    """Solves op(A) X = alpha * B, or X op(A) = alpha * B, into B."""
    alphas, size = call.scalar(alpha, dtype), n if side == RIGHT else m

    def value(right: Array) -> Array:
        left = triangle(call.matrix(a, size, size, lda, dtype), fill, diagonal)
        return _solved(transposed(left, trans), alphas() * right, side)

    _into(call, dtype, (b, m, n, ldb), 1.0 * m * n * size, value)


@blas("cublas{}trsmBatched", "SDCZ", "i i i i n n p p n p n n")
def trsm_batched(
    call: Call, dtype: Any, side: int, fill: int, trans: int, diagonal: int, m: int, n: int,
    alpha: int, a: int, lda: int, b: int, ldb: int, count: int,
) -> None:  # fmt: skip
    """The same for matrices by pointers."""
    for one, other in zip(pointers(call, a, count), pointers(call, b, count), strict=True):
        trsm(call, dtype, side, fill, trans, diagonal, m, n, alpha, one, lda, other, ldb)


@blas("cublas{}trmm_v2", "SDCZ", "i i i i n n p p n p n p n")
def trmm(
    call: Call, dtype: Any, side: int, fill: int, trans: int, diagonal: int, m: int, n: int,
    alpha: int, a: int, lda: int, b: int, ldb: int, c: int, ldc: int,
) -> None:  # fmt: skip
    """C = alpha * op(A) B, or alpha * B op(A), with a triangular A."""
    alphas, size = call.scalar(alpha, dtype), n if side == RIGHT else m

    def value(_: Array) -> Array:
        left = transposed(triangle(call.matrix(a, size, size, lda, dtype), fill, diagonal), trans)
        right = call.matrix(b, m, n, ldb, dtype)
        found: Array = alphas() * (right @ left if side == RIGHT else left @ right)
        return found

    _into(call, dtype, (c, m, n, ldc), 1.0 * m * n * size, value)


# --- beyond BLAS ---------------------------------------------------------------------------------


@blas("cublas{}geam", "SDCZ", "i i n n p p n p p n p n")
def geam(
    call: Call, dtype: Any, ta: int, tb: int, m: int, n: int, alpha: int, a: int, lda: int,
    beta: int, b: int, ldb: int, c: int, ldc: int,
) -> None:  # fmt: skip
    """C = alpha * op(A) + beta * op(B); a matrix whose factor is 0 is not read."""
    parts = [(call.scalar(alpha, dtype), a, lda, ta), (call.scalar(beta, dtype), b, ldb, tb)]

    def value(_: Array) -> Array:
        found: Array = np.zeros((m, n), dtype)
        for factor, address, leading, operation in parts:
            if factor() != 0:
                shape = (n, m) if operation else (m, n)
                one = call.matrix(address, *shape, leading, dtype)
                found = found + factor() * transposed(one, operation)
        return found

    _into(call, dtype, (c, m, n, ldc), 2.0 * m * n, value)


@blas("cublas{}dgmm", "SDCZ", "i n n p n p n p n")
def dgmm(
    call: Call, dtype: Any, side: int, m: int, n: int, a: int, lda: int, x: int, incx: int, c: int,
    ldc: int,
) -> None:  # fmt: skip
    """C = A diag(x), or diag(x) A."""

    def value(_: Array) -> Array:
        factors = call.vector(x, n if side == RIGHT else m, incx, dtype)
        one = call.matrix(a, m, n, lda, dtype)
        found: Array = one * factors if side == RIGHT else one * factors[:, None]
        return found

    _into(call, dtype, (c, m, n, ldc), 1.0 * m * n, value)


def _each(
    call: Call, dtype: Any, count: int, n: int, change: Callable[[int], None]
) -> None:
    def compute() -> None:
        for i in range(count):
            change(i)

    call.does(compute, operations=2 / 3 * n**3 * count, moved=2.0 * count * n * n * dtype.itemsize,
              precision=precision_of(dtype))  # fmt: skip


@blas("cublas{}getrfBatched", "SDCZ", "i p i p p i")
def getrf_batched(
    call: Call, dtype: Any, n: int, a: int, lda: int, pivots: int, info: int, count: int
) -> None:
    """LU factors of matrices by pointers; without pivots if there is no room for them."""

    def change(i: int) -> None:
        address = pointers(call, a, count)[i]
        one = call.matrix(address, n, n, lda, dtype)
        factors, order, bad = lu(one, pivots=bool(pivots))
        one[:] = factors
        written(call.program, address, lda * (n - 1) + n, dtype)
        if pivots:
            call.elements(pivots + 4 * n * i, n, _I32)[:] = order
            written(call.program, pivots + 4 * n * i, n, _I32)
        call.elements(info, count, _I32)[i] = bad
        written(call.program, info + 4 * i, 1, _I32)

    _each(call, dtype, count, n, change)


@blas("cublas{}getriBatched", "SDCZ", "i p i p p i p i")
def getri_batched(
    call: Call, dtype: Any, n: int, a: int, lda: int, pivots: int, c: int, ldc: int, info: int,
    count: int,
) -> None:  # fmt: skip
    """Inverses from LU factors."""

    def change(i: int) -> None:
        one = call.matrix(pointers(call, a, count)[i], n, n, lda, dtype)
        order = call.elements(pivots + 4 * n * i, n, _I32) if pivots else None
        target = pointers(call, c, count)[i]
        call.matrix(target, n, n, ldc, dtype)[:] = lu_solve(one, order, np.eye(n, dtype=dtype))
        written(call.program, target, ldc * (n - 1) + n, dtype)
        call.elements(info, count, _I32)[i] = 0
        written(call.program, info + 4 * i, 1, _I32)

    _each(call, dtype, count, n, change)


@blas("cublas{}getrsBatched", "SDCZ", "i i i p i p p i p i")
def getrs_batched(
    call: Call, dtype: Any, trans: int, n: int, nrhs: int, a: int, lda: int, pivots: int, b: int,
    ldb: int, info: int, count: int,
) -> None:  # fmt: skip
    """Solves with LU factors."""

    def change(i: int) -> None:
        one = call.matrix(pointers(call, a, count)[i], n, n, lda, dtype)
        order = call.elements(pivots + 4 * n * i, n, _I32) if pivots else None
        target = pointers(call, b, count)[i]
        right = call.matrix(target, n, nrhs, ldb, dtype)
        right[:] = lu_solve(one, order, right, trans)
        written(call.program, target, ldb * (nrhs - 1) + n, dtype)

    _each(call, dtype, count, n, change)
    put_bytes(info, bytes(4))


@blas("cublas{}matinvBatched", "SDCZ", "i p i p i p i")
def matinv_batched(
    call: Call, dtype: Any, n: int, a: int, lda: int, c: int, ldc: int, info: int, count: int
) -> None:
    """Inverses of small matrices."""

    def change(i: int) -> None:
        one = call.matrix(pointers(call, a, count)[i], n, n, lda, dtype)
        target = pointers(call, c, count)[i]
        found, bad = inverse(one)
        call.matrix(target, n, n, ldc, dtype)[:] = found
        written(call.program, target, ldc * (n - 1) + n, dtype)
        call.elements(info, count, _I32)[i] = bad
        written(call.program, info + 4 * i, 1, _I32)

    _each(call, dtype, count, n, change)
