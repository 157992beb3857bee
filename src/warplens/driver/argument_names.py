"""What the allocations that a kernel was given are called in messages."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

from warplens.driver.modules import Function
from warplens.execute.memory import Segment

# Front-ends add a function: the names of a kernel's machine parameters, empty where it has none.
NAMERS: list[Callable[[Function], Sequence[str]]] = []
_PLAIN = frozenset({"device memory", "managed memory", "pinned memory", "mapped memory"})


def argument_namer(
    function: Function, arguments: Sequence[bytes]
) -> Callable[[Segment], str]:
    """Names an allocation by the launch's argument that points into it; empty if none does.

    What a front-end has named itself keeps its name. The GPU's memory keeps what this returns: it
    must not keep the function alive, whose module keeps the memory.
    """
    held = weakref.ref(function)

    def name(segment: Segment) -> str:
        if segment.name not in _PLAIN:
            return ""
        for index, data in enumerate(arguments):
            for place in range(0, len(data) - 7, 8):
                address = int.from_bytes(data[place : place + 8], "little")
                if segment.base <= address < segment.base + max(segment.size, 1):
                    return _named(held(), index)
        return ""

    return name


def _named(function: Function | None, index: int) -> str:
    for namer in NAMERS:
        names = namer(function) if function is not None else ()
        if index < len(names) and names[index]:
            return f"argument {names[index]}"
    return f"argument {index}"
