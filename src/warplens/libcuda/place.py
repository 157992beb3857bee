"""Puts the C library in place: from then on this process's `libcuda.so.1` is the simulated one."""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warplens.driver.entries import served
from warplens.driver.entries.table import C_TYPES, Entry
from warplens.driver.machine import Driver
from warplens.errors import ToolchainError, Unsupported
from warplens.libcuda.build import SONAME, build, placed
from warplens.libcuda.header import driver_api
from warplens.libcuda.lookup import lookups
from warplens.libcuda.shipped import shipped_api, shipped_library
from warplens.libcuda.source import DEINITIALIZED, library_source


class _PythonFunctions(ctypes.Structure):
    """Python's C interface as the library takes it."""

    _fields_ = tuple(
        (name, ctypes.c_void_p) for name in ("ensure", "release", "fetch", "restore")
    )


def python_functions() -> ctypes.Structure:
    """What a C library needs to call into Python, whatever its caller holds."""
    interface = ctypes.pythonapi
    return _PythonFunctions(*(
        ctypes.cast(function, ctypes.c_void_p).value
        for function in (
            interface.PyGILState_Ensure, interface.PyGILState_Release,
            interface.PyErr_Fetch, interface.PyErr_Restore,
        )
    ))  # fmt: skip


class _InPlace:
    """The library of this process; the driver behind it is made when it is first needed."""

    def __init__(self, make: Callable[[], Driver]) -> None:
        self.make = make
        self.started: Driver | None = None
        self._lock = threading.Lock()
        known = shipped_api()
        api = known or driver_api()
        entries = {**served(), **lookups(api, self._address_of)}
        signatures = {name: entry.types for name, entry in entries.items()}
        if known is not None:
            self.path = placed(shipped_library())
        else:
            self.path = build(library_source(api.names, signatures))
        # Some programs look for the file, so it stays for as long as the process.
        atexit.register(_remove, self.path.parent, os.getpid())
        self.library = ctypes.CDLL(str(self.path), mode=ctypes.RTLD_GLOBAL)
        self._callbacks = [self._callback(entry) for entry in entries.values()]
        self._connect()

    def driver(self) -> Driver:
        """The driver, made now if nobody needed it before."""
        with self._lock:
            if self.started is None:
                self.started = self.make()
            return self.started

    def _address_of(self, name: str) -> int:
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value or 0

    def _callback(self, entry: Entry) -> Any:
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *(C_TYPES[kind][0] for kind in entry.types))
        call = entry.call

        def callback(*arguments: int) -> int:
            return call(self.started or self.driver(), *arguments)

        return prototype(callback)

    def _connect(self) -> None:
        pointers = [ctypes.cast(one, ctypes.c_void_p).value for one in self._callbacks]
        table = (ctypes.c_void_p * len(pointers))(*pointers)
        self.library.warplens_connect(ctypes.byref(python_functions()), table)

    def disconnect(self) -> None:
        """Lets later calls fail: Python is going away."""
        self.library.warplens_disconnect(DEINITIALIZED)


def _remove(folder: Path, process: int) -> None:
    """Removes the library's folder, unless this is a child that another process made by fork."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


_in_place: _InPlace | None = None


def put_in_place(make: Callable[[], Driver]) -> None:
    """Makes the simulated `libcuda.so.1` this process's, once.

    Args:
        make: gives the driver when it is first needed.

    Raises:
        ToolchainError: another libcuda is loaded already, or the library cannot be built.
    """
    global _in_place
    if _in_place is not None:
        return
    if not sys.platform.startswith("linux"):
        raise Unsupported("the simulated driver's C library is for Linux")
    _refuse_other_driver()
    _in_place = _InPlace(make)
    atexit.register(_in_place.disconnect)


def is_in_place() -> bool:
    """Whether this process's `libcuda.so.1` is the simulated one."""
    return _in_place is not None


def driver() -> Driver:
    """The driver of this process."""
    assert _in_place is not None
    return _in_place.driver()


def prefer(make: Callable[[], Driver]) -> bool:
    """Says which driver is made when one is needed; False if there is one already."""
    assert _in_place is not None
    if _in_place.started is not None:
        return False
    _in_place.make = make
    return True


def path() -> Path:
    """The library's file."""
    assert _in_place is not None
    return _in_place.path


def library() -> ctypes.CDLL:
    """The C library of this process."""
    assert _in_place is not None
    return _in_place.library


def _refuse_other_driver() -> None:
    try:
        ctypes.CDLL(SONAME, mode=os.RTLD_NOLOAD | ctypes.RTLD_LOCAL)
    except OSError:
        return
    raise ToolchainError(
        f"another {SONAME} is loaded in this process already; a driver is never replaced",
        hint="Put the simulated one in place before anything uses CUDA: `warplens run script.py`, "
        "or `import warplens.cuda` as the first import.",
    )
