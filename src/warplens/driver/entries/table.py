"""How an entry of the driver API is declared: once, with its names and its C signature."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from warplens.driver.machine import Driver

# What parameters of entries are annotated with. Pointers, handles and device addresses are numbers.
I32: TypeAlias = int
U8: TypeAlias = int
U16: TypeAlias = int
U32: TypeAlias = int
U64: TypeAlias = int
Pointer: TypeAlias = int

C_TYPES: dict[str, tuple[Any, str]] = {
    "I32": (ctypes.c_int32, "int32_t"),
    "U8": (ctypes.c_uint8, "uint8_t"),
    "U16": (ctypes.c_uint16, "uint16_t"),
    "U32": (ctypes.c_uint32, "uint32_t"),
    "U64": (ctypes.c_uint64, "uint64_t"),
    "Pointer": (ctypes.c_uint64, "uint64_t"),
}
Function = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One function of the driver API: its exported name, its parameters' types, what it does."""

    name: str
    types: tuple[str, ...]
    function: Function

    def call(self, driver: Driver, *arguments: int) -> int:
        """Does it; gives the CUresult."""
        try:
            with driver.lock:
                self.function(driver, *arguments)
        except (EOFError, ConnectionError):
            raise  # the caller's process is gone
        except BaseException as error:
            return driver.failed(self.name, error)
        return 0


ENTRIES: dict[str, Entry] = {}


def entry(*names: str) -> Callable[[Function], Function]:
    """Declares a function as these entries; its annotations are the C parameters' types."""

    def declare(function: Function) -> Function:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        types = tuple(str(parameter.annotation) for parameter in parameters)
        unknown = [kind for kind in types if kind not in C_TYPES]
        assert not unknown, (names, unknown)
        for name in names:
            assert name not in ENTRIES, name
            ENTRIES[name] = Entry(name=name, types=types, function=function)
        return function

    return declare
