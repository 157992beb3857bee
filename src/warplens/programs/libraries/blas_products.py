"""cuBLAS: products of matrices, alone and in batches, in one type and in mixed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from warplens.programs.libraries.arrays import (
    BF16,
    Array,
    data_type,
    itemsize,
    loaded,
    stored,
    written,
)
from warplens.programs.libraries.blas import blas, plain
from warplens.programs.libraries.blas_matrices import added, transposed
from warplens.programs.libraries.table import NotServed
from warplens.programs.libraries.work import Call, precision_of

_F32, _F64, _F16 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16)
_I32 = np.dtype(np.int32)
# cublasComputeType_t: what is computed in, and what kind of scalars there are.
_COMPUTE = {64: _F16, 65: _F16, 68: _F32, 69: _F32, 70: _F64, 71: _F64, 72: _I32, 73: _I32,
            74: _F32, 75: _F32, 77: _F32, 78: _F32}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """C = alpha * op(A) op(B) + beta * C: sizes, operations, leading dimensions and types."""

    sizes: tuple[int, int, int]
    operations: tuple[int, int]
    leading: tuple[int, int, int]
    types: tuple[Any, Any, Any]

    def compute(
        self, call: Call, places: tuple[int, int, int], alpha: Any, beta: Any
    ) -> None:
        """One product in place."""
        m, n, k = self.sizes
        shapes = [(k, m) if self.operations[0] else (m, k),
                  (n, k) if self.operations[1] else (k, n)]  # fmt: skip
        parts = [
            transposed(
                loaded(call.matrix(places[i], *shapes[i], self.leading[i], self.types[i]),
                       self.types[i]), self.operations[i]
            )
            for i in range(2)
        ]  # fmt: skip
        target = call.matrix(places[2], m, n, self.leading[2], self.types[2])
        if not target.size:
            return
        product = alpha * _product(*parts) if k and alpha != 0 else np.zeros((m, n), target.dtype)
        old = loaded(target, self.types[2]) if beta != 0 else target
        target[:] = stored(added(product, beta, old), self.types[2])
        written(call.program, places[2], self.leading[2] * (n - 1) + m, self.types[2])

    def check(self, call: Call) -> None:
        """Refuses what cuBLAS refuses."""
        m, n, k = self.sizes
        least = (k if self.operations[0] else m, n if self.operations[1] else k, m)
        if min(self.sizes) < 0 or any(
            has < max(1, needs) for has, needs in zip(self.leading, least, strict=True)
        ):
            raise call.invalid(f"sizes {self.sizes} with leading dimensions {self.leading}")

    def does(
        self, call: Call, places: Callable[[], Iterator[tuple[int, int, int]]], count: int,
        scalars: tuple[Callable[[], Any], Callable[[], Any]],
    ) -> None:  # fmt: skip
        """So many products, one after another."""
        self.check(call)
        m, n, k = self.sizes

        def compute() -> None:
            alpha, beta = scalars[0](), scalars[1]()
            for three in places():
                self.compute(call, three, alpha, beta)

        is_complex = self.types[2] is not BF16 and self.types[2].kind == "c"
        sizes = [itemsize(kind) for kind in self.types]
        moved = m * k * sizes[0] + k * n * sizes[1] + m * n * sizes[2]
        call.does(compute, operations=(8 if is_complex else 2) * m * n * k * count,
                  moved=moved * count, precision=precision_of(self.types[0]))  # fmt: skip


def _product(left: Array, right: Array) -> Array:
    if left.dtype.kind in "iu":
        wide = np.dtype(np.int64)  # NumPy's products of integers wrap as int32 would
        return (left.astype(wide) @ right.astype(wide)).astype(np.int32)
    return left @ right


def _one(*three: int) -> Callable[[], Iterator[tuple[int, int, int]]]:
    return lambda: iter([(three[0], three[1], three[2])])


def _strided(
    places: tuple[int, int, int], steps: tuple[int, int, int], count: int
) -> Callable[[], Iterator[tuple[int, int, int]]]:
    def each() -> Iterator[tuple[int, int, int]]:
        for i in range(count):
            a, b, c = (place + i * step for place, step in zip(places, steps, strict=True))
            yield a, b, c

    return each


def pointers(call: Call, address: int, count: int) -> list[int]:
    """An array of pointers on the device."""
    return [int(one) for one in call.elements(address, count, np.dtype(np.uint64))]


def _by_pointers(
    call: Call, lists: tuple[int, int, int], count: int
) -> Callable[[], Iterator[tuple[int, int, int]]]:
    def each() -> Iterator[tuple[int, int, int]]:
        a, b, c = (pointers(call, one, count) for one in lists)
        yield from zip(a, b, c, strict=True)

    return each


# --- one type ------------------------------------------------------------------------------------


@blas("cublas{}gemm3m", "CZ", "i i n n n p p n p n p p n")
@blas("cublas{}gemm", "H", "i i n n n p p n p n p p n")
@blas("cublas{}gemm_v2", "SDCZ", "i i n n n p p n p n p p n")
def gemm(
    call: Call, dtype: Any, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int,
    b: int, ldb: int, beta: int, c: int, ldc: int,
) -> None:  # fmt: skip
    """C = alpha * op(A) op(B) + beta * C."""
    product = Product(sizes=(m, n, k), operations=(ta, tb), leading=(lda, ldb, ldc),
                      types=(dtype,) * 3)  # fmt: skip
    product.does(call, _one(a, b, c), 1, (call.scalar(alpha, dtype), call.scalar(beta, dtype)))


@blas("cublas{}gemmBatched", "SDCZH", "i i n n n p p n p n p p n n")
def gemm_batched(
    call: Call, dtype: Any, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int,
    b: int, ldb: int, beta: int, c: int, ldc: int, count: int,
) -> None:  # fmt: skip
    """The same for matrices by pointers."""
    product = Product(sizes=(m, n, k), operations=(ta, tb), leading=(lda, ldb, ldc),
                      types=(dtype,) * 3)  # fmt: skip
    scalars = (call.scalar(alpha, dtype), call.scalar(beta, dtype))
    product.does(call, _by_pointers(call, (a, b, c), count), count, scalars)


@blas("cublas{}gemmStridedBatched", "SDCZH", "i i n n n p p n l p n l p p n l n")
def gemm_strided(
    call: Call, dtype: Any, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int,
    sa: int, b: int, ldb: int, sb: int, beta: int, c: int, ldc: int, sc: int, count: int,
) -> None:  # fmt: skip
    """The same for matrices at regular distances."""
    product = Product(sizes=(m, n, k), operations=(ta, tb), leading=(lda, ldb, ldc),
                      types=(dtype,) * 3)  # fmt: skip
    size = dtype.itemsize
    places = _strided((a, b, c), (sa * size, sb * size, sc * size), count)
    scalars = (call.scalar(alpha, dtype), call.scalar(beta, dtype))
    product.does(call, places, count, scalars)


# --- mixed types ---------------------------------------------------------------------------------


def _mixed(
    call: Call, operations: tuple[int, int], sizes: tuple[int, int, int],
    leading: tuple[int, int, int], types: tuple[int, int, int], compute: int,
    scalars: tuple[int, int],
) -> tuple[Product, tuple[Callable[[], Any], Callable[[], Any]]]:  # fmt: skip
    if compute not in _COMPUTE:
        raise NotServed(f"compute type {compute}")
    kinds = tuple(data_type(one) for one in types)
    kind = _COMPUTE[compute]
    if kinds[2] is not BF16 and kinds[2].kind == "c":
        kind = np.dtype(np.complex128 if kind == _F64 else np.complex64)
    if kind == _I32 and kinds[2] == _F32:
        kind = _F32
    product = Product(sizes=sizes, operations=operations, leading=leading,
                      types=(kinds[0], kinds[1], kinds[2]))  # fmt: skip
    return product, (call.scalar(scalars[0], kind), call.scalar(scalars[1], kind))


@plain("cublasGemmEx", "i i n n n p p i n p i n p p i n i i")
def gemm_ex(
    call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int,
    b: int, bt: int, ldb: int, beta: int, c: int, ct: int, ldc: int, compute: int, algorithm: int,
) -> None:  # fmt: skip
    """C = alpha * op(A) op(B) + beta * C in mixed types."""
    product, scalars = _mixed(call, (ta, tb), (m, n, k), (lda, ldb, ldc), (at, bt, ct), compute,
                              (alpha, beta))  # fmt: skip
    product.does(call, _one(a, b, c), 1, scalars)


@plain("cublasSgemmEx", "i i n n n p p i n p i n p p i n")
def sgemm_ex(
    call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int,
    b: int, bt: int, ldb: int, beta: int, c: int, ct: int, ldc: int,
) -> None:  # fmt: skip
    """The same, computed in floats."""
    product, scalars = _mixed(call, (ta, tb), (m, n, k), (lda, ldb, ldc), (at, bt, ct), 68,
                              (alpha, beta))  # fmt: skip
    product.does(call, _one(a, b, c), 1, scalars)


@plain("cublasGemmBatchedEx", "i i n n n p p i n p i n p p i n n i i")
def gemm_batched_ex(
    call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int,
    b: int, bt: int, ldb: int, beta: int, c: int, ct: int, ldc: int, count: int, compute: int,
    algorithm: int,
) -> None:  # fmt: skip
    """The same for matrices by pointers."""
    product, scalars = _mixed(call, (ta, tb), (m, n, k), (lda, ldb, ldc), (at, bt, ct), compute,
                              (alpha, beta))  # fmt: skip
    product.does(call, _by_pointers(call, (a, b, c), count), count, scalars)


@plain("cublasGemmStridedBatchedEx", "i i n n n p p i n l p i n l p p i n l n i i")
def gemm_strided_ex(
    call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int,
    sa: int, b: int, bt: int, ldb: int, sb: int, beta: int, c: int, ct: int, ldc: int, sc: int,
    count: int, compute: int, algorithm: int,
) -> None:  # fmt: skip
    """The same for matrices at regular distances."""
    product, scalars = _mixed(call, (ta, tb), (m, n, k), (lda, ldb, ldc), (at, bt, ct), compute,
                              (alpha, beta))  # fmt: skip
    sizes = [itemsize(kind) for kind in product.types]
    places = _strided((a, b, c), (sa * sizes[0], sb * sizes[1], sc * sizes[2]), count)
    product.does(call, places, count, scalars)
