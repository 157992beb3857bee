"""Entries into compiled code: from Python with NumPy arrays, and from C by address."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from warplens.compiled import build
from warplens.compiled.values import BOOL, FLOAT, INT, NotCompilable, Record, Tuple, Type, array_of

P = ParamSpec("P")
R = TypeVar("R")
_RESULTS = 8  # slots that a result may take
_Entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
_array_of = functools.lru_cache(maxsize=None)(array_of)


def kind_of(x: Any) -> Type:
    """The compiled type of a Python argument."""
    if isinstance(x, np.ndarray):
        if not x.flags.c_contiguous:
            raise NotCompilable("arrays must be C-contiguous")
        return _array_of(x.dtype, x.ndim)
    if isinstance(x, np.void):
        return Record(x.dtype)
    if isinstance(x, tuple):
        return Tuple(tuple(kind_of(item) for item in x), getattr(x, "_fields", ()))
    if isinstance(x, (bool, np.bool_)):
        return BOOL
    if isinstance(x, (int, np.integer)):
        return INT
    if isinstance(x, (float, np.floating)):
        return FLOAT
    raise NotCompilable(f"arguments of type {type(x).__name__} are not supported")


def _pack(x: Any, slots: list[int]) -> None:
    if isinstance(x, np.ndarray):
        slots.append(x.__array_interface__["data"][0])
        slots.extend(x.shape)
    elif isinstance(x, np.void):
        slots.append(x.__array_interface__["data"][0])
    elif isinstance(x, tuple):
        for item in x:
            _pack(item, slots)
    elif isinstance(x, (float, np.floating)):
        slots.append(_bits(float(x)))
    else:
        slots.append(int(x))


def _bits(number: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def _result(code: int, slots: Any) -> Any:
    """The result that an entry left in its block."""
    items: list[Any] = []
    for i in range(code & 0xFF):
        kind = build.RESULTS[code >> 8 + 2 * i & 3]
        raw = slots[i]
        if kind == FLOAT:
            items.append(struct.unpack("<d", struct.pack("<q", raw))[0])
        else:
            items.append(bool(raw) if kind == BOOL else raw)
    return tuple(items) if len(items) > 1 else (items[0] if items else None)


class Function(Generic[P, R]):
    """A function that is compiled when it is first called; `py_func` is the Python one."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.py_func = function
        self._entries: dict[tuple[Type, ...], Any] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the machine code for the types of the arguments."""
        if kwargs:
            raise NotCompilable("keyword arguments in a call of a compiled function")
        return self.prepared(*args, **kwargs)()

    def prepared(self, *args: P.args, **_: P.kwargs) -> Callable[[], R]:
        """A call with these arguments, to be made as often as wanted: arrays are not looked at
        again, so they must live on."""
        kinds = tuple(kind_of(arg) for arg in args)
        found = self._entries.get(kinds)
        if found is None:
            with build.lock:  # threads that start together compile it once
                found = self._entries.get(kinds) or _Entry(self._address(kinds))
                self._entries[kinds] = found
        entry = found
        slots: list[int] = []
        for arg in args:
            _pack(arg, slots)
        block = (ctypes.c_int64 * (len(slots) + 8))(*slots)
        address, begin = ctypes.addressof(block), (ctypes.c_int64 * _RESULTS)(*block[:_RESULTS])

        def call() -> R:
            result: R = _result(entry(address), block)
            ctypes.memmove(block, begin, ctypes.sizeof(begin))  # the result stood there
            return result

        return call

    def _address(self, kinds: tuple[Type, ...]) -> int:
        key = build.key_of(self.py_func, kinds)
        return build.load(key, lambda: build.block_entry(self.py_func, kinds))


class CFunction:
    """A function that C code calls, compiled when its address is first asked for."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self.py_func = function
        self.signature = signature
        self.__doc__ = function.__doc__

    @functools.cached_property
    def address(self) -> int:
        """Where its machine code is."""
        key = build.key_of(self.py_func, self.signature)
        return build.load(key, lambda: build.c_entry(self.py_func, self.signature))
