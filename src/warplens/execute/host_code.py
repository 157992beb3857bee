"""Host code that a cubin brings along: it makes tensor maps of a kernel's arguments.

NVIDIA's tile compiler puts an object file for x86-64 into the section `.nv.host`. Its table
`__CUDA_TILEIR_CALLBACKS` names a function for each kernel, which gets the parameters' bytes and
writes maps behind them, as the driver would have it before a launch. Where things stand in the
table was read off such cubins.

It is machine code for this process, so it runs only if the process itself has given the cubin to
the driver, as cuTile does, or if the environment says that such files are trusted. A file that
somebody has sent, and a program that runs in a process of its own, get a refusal.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from warplens.errors import Unsupported
from warplens.lift import jit

ROOM = 4096  # bytes of parameters and what stands behind them
ALLOWED = "WARPLENS_HOST_CODE"  # in the environment: 1 trusts every file
_trusted: set[bytes] = set()  # digests
_TABLE = "__CUDA_TILEIR_CALLBACKS"
_VERSION, _RECORDS, _COUNT = 0, 0x28, 0x30  # in the table
_STRIDE = 0x20  # bytes of a record
_NAME, _FUNCTION = 0, 0x28  # in a record
_PASSED = 512  # bytes that stand for what the driver also passes, and no known code reads
_KIND = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


@dataclass(frozen=True, slots=True)
class HostCode:
    """Functions by the kernel's name; `engine` owns their code."""

    engine: Any
    functions: Mapping[str, Callable[..., int]]

    def changed(self, kernel: str, parameters: bytes, size: int) -> bytes:
        """The parameters with everything that stands behind them."""
        function = self.functions.get(kernel)
        if function is None:
            return parameters
        start = ctypes.create_string_buffer(ROOM + 64)
        place = (ctypes.addressof(start) + 63) // 64 * 64
        ctypes.memmove(place, parameters, len(parameters))
        others = [ctypes.create_string_buffer(_PASSED) for _ in range(3)]
        status = function(*(ctypes.addressof(other) for other in others), place)
        if status != 0:
            raise Unsupported(f"{kernel}: its cubin's host code refuses the arguments ({status})")
        return ctypes.string_at(place, max(size, len(parameters)))


def trust(code: bytes) -> None:
    """From now on this object file may run: its cubin is this process's own."""
    _trusted.add(hashlib.sha256(code).digest())


def is_trusted(code: bytes) -> bool:
    """Whether an object file may run in this process."""
    return os.environ.get(ALLOWED) == "1" or hashlib.sha256(code).digest() in _trusted


def load(code: bytes) -> HostCode:
    """Loads the object file of a section `.nv.host`.

    Raises:
        Unsupported: it is not trusted, none for this processor, or not of the known form.
    """
    if not is_trusted(code):
        raise Unsupported(
            "the cubin brings host code (.nv.host) that would run in this process to make its "
            "tensor maps",
            hint="Run the script that compiles it (`warplens run script.py`), or, if you trust "
                 f"the file, set {ALLOWED}=1.",
        )  # fmt: skip
    if platform.machine() not in ("x86_64", "AMD64") or code[18:20] != b"\x3e\x00":
        raise Unsupported("the cubin's kernels need host code of another processor (.nv.host)")
    engine = jit.load_object(code)
    table = engine.get_global_value_address(_TABLE)
    if not table:
        raise Unsupported(f"the cubin's host code (.nv.host) has no {_TABLE}")

    def word(address: int) -> int:
        return int(struct.unpack("<Q", ctypes.string_at(address, 8))[0])

    functions = {}
    if word(table + _VERSION) & 0xFFFFFFFF != 2 or word(table + _STRIDE) != 0x40:
        raise Unsupported("the cubin's host code (.nv.host) has a form that is not known")
    for n in range(word(table + _COUNT)):
        record = word(table + _RECORDS) + 0x40 * n
        name = ctypes.string_at(word(record + _NAME)).decode()
        if word(record + _FUNCTION):
            functions[name] = _KIND(word(record + _FUNCTION))
    return HostCode(engine, functions)
