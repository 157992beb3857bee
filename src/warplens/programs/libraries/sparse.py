"""cuSPARSE: handles and descriptions of sparse and dense vectors and matrices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warplens.driver.cells import get_i32, put_i32, put_u64
from warplens.programs.libraries.arrays import Array, data_type, elements, loaded, matrix
from warplens.programs.libraries.table import NotServed, add, entry
from warplens.programs.libraries.work import Call, Handle

CUSPARSE = "cusparse"
CSR, CSC, COO = 1, 2, 3
_INDEX = {1: np.dtype(np.uint16), 2: np.dtype(np.int32), 3: np.dtype(np.int64)}
_ROW_ORDER = 2


@dataclass(slots=True, eq=False)
class SparseMatrix:
    """A sparse matrix: offsets (or rows), columns (or rows, for CSC) and values by address."""

    form: int
    rows: int
    columns: int
    n: int
    places: list[int]  # offsets or rows, columns, values
    index_types: tuple[int, int]
    base: int
    dtype: Any
    attributes: dict[int, int] = field(default_factory=dict)

    def indices(self, call: Call, which: int, count: int) -> Array:
        """Offsets or indices, counted from 0."""
        kind = _INDEX[self.index_types[which]]
        return elements(call.program, self.places[which], count, kind).astype(np.int64) - self.base

    def coordinates(self, call: Call) -> tuple[Array, Array, Array]:
        """Row, column and value of each stored element."""
        values = loaded(elements(call.program, self.places[2], self.n, self.dtype), self.dtype)
        if self.form == COO:
            return self.indices(call, 0, self.n), self.indices(call, 1, self.n), values
        lines = self.rows if self.form == CSR else self.columns
        counts = np.diff(self.indices(call, 0, lines + 1))
        of_line = np.repeat(np.arange(lines), counts)
        others = self.indices(call, 1, self.n)
        return (of_line, others, values) if self.form == CSR else (others, of_line, values)

    def dense(self, call: Call) -> Array:
        """All elements."""
        row, column, values = self.coordinates(call)
        found = np.zeros((self.rows, self.columns), values.dtype)
        np.add.at(found, (row, column), values)
        return found


@dataclass(slots=True, eq=False)
class SparseVector:
    """A sparse vector by addresses."""

    size: int
    n: int
    indices: int
    values: int
    index_type: int
    base: int
    dtype: Any

    def positions(self, call: Call) -> Array:
        """Where its elements are, counted from 0."""
        kind = _INDEX[self.index_type]
        found = elements(call.program, self.indices, self.n, kind)
        return found.astype(np.int64) - self.base


@dataclass(slots=True, eq=False)
class DenseVector:
    """A dense vector by address."""

    size: int
    values: int
    dtype: Any

    def array(self, call: Call) -> Array:
        """Its elements in place."""
        return elements(call.program, self.values, self.size, self.dtype)


@dataclass(slots=True, eq=False)
class DenseMatrix:
    """A dense matrix by address; by rows if `is_by_rows`."""

    rows: int
    columns: int
    leading: int
    values: int
    dtype: Any
    is_by_rows: bool
    batches: int = 1

    def array(self, call: Call) -> Array:
        """Its elements in place."""
        if self.batches > 1:
            raise NotServed("a batch of matrices")
        if self.is_by_rows:
            return matrix(call.program, self.values, self.columns, self.rows, self.leading,
                          self.dtype).T  # fmt: skip
        return matrix(call.program, self.values, self.rows, self.columns, self.leading, self.dtype)

    @property
    def extent(self) -> int:
        """Elements from its first to its last."""
        lines, length = (
            (self.rows, self.columns) if self.is_by_rows else (self.columns, self.rows)
        )
        return self.leading * (lines - 1) + length


@dataclass(slots=True, eq=False)
class Description:
    """Anything that is only remembered: old matrix descriptions, plans of a product."""

    values: dict[str, int] = field(default_factory=dict)
    kept: Any = None


@entry(CUSPARSE, "cusparseCreate", "p")
def create(call: Call, handle: int) -> None:
    """A handle."""
    call.program.context()
    put_u64(handle, call.program.keep(Handle(CUSPARSE)))


@entry(CUSPARSE, "cusparseSetStream", "h p")
def set_stream(call: Call, handle: int, stream: int) -> None:
    """Where work goes from now on."""
    call.program.context()
    call.program.driver.stream(stream)
    call.thing(handle, Handle).stream = stream


@entry(CUSPARSE, "cusparseGetStream", "h p")
def get_stream(call: Call, handle: int, stream: int) -> None:
    """Where work goes."""
    put_u64(stream, call.thing(handle, Handle).stream)


@entry(CUSPARSE, "cusparseSetPointerMode", "h i")
def set_pointer_mode(call: Call, handle: int, mode: int) -> None:
    """Whether scalars lie on the device."""
    call.thing(handle, Handle).on_device = mode == 1


@entry(CUSPARSE, "cusparseGetPointerMode", "h p")
def get_pointer_mode(call: Call, handle: int, mode: int) -> None:
    """Whether scalars lie on the device."""
    put_i32(mode, call.thing(handle, Handle).on_device)


@entry(CUSPARSE, "cusparseGetVersion", "h p")
def version(call: Call, handle: int, number: int) -> None:
    """The version of the API."""
    put_i32(number, 12_500)


@entry(CUSPARSE, "cusparseGetProperty", "i p")
def library_property(call: Call, kind: int, value: int) -> None:
    """Major, minor, patch level."""
    put_i32(value, {0: 12, 1: 5}.get(kind, 0))


def _destroys(*names: str) -> None:
    def destroy(call: Call, number: int) -> None:
        if call.program.libraries.pop(number, None) is None:
            raise call.invalid(f"{number:#x} is nothing that could be destroyed")

    for name in names:
        add(CUSPARSE, name, "h", destroy)


def _describes(*names: str) -> None:
    def describe(call: Call, number: int) -> None:
        put_u64(number, call.program.keep(Description()))

    for name in names:
        add(CUSPARSE, name, "p", describe)


_destroys("cusparseDestroy", "cusparseDestroySpMat", "cusparseDestroySpVec", "cusparseDestroyDnVec",
          "cusparseDestroyDnMat", "cusparseDestroyMatDescr", "cusparseSpSV_destroyDescr",
          "cusparseSpSM_destroyDescr", "cusparseSpGEMM_destroyDescr")  # fmt: skip
_describes("cusparseCreateMatDescr", "cusparseSpSV_createDescr", "cusparseSpSM_createDescr",
           "cusparseSpGEMM_createDescr")  # fmt: skip


def _remembers(what: str) -> None:
    def set_value(call: Call, number: int, value: int) -> None:
        call.thing(number, Description).values[what] = value

    add(CUSPARSE, f"cusparseSetMat{what}", "h i", set_value)


for _what in ("Type", "FillMode", "DiagType", "IndexBase"):
    _remembers(_what)


# --- descriptions --------------------------------------------------------------------------------


@entry(CUSPARSE, "cusparseCreateCsr cusparseCreateConstCsr cusparseCreateCsc "
       "cusparseCreateConstCsc", "p l l l p p p i i i i")  # fmt: skip
def create_compressed(
    call: Call, result: int, rows: int, columns: int, n: int, offsets: int, indices: int,
    values: int, offset_type: int, index_type: int, base: int, kind: int,
) -> None:  # fmt: skip
    """A matrix by compressed rows or columns."""
    form = CSC if call.entry.name.endswith("Csc") else CSR
    put_u64(result, call.program.keep(SparseMatrix(
        form, rows, columns, n, [offsets, indices, values], (offset_type, index_type), base,
        data_type(kind),
    )))  # fmt: skip


@entry(CUSPARSE, "cusparseCreateCoo cusparseCreateConstCoo", "p l l l p p p i i i")
def create_coordinates(
    call: Call, result: int, rows: int, columns: int, n: int, row: int, column: int, values: int,
    index_type: int, base: int, kind: int,
) -> None:  # fmt: skip
    """A matrix by coordinates."""
    put_u64(result, call.program.keep(SparseMatrix(
        COO, rows, columns, n, [row, column, values], (index_type, index_type), base,
        data_type(kind),
    )))  # fmt: skip


@entry(CUSPARSE, "cusparseCreateDnVec cusparseCreateConstDnVec", "p l p i")
def create_vector(call: Call, result: int, size: int, values: int, kind: int) -> None:
    """A dense vector."""
    put_u64(result, call.program.keep(DenseVector(size, values, data_type(kind))))


@entry(CUSPARSE, "cusparseCreateDnMat cusparseCreateConstDnMat", "p l l l p i i")
def create_matrix(
    call: Call, result: int, rows: int, columns: int, leading: int, values: int, kind: int,
    order: int,
) -> None:  # fmt: skip
    """A dense matrix."""
    put_u64(result, call.program.keep(DenseMatrix(
        rows, columns, leading, values, data_type(kind), order == _ROW_ORDER
    )))  # fmt: skip


@entry(CUSPARSE, "cusparseCreateSpVec cusparseCreateConstSpVec", "p l l p p i i i")
def create_sparse_vector(
    call: Call, result: int, size: int, n: int, indices: int, values: int, index_type: int,
    base: int, kind: int,
) -> None:  # fmt: skip
    """A sparse vector."""
    put_u64(result, call.program.keep(SparseVector(
        size, n, indices, values, index_type, base, data_type(kind)
    )))  # fmt: skip


@entry(CUSPARSE, "cusparseSpMatGetSize", "h p p p")
def sparse_size(call: Call, number: int, rows: int, columns: int, n: int) -> None:
    """Rows, columns, stored elements."""
    found = call.thing(number, SparseMatrix)
    for address, value in ((rows, found.rows), (columns, found.columns), (n, found.n)):
        put_u64(address, value)


@entry(CUSPARSE, "cusparseCsrSetPointers cusparseCscSetPointers cusparseCooSetPointers", "h p p p")
def set_pointers(call: Call, number: int, offsets: int, indices: int, values: int) -> None:
    """Where its parts are."""
    call.thing(number, SparseMatrix).places[:] = [offsets, indices, values]


@entry(CUSPARSE, "cusparseSpMatSetValues", "h p")
def set_sparse_values(call: Call, number: int, values: int) -> None:
    """Where its values are."""
    call.thing(number, SparseMatrix).places[2] = values


@entry(CUSPARSE, "cusparseSpMatGetValues", "h p")
def get_sparse_values(call: Call, number: int, values: int) -> None:
    """Where its values are."""
    put_u64(values, call.thing(number, SparseMatrix).places[2])


@entry(CUSPARSE, "cusparseSpMatSetAttribute", "h i p z")
def set_attribute(call: Call, number: int, attribute: int, data: int, nbytes: int) -> None:
    """Which half is stored, and whether the diagonal is ones."""
    call.thing(number, SparseMatrix).attributes[attribute] = get_i32(data)


@entry(CUSPARSE, "cusparseDnVecSetValues", "h p")
def set_vector_values(call: Call, number: int, values: int) -> None:
    """Where its elements are."""
    call.thing(number, DenseVector).values = values


@entry(CUSPARSE, "cusparseDnVecGetValues", "h p")
def get_vector_values(call: Call, number: int, values: int) -> None:
    """Where its elements are."""
    put_u64(values, call.thing(number, DenseVector).values)


@entry(CUSPARSE, "cusparseDnMatSetValues", "h p")
def set_matrix_values(call: Call, number: int, values: int) -> None:
    """Where its elements are."""
    call.thing(number, DenseMatrix).values = values


@entry(CUSPARSE, "cusparseDnMatSetStridedBatch", "h i l")
def set_batch(call: Call, number: int, count: int, stride: int) -> None:
    """Several matrices."""
    call.thing(number, DenseMatrix).batches = count
