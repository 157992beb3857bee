"""Reads and writes what a C caller's pointers point to.

The caller is in this process, or its thread has said (`serve`) through whom its memory is reached.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from warplens.driver.status import DriverError, Status


class Caller(Protocol):
    """The memory of a caller in another process."""

    def read(self, address: int, nbytes: int) -> bytes:
        """Bytes there."""

    def text(self, address: int) -> bytes:
        """The bytes before the next zero byte there."""

    def write(self, address: int, data: bytes) -> None:
        """Changes bytes there."""

    def call(self, kind: int, function: int, *arguments: int) -> int:
        """Calls a function there."""


class _Serving(threading.local):
    caller: Caller | None = None


_serving = _Serving()


def serve(caller: Caller | None) -> None:
    """Says whose memory this thread's pointers point to from now on; None: this process's."""
    _serving.caller = caller


def served_caller() -> Caller | None:
    """Whose memory this thread's pointers point to."""
    return _serving.caller


HOST_FUNCTION, STREAM_CALLBACK, SIZE_FUNCTION = range(3)  # kinds of a caller's functions
_FUNCTIONS: tuple[Any, ...] = (
    ctypes.CFUNCTYPE(None, ctypes.c_void_p),
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p),
    ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int),
)


def called(kind: int, function: int, *arguments: int) -> int:
    """Calls a function of the caller, in the caller's process."""
    if _serving.caller is not None:
        return _serving.caller.call(kind, _needed(function), *arguments)
    return int(_FUNCTIONS[kind](_needed(function))(*arguments) or 0)


def _needed(address: int) -> int:
    if not address:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "a pointer to a result is null")
    return address


def put_i32(address: int, value: int) -> None:
    """*address = value, for int."""
    if _serving.caller is not None:
        _serving.caller.write(_needed(address), struct.pack("<i", value))
        return
    ctypes.c_int32.from_address(_needed(address)).value = value


def put_u32(address: int, value: int) -> None:
    """*address = value, for unsigned int."""
    if _serving.caller is not None:
        _serving.caller.write(_needed(address), struct.pack("<I", value))
        return
    ctypes.c_uint32.from_address(_needed(address)).value = value


def put_u64(address: int, value: int) -> None:
    """*address = value, for size_t, pointers and handles."""
    if _serving.caller is not None:
        _serving.caller.write(_needed(address), struct.pack("<Q", value))
        return
    ctypes.c_uint64.from_address(_needed(address)).value = value


def put_f32(address: int, value: float) -> None:
    """*address = value, for float."""
    if _serving.caller is not None:
        _serving.caller.write(_needed(address), struct.pack("<f", value))
        return
    ctypes.c_float.from_address(_needed(address)).value = value


def put_bytes(address: int, data: bytes) -> None:
    """Copies bytes to an address."""
    if _serving.caller is not None:
        _serving.caller.write(_needed(address), data)
        return
    ctypes.memmove(_needed(address), data, len(data))


def put_text(address: int, text: str, room: int) -> None:
    """Copies text and a zero byte, cut to the room that the caller has."""
    if room < 1:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "no room for a name")
    put_bytes(address, text.encode()[: room - 1] + b"\0")


def get_i32(address: int) -> int:
    """The int at an address."""
    if _serving.caller is not None:
        return int(struct.unpack("<i", _serving.caller.read(_needed(address), 4))[0])
    return ctypes.c_int32.from_address(_needed(address)).value


def get_u32(address: int) -> int:
    """The unsigned int at an address."""
    if _serving.caller is not None:
        return int(struct.unpack("<I", _serving.caller.read(_needed(address), 4))[0])
    return ctypes.c_uint32.from_address(_needed(address)).value


def get_u64(address: int) -> int:
    """The size_t, pointer or handle at an address."""
    if _serving.caller is not None:
        return int(struct.unpack("<Q", _serving.caller.read(_needed(address), 8))[0])
    return ctypes.c_uint64.from_address(_needed(address)).value


def get_bytes(address: int, nbytes: int) -> bytes:
    """Bytes at an address."""
    if _serving.caller is not None:
        return _serving.caller.read(_needed(address), nbytes)
    return ctypes.string_at(_needed(address), nbytes)


def get_text(address: int) -> str:
    """The text that ends with a zero byte."""
    if _serving.caller is not None:
        return _serving.caller.text(_needed(address)).decode("utf-8", "surrogateescape")
    return ctypes.string_at(_needed(address)).decode("utf-8", "surrogateescape")


def host_memory(address: int) -> str:
    """What a message says of an address that is this process's own memory, else nothing."""
    if _serving.caller is not None:
        return ""
    try:
        text = Path("/proc/self/maps").read_text()
    except OSError:
        return ""
    for line in text.splitlines():
        first, last = (int(end, 16) for end in line.split(maxsplit=1)[0].split("-"))
        if first <= address < last:
            return "memory of the host that is not pinned, which kernels do not reach"
    return ""


def host_view(address: int, nbytes: int) -> npt.NDArray[np.uint8]:
    """A host range as an array, in place.

    Raises:
        DriverError: the range is another process's.
    """
    if _serving.caller is not None:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{address:#x} is host memory")
    raw: Any = (ctypes.c_uint8 * nbytes).from_address(_needed(address))
    return np.frombuffer(raw, np.uint8)
