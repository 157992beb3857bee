"""Puts the C library in place: from then on this process's `libcuda.so.1` is the simulated one."""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

from warplens.driver.entries import served
from warplens.driver.entries.table import C_TYPES, Entry
from warplens.driver.machine import Driver
from warplens.errors import ToolchainError, Unsupported
from warplens.libcuda.build import SONAME, build
from warplens.libcuda.header import driver_api
from warplens.libcuda.lookup import lookups
from warplens.libcuda.source import DEINITIALIZED, NOT_INITIALIZED, library_source


class _PythonFunctions(ctypes.Structure):
    """Python's C interface as the library takes it."""

    _fields_ = tuple(
        (name, ctypes.c_void_p) for name in ("ensure", "release", "fetch", "restore")
    )


class _InPlace:
    """The library of this process and the driver that it calls."""

    def __init__(self) -> None:
        self.driver: Driver | None = None
        api = driver_api()
        entries = {**served(), **lookups(api, self._address_of)}
        signatures = {name: entry.types for name, entry in entries.items()}
        path = build(library_source(api.names, signatures))
        try:
            self.library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        finally:
            shutil.rmtree(path.parent, ignore_errors=True)
        self._callbacks = [self._callback(entry) for entry in entries.values()]

    def _address_of(self, name: str) -> int:
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value or 0

    def _callback(self, entry: Entry) -> Any:
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *(C_TYPES[kind][0] for kind in entry.types))
        call = entry.call

        def callback(*arguments: int) -> int:
            driver = self.driver
            return NOT_INITIALIZED if driver is None else call(driver, *arguments)

        return prototype(callback)

    def connect(self, driver: Driver) -> None:
        """Serves calls by this driver."""
        self.driver = driver
        interface = ctypes.pythonapi
        functions = _PythonFunctions(*(
            ctypes.cast(function, ctypes.c_void_p).value
            for function in (
                interface.PyGILState_Ensure, interface.PyGILState_Release,
                interface.PyErr_Fetch, interface.PyErr_Restore,
            )
        ))  # fmt: skip
        pointers = [ctypes.cast(one, ctypes.c_void_p).value for one in self._callbacks]
        table = (ctypes.c_void_p * len(pointers))(*pointers)
        self.library.warplens_connect(ctypes.byref(functions), table)

    def disconnect(self) -> None:
        """Lets later calls fail: Python is going away."""
        self.library.warplens_disconnect(DEINITIALIZED)
        self.driver = None


_in_place: _InPlace | None = None


def put_in_place(make: Callable[[], Driver]) -> Driver:
    """Makes the simulated driver this process's, once; gives it.

    Raises:
        ToolchainError: another libcuda is loaded already, or the library cannot be built.
    """
    global _in_place
    if _in_place is None:
        if not sys.platform.startswith("linux"):
            raise Unsupported("the simulated driver's C library is for Linux")
        _refuse_other_driver()
        _in_place = _InPlace()
        atexit.register(_in_place.disconnect)
    if _in_place.driver is None:
        _in_place.connect(make())
    assert _in_place.driver is not None
    return _in_place.driver


def driver_in_place() -> Driver | None:
    """The driver of this process, if one was put in place."""
    return None if _in_place is None else _in_place.driver


def library_in_place() -> ctypes.CDLL | None:
    """The C library of this process, if it was put in place."""
    return None if _in_place is None else _in_place.library


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
