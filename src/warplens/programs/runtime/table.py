"""How a function of the runtime is declared: once, with its names and its C signature."""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from warplens.driver.entries.table import I32, U8, U16, U32, U64, Pointer

__all__ = ["ENTRIES", "F32", "I32", "U8", "U16", "U32", "U64", "Data", "Dim", "Extent",
           "Location", "Pitched", "Pointer", "RuntimeEntry", "entry"]  # fmt: skip

# Structures that are passed by value stand for as many numbers.
F32: TypeAlias = float
Dim: TypeAlias = int
Extent: TypeAlias = int
Pitched: TypeAlias = int
Location: TypeAlias = int
Data: TypeAlias = bytes  # what follows the words of a message; no parameter in C

# The type in C, and how it stands in a message's words.
SHAPES: dict[str, tuple[str, str]] = {
    "I32": ("int32_t", "i4x"),
    "U8": ("uint8_t", "B7x"),
    "U16": ("uint16_t", "H6x"),
    "U32": ("uint32_t", "I4x"),
    "U64": ("uint64_t", "Q"),
    "I64": ("int64_t", "q"),
    "Pointer": ("uint64_t", "Q"),
    "F32": ("float", "f4x"),
    "F64": ("double", "d"),
    "Dim": ("struct wl_dim", "3I4x"),
    "Extent": ("struct wl_extent", "3Q"),
    "Pitched": ("struct wl_pitched", "4Q"),
    "Location": ("struct wl_location", "2i"),
}
STRUCTURES = """\
struct wl_dim { uint32_t x, y, z; };
struct wl_extent { uint64_t width, height, depth; };
struct wl_pitched { uint64_t pointer, pitch, width, height; };
struct wl_location { int32_t type, id; };
"""
Function = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeEntry:
    """One function: its exported name, its parameters' types, what it does.

    Attributes:
        kind: "work" is done in a stream's order, a call that "waits" returns after it and tells of
            kernels' faults, "plain" calls do neither.
        is_internal: part of the protocol, not exported.
        written: the stub is written by hand.
    """

    name: str
    types: tuple[str, ...]
    function: Function
    kind: str = "waits"
    takes_data: bool = False
    is_internal: bool = False
    written: bool = False

    @property
    def layout(self) -> struct.Struct:
        """The message's words."""
        return struct.Struct("<" + "".join(SHAPES[kind][1] for kind in self.types))


ENTRIES: dict[str, RuntimeEntry] = {}


def entry(
    *names: str, kind: str = "waits", internal: bool = False, written: bool = False
) -> Callable[[Function], Function]:
    """Declares a function as these entries; its annotations are the C parameters' types."""

    def declare(function: Function) -> Function:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        # A structure stands at its first number; the others are annotated `int`.
        types = [str(one.annotation) for one in parameters if str(one.annotation) != "int"]
        takes_data = bool(types) and types[-1] == "Data"
        if takes_data:
            types.pop()
        add(*names, types=tuple(types), function=function, kind=kind, takes_data=takes_data,
            is_internal=internal, written=written)  # fmt: skip
        return function

    return declare


def add(*names: str, **options: Any) -> None:
    """Adds entries to the table."""
    unknown = [kind for kind in options["types"] if kind not in SHAPES]
    assert not unknown, (names, unknown)
    for name in names:
        assert name not in ENTRIES, name
        ENTRIES[name] = RuntimeEntry(name=name, **options)
