"""Numba functions whose machine code on disk can never be that of other sources.

Numba's own cache looks at one source file's time only, so a function that was compiled against
constants of another module survives a change there, and with it wrong record offsets. Here the
cache's folder carries a digest of all sources that a function's package compiles in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.extending
from numba.core import config as numba_config

from warplens.toolchain.cache import default_cache

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba_config
if getattr(_config, "USE_LLVMLITE_MEMORY_MANAGER", None) is None:
    # All sections of a function in one block: LLVM's own manager may map them more than 2 GiB apart
    # when the address space is full of arrays, and then the process ends. Numba reads this when it
    # first compiles or loads something.
    _config.USE_LLVMLITE_MEMORY_MANAGER = 1
_SHARED = "execute"  # its constants and functions are compiled into those of other packages


@cache
def _folder(package: str) -> str:
    """Where the machine code of a package goes; empty if nothing may be written."""
    directory = default_cache().directory
    if directory is None:
        return ""
    digest = hashlib.sha256(numba.__version__.encode())
    root = Path(__file__).parent
    for path in sorted(p for name in {_SHARED, package} for p in (root / name).glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return str(directory / "numba" / digest.hexdigest()[:20])


@contextmanager
def _own_cache(function: Callable[..., Any]) -> Iterator[bool]:
    folder = _folder(function.__module__.split(".")[1])
    before = _config.CACHE_DIR
    try:
        if folder:
            _config.CACHE_DIR = folder
        yield bool(folder)
    finally:
        _config.CACHE_DIR = before


def njit(**options: Any) -> Callable[[F], F]:
    """`numba.njit` with `cache=True` where there is a cache."""

    def decorate(function: F) -> F:
        with _own_cache(function) as is_cached:
            make: Any = numba.njit
            compiled: F = make(**{**options, "cache": is_cached})(function)
            return compiled

    return decorate


def internal(**options: Any) -> Callable[[F], F]:
    """`njit` for functions that only compiled code calls: no wrappers, much sooner compiled."""
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """`numba.extending.intrinsic`, typed so that its uses need no casts."""
    make: Any = numba.extending.intrinsic
    made: Callable[..., Any] = make(function)
    return made


def cfunc(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.cfunc` with `cache=True` where there is a cache."""

    def decorate(function: Callable[..., Any]) -> Any:
        with _own_cache(function) as is_cached:
            make: Any = numba.cfunc
            return make(signature, **{**options, "cache": is_cached})(function)

    return decorate
