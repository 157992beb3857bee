"""Reads and writes what a C caller's pointers point to."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.driver.status import DriverError, Status


def _needed(address: int) -> int:
    if not address:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "a pointer to a result is null")
    return address


def put_i32(address: int, value: int) -> None:
    """*address = value, for int."""
    ctypes.c_int32.from_address(_needed(address)).value = value


def put_u32(address: int, value: int) -> None:
    """*address = value, for unsigned int."""
    ctypes.c_uint32.from_address(_needed(address)).value = value


def put_u64(address: int, value: int) -> None:
    """*address = value, for size_t, pointers and handles."""
    ctypes.c_uint64.from_address(_needed(address)).value = value


def put_f32(address: int, value: float) -> None:
    """*address = value, for float."""
    ctypes.c_float.from_address(_needed(address)).value = value


def put_bytes(address: int, data: bytes) -> None:
    """Copies bytes to an address."""
    ctypes.memmove(_needed(address), data, len(data))


def put_text(address: int, text: str, room: int) -> None:
    """Copies text and a zero byte, cut to the room that the caller has."""
    if room < 1:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "no room for a name")
    put_bytes(address, text.encode()[: room - 1] + b"\0")


def get_i32(address: int) -> int:
    """The int at an address."""
    return ctypes.c_int32.from_address(_needed(address)).value


def get_u32(address: int) -> int:
    """The unsigned int at an address."""
    return ctypes.c_uint32.from_address(_needed(address)).value


def get_u64(address: int) -> int:
    """The size_t, pointer or handle at an address."""
    return ctypes.c_uint64.from_address(_needed(address)).value


def get_bytes(address: int, nbytes: int) -> bytes:
    """Bytes at an address."""
    return ctypes.string_at(_needed(address), nbytes)


def get_text(address: int) -> str:
    """The text that ends with a zero byte."""
    return ctypes.string_at(_needed(address)).decode("utf-8", "surrogateescape")


def host_view(address: int, nbytes: int) -> npt.NDArray[np.uint8]:
    """A host range as an array, in place."""
    raw: Any = (ctypes.c_uint8 * nbytes).from_address(_needed(address))
    return np.frombuffer(raw, np.uint8)
