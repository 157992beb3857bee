"""cuSPARSE: products, solves and conversions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warplens.driver.cells import get_u64, put_i32, put_u64
from warplens.programs.libraries.arrays import Array, data_type, loaded, stored, written
from warplens.programs.libraries.blas_matrices import added, transposed
from warplens.programs.libraries.factors import solved
from warplens.programs.libraries.sparse import (
    CSC,
    CSR,
    CUSPARSE,
    DenseMatrix,
    DenseVector,
    Description,
    SparseMatrix,
    SparseVector,
)
from warplens.programs.libraries.table import LibraryFault, NotServed, add, entry
from warplens.programs.libraries.work import Call, Handle, precision_of

_ROOM = 16  # bytes of a buffer that nobody needs
_UPPER, _UNIT = 1, 1
_I32 = np.dtype(np.int32)


def _with(call: Call, handle: int) -> None:
    call.handle = call.thing(handle, Handle)


def _no_buffer(*names_and_letters: tuple[str, str]) -> None:
    def buffer_size(call: Call, handle: int, *more: Any) -> None:
        put_u64(more[-1], _ROOM)

    for name, letters in names_and_letters:
        add(CUSPARSE, name, letters, buffer_size)


def _nothing(*names_and_letters: tuple[str, str]) -> None:
    def prepare(call: Call, handle: int, *more: Any) -> None:
        _with(call, handle)

    for name, letters in names_and_letters:
        add(CUSPARSE, name, letters, prepare)


_no_buffer(
    ("cusparseSpMV_bufferSize", "h i p p p p p i i p"),
    ("cusparseSpMM_bufferSize", "h i i p p p p p i i p"),
    ("cusparseSDDMM_bufferSize", "h i i p p p p p i i p"),
    ("cusparseSpVV_bufferSize", "h i p p p i p"),
    ("cusparseSparseToDense_bufferSize", "h p p i p"),
    ("cusparseDenseToSparse_bufferSize", "h p p i p"),
    ("cusparseSpSV_bufferSize", "h i p p p p i i p p"),
    ("cusparseSpSM_bufferSize", "h i i p p p p i i p p"),
    ("cusparseCsr2cscEx2_bufferSize", "h i i i p p p p p p i i i i p"),
)
_nothing(
    ("cusparseSpMV_preprocess", "h i p p p p p i i p"),
    ("cusparseSpMM_preprocess", "h i i p p p p p i i p"),
    ("cusparseSDDMM_preprocess", "h i i p p p p p i i p"),
    ("cusparseSpSV_analysis", "h i p p p p i i p p"),
    ("cusparseSpSM_analysis", "h i i p p p p i i p p"),
)


def _turned(parts: tuple[Array, Array, Array], operation: int) -> tuple[Array, Array, Array]:
    """op(A) by coordinates."""
    row, column, values = parts
    if not operation:
        return parts
    return column, row, values.conj() if operation == 2 else values


def _does(call: Call, compute: Callable[[], None], n: int, columns: int, dtype: Any) -> None:
    """`n` stored elements times so many columns; what is moved: elements, indices and sides."""
    call.does(compute, operations=2.0 * n * columns, moved=n * (12.0 + 4.0 * columns),
              precision=precision_of(dtype))  # fmt: skip


@entry(CUSPARSE, "cusparseSpMV", "h i p p p p p i i p")
def spmv(
    call: Call, handle: int, operation: int, alpha: int, a: int, x: int, beta: int, y: int,
    compute_type: int, algorithm: int, buffer: int,
) -> None:  # fmt: skip
    """y = alpha * op(A) x + beta * y."""
    _with(call, handle)
    left = call.thing(a, SparseMatrix)
    right, target = call.thing(x, DenseVector), call.thing(y, DenseVector)
    kind = data_type(compute_type)
    alphas, betas = call.scalar(alpha, kind), call.scalar(beta, kind)

    def compute() -> None:
        row, column, values = _turned(left.coordinates(call), operation)
        product = np.zeros(target.size, kind)
        np.add.at(product, row, values * loaded(right.array(call), right.dtype)[column])
        old = target.array(call)
        old[:] = stored(added(alphas() * product, betas(), loaded(old, target.dtype)), target.dtype)
        written(call.program, target.values, target.size, target.dtype)

    _does(call, compute, left.n, 1, kind)


def _columns(call: Call, number: int, operation: int) -> Array:
    one = call.thing(number, DenseMatrix)
    return transposed(loaded(one.array(call), one.dtype), operation)


@entry(CUSPARSE, "cusparseSpMM", "h i i p p p p p i i p")
def spmm(
    call: Call, handle: int, ta: int, tb: int, alpha: int, a: int, b: int, beta: int, c: int,
    compute_type: int, algorithm: int, buffer: int,
) -> None:  # fmt: skip
    """C = alpha * op(A) op(B) + beta * C with a sparse A."""
    _with(call, handle)
    left, target = call.thing(a, SparseMatrix), call.thing(c, DenseMatrix)
    kind = data_type(compute_type)
    alphas, betas = call.scalar(alpha, kind), call.scalar(beta, kind)

    def compute() -> None:
        row, column, values = _turned(left.coordinates(call), ta)
        product = np.zeros((target.rows, target.columns), kind)
        np.add.at(product, row, values[:, None] * _columns(call, b, tb)[column])
        old = target.array(call)
        old[:] = stored(added(alphas() * product, betas(), loaded(old, target.dtype)), target.dtype)
        written(call.program, target.values, target.extent, target.dtype)

    _does(call, compute, left.n, target.columns, kind)


@entry(CUSPARSE, "cusparseSDDMM", "h i i p p p p p i i p")
def sddmm(
    call: Call, handle: int, ta: int, tb: int, alpha: int, a: int, b: int, beta: int, c: int,
    compute_type: int, algorithm: int, buffer: int,
) -> None:  # fmt: skip
    """C = alpha * (op(A) op(B)) where C has elements + beta * C."""
    _with(call, handle)
    target, kind = call.thing(c, SparseMatrix), data_type(compute_type)
    alphas, betas = call.scalar(alpha, kind), call.scalar(beta, kind)

    def compute() -> None:
        row, column, values = target.coordinates(call)
        product = np.einsum("ij,ij->i", _columns(call, a, ta)[row], _columns(call, b, tb).T[column])
        found = stored(added(alphas() * product, betas(), values), target.dtype)
        call.elements(target.places[2], target.n, target.dtype)[:] = found
        written(call.program, target.places[2], target.n, target.dtype)

    _does(call, compute, target.n, call.thing(a, DenseMatrix).columns, kind)


# --- vectors -------------------------------------------------------------------------------------


@entry(CUSPARSE, "cusparseSpVV", "h i p p p i p")
def spvv(
    call: Call, handle: int, operation: int, x: int, y: int, result: int, compute_type: int,
    buffer: int,
) -> None:  # fmt: skip
    """The product of a sparse and a dense vector."""
    _with(call, handle)
    left, right = call.thing(x, SparseVector), call.thing(y, DenseVector)

    def compute() -> None:
        values = call.elements(left.values, left.n, left.dtype)
        values = values.conj() if operation == 2 else values
        product = np.dot(values, right.array(call)[left.positions(call)])
        call.gives(result, product, data_type(compute_type))

    _does(call, compute, left.n, 1, left.dtype)
    call.waits()


@entry(CUSPARSE, "cusparseAxpby", "h p p p p")
def axpby(call: Call, handle: int, alpha: int, x: int, beta: int, y: int) -> None:
    """y = alpha * x + beta * y with a sparse x."""
    _with(call, handle)
    left, target = call.thing(x, SparseVector), call.thing(y, DenseVector)
    alphas, betas = call.scalar(alpha, target.dtype), call.scalar(beta, target.dtype)

    def compute() -> None:
        old = target.array(call)
        old *= betas()
        values = call.elements(left.values, left.n, left.dtype)
        np.add.at(old, left.positions(call), alphas() * values)
        written(call.program, target.values, target.size, target.dtype)

    _does(call, compute, left.n, 1, left.dtype)


@entry(CUSPARSE, "cusparseGather", "h p p")
def gather(call: Call, handle: int, y: int, x: int) -> None:
    """The elements of a dense vector where a sparse one has elements."""
    _with(call, handle)
    source, target = call.thing(y, DenseVector), call.thing(x, SparseVector)

    def compute() -> None:
        found = source.array(call)[target.positions(call)]
        call.elements(target.values, target.n, target.dtype)[:] = found
        written(call.program, target.values, target.n, target.dtype)

    _does(call, compute, target.n, 1, target.dtype)


@entry(CUSPARSE, "cusparseScatter", "h p p")
def scatter(call: Call, handle: int, x: int, y: int) -> None:
    """Puts a sparse vector's elements into a dense one."""
    _with(call, handle)
    source, target = call.thing(x, SparseVector), call.thing(y, DenseVector)

    def compute() -> None:
        values = call.elements(source.values, source.n, source.dtype)
        target.array(call)[source.positions(call)] = values
        written(call.program, target.values, target.size, target.dtype)

    _does(call, compute, source.n, 1, source.dtype)


# --- triangular ----------------------------------------------------------------------------------


def _triangle(call: Call, left: SparseMatrix, operation: int) -> Array:
    found = left.dense(call)
    half = np.triu(found) if left.attributes.get(0, 0) == _UPPER else np.tril(found)
    if left.attributes.get(1, 0) == _UNIT:
        np.fill_diagonal(half, 1)
    return transposed(half, operation)


@entry(CUSPARSE, "cusparseSpSV_solve", "h i p p p p i i p")
def spsv(
    call: Call, handle: int, operation: int, alpha: int, a: int, x: int, y: int, compute_type: int,
    algorithm: int, description: int,
) -> None:  # fmt: skip
    """Solves op(A) y = alpha * x with a sparse triangular A."""
    _with(call, handle)
    left = call.thing(a, SparseMatrix)
    right, target = call.thing(x, DenseVector), call.thing(y, DenseVector)
    alphas = call.scalar(alpha, data_type(compute_type))

    def compute() -> None:
        found = solved(_triangle(call, left, operation), alphas() * right.array(call))
        target.array(call)[:] = found
        written(call.program, target.values, target.size, target.dtype)

    _does(call, compute, left.n, 1, left.dtype)


@entry(CUSPARSE, "cusparseSpSM_solve", "h i i p p p p i i p")
def spsm(
    call: Call, handle: int, ta: int, tb: int, alpha: int, a: int, b: int, c: int,
    compute_type: int, algorithm: int, description: int,
) -> None:  # fmt: skip
    """Solves op(A) C = alpha * op(B) with a sparse triangular A."""
    _with(call, handle)
    left, target = call.thing(a, SparseMatrix), call.thing(c, DenseMatrix)
    alphas = call.scalar(alpha, data_type(compute_type))

    def compute() -> None:
        target.array(call)[:] = solved(
            _triangle(call, left, ta), alphas() * _columns(call, b, tb)
        )
        written(call.program, target.values, target.extent, target.dtype)

    _does(call, compute, left.n, target.columns, left.dtype)


# --- conversions ---------------------------------------------------------------------------------


def put_coordinates(
    call: Call, target: SparseMatrix, row: Array, column: Array, values: Array
) -> None:
    """Fills a sparse matrix whose arrays are there."""
    keys = (row, column) if target.form == CSC else (column, row)
    order = np.lexsort(keys)
    row, column, values = row[order], column[order], values[order]
    lines, others = (column, row) if target.form == CSC else (row, column)
    first = lines
    if target.form in (CSR, CSC):
        n = target.columns if target.form == CSC else target.rows
        first = np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=n))])
    kinds = {2: _I32, 3: np.dtype(np.int64)}
    for place, kind, found in (
        (target.places[0], kinds[target.index_types[0]], first + target.base),
        (target.places[1], kinds[target.index_types[1]], others + target.base),
        (target.places[2], target.dtype, stored(values, target.dtype)),
    ):
        if place:
            call.elements(place, len(found), kind)[:] = found
            written(call.program, place, len(found), kind)


@entry(CUSPARSE, "cusparseSparseToDense", "h p p i p")
def sparse_to_dense(
    call: Call, handle: int, a: int, b: int, algorithm: int, buffer: int
) -> None:
    """All elements."""
    _with(call, handle)
    source, target = call.thing(a, SparseMatrix), call.thing(b, DenseMatrix)

    def compute() -> None:
        target.array(call)[:] = stored(source.dense(call), target.dtype)
        written(call.program, target.values, target.extent, target.dtype)

    _does(call, compute, source.rows * source.columns, 1, target.dtype)


@entry(CUSPARSE, "cusparseDenseToSparse_analysis", "h p p i p")
def analyse_dense(call: Call, handle: int, a: int, b: int, algorithm: int, buffer: int) -> None:
    """How many elements are not zero; and where each row of them begins."""
    _with(call, handle)
    source, target = call.thing(a, DenseMatrix), call.thing(b, SparseMatrix)
    found = source.array(call)
    target.n = int(np.count_nonzero(found))
    if target.form in (CSR, CSC):
        lines = np.count_nonzero(found, axis=1 if target.form == CSR else 0)
        offsets = np.concatenate([[0], np.cumsum(lines)]) + target.base
        kind = np.dtype(np.int64) if target.index_types[0] == 3 else _I32
        call.elements(target.places[0], len(offsets), kind)[:] = offsets
        written(call.program, target.places[0], len(offsets), kind)


@entry(CUSPARSE, "cusparseDenseToSparse_convert", "h p p i p")
def dense_to_sparse(
    call: Call, handle: int, a: int, b: int, algorithm: int, buffer: int
) -> None:
    """The elements that are not zero."""
    _with(call, handle)
    source, target = call.thing(a, DenseMatrix), call.thing(b, SparseMatrix)

    def compute() -> None:
        found = source.array(call)
        row, column = np.nonzero(found)
        put_coordinates(call, target, row, column, loaded(found[row, column], source.dtype))

    _does(call, compute, source.rows * source.columns, 1, source.dtype)


@entry(CUSPARSE, "cusparseCsr2cscEx2", "h i i i p p p p p p i i i i p")
def csr_to_csc(
    call: Call, handle: int, m: int, n: int, count: int, values: int, offsets: int, columns: int,
    to_values: int, to_offsets: int, to_rows: int, kind: int, action: int, base: int,
    algorithm: int, buffer: int,
) -> None:  # fmt: skip
    """Compressed rows to compressed columns."""
    _with(call, handle)
    dtype = data_type(kind)
    source = SparseMatrix(CSR, m, n, count, [offsets, columns, values], (2, 2), base, dtype)
    target = SparseMatrix(CSC, m, n, count, [to_offsets, to_rows, to_values], (2, 2), base, dtype)
    if not action:
        raise NotServed("a conversion of indices alone")
    _does(call, lambda: put_coordinates(call, target, *source.coordinates(call)), count, 1, dtype)


@entry(CUSPARSE, "cusparseXcoo2csr", "h p i i p i")
def coo_to_csr(
    call: Call, handle: int, rows: int, count: int, m: int, offsets: int, base: int
) -> None:
    """Rows of sorted elements to offsets."""
    _with(call, handle)

    def compute() -> None:
        lines = call.elements(rows, count, _I32) - base
        found = np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=m))]) + base
        call.elements(offsets, m + 1, _I32)[:] = found
        written(call.program, offsets, m + 1, _I32)

    _does(call, compute, count, 1, _I32)


@entry(CUSPARSE, "cusparseXcsr2coo", "h p i i p i")
def csr_to_coo(
    call: Call, handle: int, offsets: int, count: int, m: int, rows: int, base: int
) -> None:
    """Offsets to the row of each element."""
    _with(call, handle)

    def compute() -> None:
        counts = np.diff(call.elements(offsets, m + 1, _I32))
        call.elements(rows, count, _I32)[:] = np.repeat(np.arange(m), counts) + base
        written(call.program, rows, count, _I32)

    _does(call, compute, count, 1, _I32)


# --- sparse times sparse -------------------------------------------------------------------------


def _product(left: tuple[Array, Array, Array], right: SparseMatrix, call: Call) -> Any:
    """Coordinates of A B, sorted by rows; what cancels out stays."""
    row, column, values = left
    offsets, _, _ = right.indices(call, 0, right.rows + 1), None, None
    _, others, factors = right.coordinates(call)
    counts = np.diff(offsets)[column]
    first = np.repeat(offsets[column], counts)
    place = first + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    keys = np.repeat(row, counts) * right.columns + others[place]
    unique, inverse = np.unique(keys, return_inverse=True)
    total = np.zeros(len(unique), values.dtype)
    np.add.at(total, inverse, np.repeat(values, counts) * factors[place])
    return unique // right.columns, unique % right.columns, total


@entry(CUSPARSE, "cusparseSpGEMM_workEstimation", "h i i p p p p p i i p p p")
def estimate(call: Call, handle: int, *words: int) -> None:
    """No buffer is needed."""
    put_u64(words[-2], _ROOM)


@entry(CUSPARSE, "cusparseSpGEMM_compute", "h i i p p p p p i i p p p")
def spgemm(
    call: Call, handle: int, ta: int, tb: int, alpha: int, a: int, b: int, beta: int, c: int,
    compute_type: int, algorithm: int, description: int, room: int, buffer: int,
) -> None:  # fmt: skip
    """C = alpha * A B: how many elements there will be."""
    _with(call, handle)
    if not buffer:
        put_u64(room, _ROOM)
        return
    get_u64(room)
    left, right = call.thing(a, SparseMatrix), call.thing(b, SparseMatrix)
    if ta or tb or left.form != CSR or right.form != CSR:
        raise LibraryFault(call.entry.library.not_supported, "a product of other forms")
    row, column, total = _product(left.coordinates(call), right, call)
    factor = call.scalar(alpha, data_type(compute_type))()
    call.thing(description, Description).kept = (row, column, factor * total)
    call.thing(c, SparseMatrix).n = len(total)
    _does(call, lambda: None, len(total), 2, left.dtype)


@entry(CUSPARSE, "cusparseSpGEMM_copy", "h i i p p p p p i i p")
def spgemm_copy(
    call: Call, handle: int, ta: int, tb: int, alpha: int, a: int, b: int, beta: int, c: int,
    compute_type: int, algorithm: int, description: int,
) -> None:  # fmt: skip
    """Puts the product where C's arrays are now."""
    _with(call, handle)
    target, kept = call.thing(c, SparseMatrix), call.thing(description, Description).kept
    _does(call, lambda: put_coordinates(call, target, *kept), target.n, 1, target.dtype)


def _non_zeros(letter: str, dtype: Any) -> None:
    def function(
        call: Call, handle: int, by_columns: int, m: int, n: int, matrix: int, a: int, lda: int,
        counts: int, total: int,
    ) -> None:  # fmt: skip
        _with(call, handle)
        lines = np.count_nonzero(call.matrix(a, m, n, lda, dtype), axis=0 if by_columns else 1)
        call.elements(counts, len(lines), _I32)[:] = lines
        written(call.program, counts, len(lines), _I32)
        if call.program.memory.find(total) is not None:
            call.gives(total, lines.sum(), _I32)
        else:
            put_i32(total, int(lines.sum()))

    add(CUSPARSE, f"cusparse{letter}nnz", "h i i i p p i p p", function)


for _letter, _kind in zip("SDCZ", ("f4", "f8", "c8", "c16"), strict=True):
    _non_zeros(_letter, np.dtype(_kind))
