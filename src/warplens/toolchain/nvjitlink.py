"""Links and compiles PTX with nvJitLink, NVIDIA's library from pip; needs no toolkit, no driver."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from warplens.errors import CompileError, ToolchainError
from warplens.toolchain import packages
from warplens.toolchain.cache import default_cache, key_of

PACKAGE = "nvidia-nvjitlink"
CUBIN, PTX, LTO_IR, FATBIN, OBJECT, LIBRARY = 1, 2, 3, 4, 5, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkInput:
    """One piece of what is linked; `kind` is one of the numbers above."""

    kind: int
    data: bytes
    name: str = "input"


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    try:
        path = packages.find_binary(PACKAGE, "libnvJitLink.so.13*", "nvJitLink_130_0.dll")
        return ctypes.CDLL(str(path))
    except (ToolchainError, OSError) as error:
        raise ToolchainError(
            "PTX is compiled by nvJitLink, which is not installed",
            hint=f'pip install "warplens[python]", or "{PACKAGE}>=13.0,<14"',
        ) from error


def link(
    inputs: Sequence[LinkInput], *, sm: int, features: str = "", options: Sequence[str] = ()
) -> bytes:
    """One cubin of all inputs; `features` is the letter of an architecture such as sm_90a.

    Raises:
        CompileError: nvJitLink refused them; `.log` holds its messages.
        ToolchainError: nvJitLink is not installed.
    """
    words = (f"-arch=sm_{sm}{features}", *options)
    key = key_of("nvjitlink", packages.version_of(PACKAGE), *words, *(
        part for one in inputs for part in (str(one.kind), one.name, one.data)
    ))  # fmt: skip
    cache = default_cache()
    found = cache.get("cubin", key)
    if found is None:
        found = _linked(inputs, words)
        cache.put("cubin", key, found)
    return found


def _linked(inputs: Sequence[LinkInput], words: Sequence[str]) -> bytes:
    library, handle = _library(), ctypes.c_void_p()
    spelled = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    if library.nvJitLinkCreate(ctypes.byref(handle), len(words), spelled):
        raise ToolchainError(f"nvJitLink does not take {' '.join(words)}")
    try:
        for one in inputs:
            data = one.data if one.kind != PTX else one.data.rstrip(b"\0") + b"\0"
            status = library.nvJitLinkAddData(
                handle, one.kind, data, ctypes.c_size_t(len(data)), one.name.encode()
            )
            _check(library, handle, status, one.name)
        _check(library, handle, library.nvJitLinkComplete(handle), "the link")
        return _read(library, handle, "LinkedCubin")
    finally:
        library.nvJitLinkDestroy(ctypes.byref(handle))


def _check(library: ctypes.CDLL, handle: ctypes.c_void_p, status: int, what: str) -> None:
    if status:
        log = _read(library, handle, "ErrorLog").rstrip(b"\0").decode("utf-8", "replace")
        raise CompileError(f"nvJitLink refuses {what} (status {status}):\n{log}", log=log)


def _read(library: Any, handle: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    if getattr(library, f"nvJitLinkGet{what}Size")(handle, ctypes.byref(size)) or not size.value:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvJitLinkGet{what}")(handle, buffer)
    return buffer.raw
