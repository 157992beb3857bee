"""Vectors, matrices and scalars of a library's call, as NumPy sees them in the program's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from warplens.driver.cells import get_bytes
from warplens.programs.libraries.table import NotServed
from warplens.programs.program import Program

Array: TypeAlias = npt.NDArray[Any]
BF16 = "bf16"
# cudaDataType: real and complex types by number.
DATA_TYPES: dict[int, Any] = {
    0: np.dtype(np.float32), 1: np.dtype(np.float64), 2: np.dtype(np.float16),
    3: np.dtype(np.int8), 4: np.dtype(np.complex64), 5: np.dtype(np.complex128),
    8: np.dtype(np.uint8), 10: np.dtype(np.int32), 14: BF16, 24: np.dtype(np.int64),
}  # fmt: skip
OF_LETTER = {
    "S": np.dtype(np.float32), "D": np.dtype(np.float64), "C": np.dtype(np.complex64),
    "Z": np.dtype(np.complex128), "H": np.dtype(np.float16),
}  # fmt: skip


def data_type(number: int) -> Any:
    """What a cudaDataType stands for."""
    if number not in DATA_TYPES:
        raise NotServed(f"data of type {number}")
    return DATA_TYPES[number]


def itemsize(dtype: Any) -> int:
    """An element's bytes."""
    return 2 if dtype is BF16 else int(dtype.itemsize)


def elements(program: Program, address: int, count: int, dtype: Any) -> Array:
    """So many elements, in place; bf16 as bits."""
    stored = np.dtype(np.uint16) if dtype is BF16 else dtype
    if count <= 0:
        return np.zeros(0, stored)
    return program.memory.view(address, count * stored.itemsize).view(stored)


def written(program: Program, address: int, count: int, dtype: Any) -> None:
    """Says that a library has written there."""
    if count > 0:
        program.memory.wrote(address, count * itemsize(dtype))


def vector(program: Program, address: int, n: int, step: int, dtype: Any) -> Array:
    """A BLAS vector: a negative step begins at the far end."""
    if n <= 0:
        return np.zeros(0, dtype)
    if not step:
        return np.broadcast_to(elements(program, address, 1, dtype), (n,))
    found = elements(program, address, (n - 1) * abs(step) + 1, dtype)[:: abs(step)]
    return found if step > 0 else found[::-1]


def matrix(
    program: Program, address: int, rows: int, columns: int, leading: int, dtype: Any
) -> Array:
    """A matrix that is stored by columns."""
    stored = np.dtype(np.uint16) if dtype is BF16 else dtype
    if rows <= 0 or columns <= 0:
        return np.zeros((max(rows, 0), max(columns, 0)), stored)
    flat = elements(program, address, leading * (columns - 1) + rows, dtype)
    size = stored.itemsize
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (size, leading * size))


def loaded(values: Array, dtype: Any) -> Array:
    """What is computed with: halves and bf16 as floats."""
    if dtype is BF16:
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32) if values.dtype == np.float16 else values


def stored(values: Array, dtype: Any) -> Array:
    """Values as a type keeps them, rounded to nearest, ties to even; integers saturate."""
    if dtype is BF16:
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
        return np.where(np.isnan(values), 0x7FFF, rounded).astype(np.uint16)
    if dtype.kind == "i" and values.dtype.kind == "f":
        info = np.iinfo(dtype)
        return np.clip(np.rint(values), info.min, info.max).astype(dtype)
    return values.astype(dtype)


def scalar(program: Program, address: int, dtype: Any, *, is_device: bool) -> Callable[[], Any]:
    """A scalar: the host's is read when the call is made, the device's when it is done."""

    def on_device() -> Any:
        return loaded(elements(program, address, 1, dtype), dtype)[0]

    if is_device or program.memory.find(address) is not None:
        return on_device
    kept = np.dtype(np.uint16) if dtype is BF16 else dtype
    value = loaded(np.frombuffer(get_bytes(address, kept.itemsize), kept), dtype)[0]
    return lambda: value
