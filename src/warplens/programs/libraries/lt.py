"""cuBLASLt: products of matrices with what comes after them, and changes of layout."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from warplens.driver.cells import get_bytes, put_bytes, put_i32, put_u64
from warplens.programs.libraries import float8
from warplens.programs.libraries.arrays import (
    DATA_TYPES,
    Array,
    itemsize,
    loaded,
    scalar,
    stored,
    written,
)
from warplens.programs.libraries.blas_matrices import transposed
from warplens.programs.libraries.lt_epilogues import Epilogue
from warplens.programs.libraries.lt_forms import LAYOUT, MATMUL, TRANSFORM, Form
from warplens.programs.libraries.table import NotServed, entry
from warplens.programs.libraries.work import Call, Handle, precision_of

LT = "cublasLt"
_FLOATS8 = {28: float8.E4M3, 29: float8.E5M2}
_COLUMNS, _ROWS = 0, 1
_HOST, _DEVICE, _VECTORS, _VECTOR_ZERO, _VECTOR_HOST = range(5)
_PROPERTIES = {0: 13, 1: 0, 2: 0}
_RESULT = struct.Struct("<64sQif16x")
_ALGORITHM = struct.pack("<Q56x", 1)


@dataclass(frozen=True, slots=True)
class Matrices:
    """A batch of matrices as a layout describes them."""

    call: Call
    address: int
    type: int
    shape: tuple[int, int]
    order: int
    leading: int
    count: int
    stride: int

    @property
    def dtype(self) -> Any:
        """The elements' type; 8-bit floats as their bits."""
        return np.dtype(np.uint8) if self.type in _FLOATS8 else DATA_TYPES[self.type]

    def place(self, index: int) -> Array:
        """One of them, in place."""
        at = self.address + index * self.stride * itemsize(self.dtype)
        rows, columns = self.shape
        if self.order == _ROWS:
            return self.call.matrix(at, columns, rows, self.leading, self.dtype).T
        return self.call.matrix(at, rows, columns, self.leading, self.dtype)

    def values(self, index: int) -> Array:
        """What one of them holds."""
        found = self.place(index)
        if self.type in _FLOATS8:
            return float8.decoded(found, _FLOATS8[self.type])
        return loaded(found, self.dtype)

    def gets(self, index: int, values: Array) -> None:
        """Changes one of them."""
        kind = _FLOATS8.get(self.type)
        place = self.place(index)
        place[:] = stored(values, self.dtype) if kind is None else float8.encoded(values, kind)
        at = self.address + index * self.stride * itemsize(self.dtype)
        lines = self.shape[1] if self.order == _COLUMNS else self.shape[0]
        written(self.call.program, at, self.leading * lines, self.dtype)


def described(form: Form, address: int) -> dict[str, int]:
    """The fields of the program's descriptor."""
    return form.read(get_bytes(address, form.size))


def matrices(call: Call, address: int, layout: int) -> Matrices:
    """The matrices at an address."""
    if not layout:
        raise call.invalid("a layout is null")
    found = described(LAYOUT, layout)
    if found["type"] not in DATA_TYPES and found["type"] not in _FLOATS8:
        raise NotServed(f"data of type {found['type']}")
    if found["order"] not in (_COLUMNS, _ROWS) or found["mode"] or found["plane"]:
        raise NotServed("a layout other than rows or columns, at regular distances,")
    return Matrices(
        call, address, found["type"], (found["rows"], found["columns"]), found["order"],
        found["leading"], max(found["batches"], 1), found["stride"],
    )  # fmt: skip


def _scale_of(call: Call, address: int) -> float:
    if not address:
        return 1.0
    return float(scalar(call.program, address, DATA_TYPES[0], is_device=True)())


@dataclass(frozen=True, slots=True)
class Matmul:
    """D = epilogue(alpha op(A) op(B) + beta C)."""

    call: Call
    fields: dict[str, int]
    a: Matrices
    b: Matrices
    c: Matrices
    d: Matrices

    def check(self) -> None:
        """Refuses what does not fit together, or is not served."""
        fields = self.fields
        m, n = self.d.shape
        left = self.a.shape[::-1] if fields["op_a"] else self.a.shape
        right = self.b.shape[::-1] if fields["op_b"] else self.b.shape
        if left != (m, right[0]) or right[1] != n or self.c.shape != (m, n):
            raise self.call.invalid(f"op(A) {left}, op(B) {right}, C {self.c.shape}, D {(m, n)}")
        if fields["op_c"] or fields["fill"] != 2:
            raise NotServed("a product with a transposed or half C")
        if any(fields[f"mode_{name}"] for name in ("a", "b", "c", "d", "aux", "out")):
            raise NotServed("a product with scales for parts of a matrix")
        if fields["scale"] not in DATA_TYPES:
            raise NotServed(f"scalars of type {fields['scale']}")
        Epilogue.of(fields, self.c.type, self.d.type, is_float8=self.a.type in _FLOATS8).check()

    def factors(self, alpha: int, beta: int) -> tuple[Callable[[int], Any], Callable[[int], Any]]:
        """The scalars, or a column of one for each row, for each of the batch."""
        mode, dtype = self.fields["pointers"], DATA_TYPES[self.fields["scale"]]
        program, m = self.call.program, self.d.shape[0]

        def one(address: int) -> Callable[[int], Any]:
            found = scalar(program, address, dtype, is_device=mode == _DEVICE)
            return lambda index: found()

        def column(address: int) -> Callable[[int], Any]:
            step = self.fields["alpha_stride"] * itemsize(dtype)
            return lambda index: loaded(
                self.call.vector(address + index * step, m, 1, dtype), dtype
            )[:, None]

        if mode in (_HOST, _DEVICE):
            return one(alpha), one(beta) if beta else lambda index: 0
        if mode == _VECTOR_ZERO:
            return column(alpha), lambda index: 0
        if mode in (_VECTORS, _VECTOR_HOST):
            return column(alpha), column(beta) if mode == _VECTORS else one(beta)
        raise self.call.invalid(f"pointer mode {mode}")

    def compute(self, alpha: Callable[[int], Any], beta: Callable[[int], Any]) -> None:
        """All of the batch."""
        fields, call = self.fields, self.call
        scale = _scale_of(call, fields["scale_a"]) * _scale_of(call, fields["scale_b"])
        largest = 0.0
        for index in range(self.d.count):
            left = transposed(self.a.values(index), fields["op_a"])
            right = transposed(self.b.values(index), fields["op_b"])
            found = _product(left, right) * alpha(index)
            found = found if scale == 1 else found * np.float32(scale)
            factor = beta(index)
            if np.any(factor != 0):
                found = found + factor * self.c.values(index) * _old_scale(call, fields)
            epilogue = Epilogue.of(fields, self.c.type, self.d.type,
                                   is_float8=self.a.type in _FLOATS8)  # fmt: skip
            found = epilogue.after(call, index, found, (left, right))
            largest = max(largest, float(np.max(np.abs(found), initial=0)))
            scaled = _scale_of(call, fields["scale_d"])
            self.d.gets(index, found if scaled == 1 else found * np.float32(scaled))
        if fields["largest_d"]:
            call.gives(fields["largest_d"], np.float32(largest), np.dtype(np.float32))


def _old_scale(call: Call, fields: dict[str, int]) -> Any:
    return np.float32(_scale_of(call, fields["scale_c"])) if fields["scale_c"] else 1


def _product(left: Array, right: Array) -> Array:
    if left.dtype.kind in "iu":
        return (left.astype(np.int64) @ right.astype(np.int64)).astype(np.int32)
    return left @ right


def _matmul(call: Call, description: int, layouts: tuple[int, ...], places: tuple[int, ...]) -> Any:
    if not description:
        raise call.invalid("the description of a product is null")
    four = (matrices(call, at, one) for at, one in zip(places, layouts, strict=True))
    found = Matmul(call, described(MATMUL, description), *four)
    found.check()
    return found


@entry(LT, "cublasLtMatmul", "h p p p p p p p p p p p p p z p")
def matmul(
    call: Call, handle: int, description: int, alpha: int, a: int, at: int, b: int, bt: int,
    beta: int, c: int, ct: int, d: int, dt: int, algorithm: int, workspace: int, nbytes: int,
    stream: int,
) -> None:  # fmt: skip
    """D = epilogue(alpha op(A) op(B) + beta C)."""
    call.thing(handle, Handle)
    call.program.context()
    found = _matmul(call, description, (at, bt, ct, dt), (a, b, c or d, d))
    scalars = found.factors(alpha, beta)
    m, n = found.d.shape
    k = found.a.shape[0] if found.fields["op_a"] else found.a.shape[1]
    parts = (found.a, found.b, found.d)
    moved = sum(one.shape[0] * one.shape[1] * itemsize(one.dtype) for one in parts)
    kind = "fp8" if found.a.type in _FLOATS8 else precision_of(found.a.dtype)
    call.does(lambda: found.compute(*scalars), operations=2 * m * n * k * found.d.count,
              moved=moved * found.d.count, precision=kind, stream=stream)  # fmt: skip


@entry(LT, "cublasLtMatrixTransform", "h p p p p p p p p p p")
def transform(
    call: Call, handle: int, description: int, alpha: int, a: int, at: int, beta: int, b: int,
    bt: int, c: int, ct: int, stream: int,
) -> None:  # fmt: skip
    """C = alpha op(A) + beta op(B), from and to any layout."""
    call.thing(handle, Handle)
    call.program.context()
    fields = described(TRANSFORM, description)
    target, left = matrices(call, c, ct), matrices(call, a, at)
    right = matrices(call, b, bt) if b and bt else None
    dtype = DATA_TYPES.get(fields["scale"])
    if dtype is None:
        raise NotServed(f"scalars of type {fields['scale']}")
    on_device = fields["pointers"] == _DEVICE
    factors = [scalar(call.program, one, dtype, is_device=on_device) if one else lambda: 0
               for one in (alpha, beta)]  # fmt: skip

    def compute() -> None:
        for index in range(target.count):
            found = factors[0]() * transposed(left.values(index), fields["op_a"])
            if right is not None and factors[1]() != 0:
                found = found + factors[1]() * transposed(right.values(index), fields["op_b"])
            target.gets(index, found)

    size = target.shape[0] * target.shape[1] * itemsize(target.dtype) * target.count
    call.does(compute, operations=size, moved=2 * size, stream=stream)


# --- handles and algorithms: there is one --------------------------------------------------------


@entry(LT, "cublasLtCreate", "p")
def create(call: Call, handle: int) -> None:
    """A handle; one of cuBLAS serves as well."""
    call.program.context()
    put_u64(handle, call.program.keep(Handle(LT)))


@entry(LT, "cublasLtDestroy", "h")
def destroy(call: Call, handle: int) -> None:
    """Ends it."""
    call.thing(handle, Handle)
    del call.program.libraries[handle]


@entry(LT, "cublasLtGetProperty", "i p")
def library_property(call: Call, kind: int, value: int) -> None:
    """Major, minor, patch level."""
    if kind not in _PROPERTIES:
        raise call.invalid(f"property {kind}")
    put_i32(value, _PROPERTIES[kind])


def _heuristic(call: Call, *words: int) -> None:
    _, description, a, b, c, d, _, wanted, results, count, *_ = words
    put_i32(count, 0)
    if wanted < 1:
        raise call.invalid("no results are asked for")
    _matmul(call, description, (a, b, c, d), (0, 0, 0, 0))
    put_bytes(results, _RESULT.pack(_ALGORITHM, 0, 0, 1.0))
    put_i32(count, 1)


entry(LT, "cublasLtMatmulAlgoGetHeuristic", "h p p p p p p i p p")(_heuristic)
entry(LT, "cublasLtMatmulAlgoGetHeuristicForStream", "h p p p p p p i p p p")(_heuristic)


@entry(LT, "cublasLtMatmulAlgoGetIds", "h i i i i i i i p p")
def algorithm_ids(call: Call, *words: int) -> None:
    """The one there is."""
    wanted, numbers, count = words[-3:]
    if wanted > 0:
        put_i32(numbers, 1)
    if count:
        put_i32(count, min(wanted, 1))


@entry(LT, "cublasLtMatmulAlgoInit", "h i i i i i i i p")
def algorithm(call: Call, *words: int) -> None:
    """The one there is."""
    number, place = words[-2:]
    if number != 1:
        raise call.invalid(f"algorithm {number}")
    put_bytes(place, _ALGORITHM)


@entry(LT, "cublasLtMatmulAlgoCheck", "h p p p p p p p")
def check(
    call: Call, handle: int, description: int, a: int, b: int, c: int, d: int, chosen: int,
    result: int,
) -> None:  # fmt: skip
    """Whether a product can be computed."""
    _matmul(call, description, (a, b, c, d), (0, 0, 0, 0))
    put_bytes(result, _RESULT.pack(_ALGORITHM, 0, 0, 1.0))


@entry(LT, "cublasLtMatmulAlgoConfigSetAttribute", "p i p z")
def configure(call: Call, chosen: int, number: int, value: int, nbytes: int) -> None:
    """There is nothing to choose."""


_LISTS, _MASKS = (6, 13), {11: 0x1F, 12: 0x3FF}


@entry(LT, "cublasLtMatmulAlgoCapGetAttribute", "p i p z p")
def capability(
    call: Call, chosen: int, number: int, value: int, nbytes: int, given: int
) -> None:
    """What can be chosen: nothing; lists have one entry that means so."""
    size = 8 if number == 15 else 4
    if given:
        put_u64(given, size)
    if nbytes >= size and value:
        default = 1 if number in (3, 4) or number > 15 else 0
        put_bytes(value, _MASKS.get(number, default).to_bytes(size, "little"))


@entry(LT, "cublasLtMatmulAlgoConfigGetAttribute", "p i p z p")
def configured(
    call: Call, chosen: int, number: int, value: int, nbytes: int, given: int
) -> None:
    """What was chosen: nothing."""
    size = 2 if number in (7, 8) else 4
    if given:
        put_u64(given, size)
    if nbytes >= size and value:
        put_bytes(value, (1 if number in (0, 2) else 0).to_bytes(size, "little"))


@entry(LT, "cublasLtHeuristicsCacheGetCapacity", "p")
def cache_capacity(call: Call, capacity: int) -> None:
    """Nothing is kept."""
    put_u64(capacity, 0)


@entry(LT, "cublasLtHeuristicsCacheSetCapacity", "z")
def set_cache_capacity(call: Call, capacity: int) -> None:
    """The same."""


@entry(LT, "cublasLtLoggerSetLevel cublasLtLoggerSetMask", "i")
def logger_level(call: Call, level: int) -> None:
    """Nothing is logged."""


@entry(LT, "cublasLtLoggerForceDisable", "")
def logger_off(call: Call) -> None:
    """The same."""
