"""Text under construction: one module, and within it one function at a time."""

from __future__ import annotations

import re

_LANES_OF_MASK = re.compile(r"^( *)(%[\w.]+) = bitcast i32 (%[\w.]+) to <32 x i1>$", re.MULTILINE)
_BITS = "<" + ", ".join(f"i32 {1 << i}" for i in range(32)) + ">"


def _spread_masks(text: str) -> str:
    """Masks turned into lanes by comparing every lane with its bit.

    Without registers for masks LLVM does it lane by lane, in 130 instructions.
    """
    v = "<32 x i32>"
    return _LANES_OF_MASK.sub(
        rf"""\1\2.one = insertelement {v} poison, i32 \3, i64 0
\1\2.all = shufflevector {v} \2.one, {v} poison, {v} zeroinitializer
\1\2.bit = and {v} \2.all, {_BITS}
\1\2 = icmp eq {v} \2.bit, {_BITS}""",
        text,
    )


class ModuleText:
    """Collects functions, helpers and declarations of one LLVM module."""

    def __init__(self, has_masks: bool = True) -> None:
        self._has_masks = has_masks  # whether the processor has registers for masks
        self.helpers: dict[str, str] = {}
        self._functions: list[str] = []
        self._lines: list[str] = []
        self._counter = 0

    def line(self, text: str) -> None:
        """Appends one instruction to the function being written."""
        self._lines.append(text)

    def name(self) -> str:
        """A fresh SSA name."""
        self._counter += 1
        return f"%t{self._counter}"

    def label(self, stem: str) -> str:
        """A fresh block label, without its `%`."""
        self._counter += 1
        return f"{stem}{self._counter}"

    def start(self, label: str) -> None:
        """Opens a basic block."""
        self._lines.append(f"{label}:")

    def helper(self, name: str, ir: str) -> None:
        """Adds a module-level function, declaration or global once per name."""
        self.helpers.setdefault(name, ir)

    def take_lines(self) -> list[str]:
        """The lines since the last call, for the caller to place."""
        lines, self._lines = self._lines, []
        return lines

    def add_function(self, text: str) -> None:
        """Adds a finished function."""
        self._functions.append(text)

    def text(self) -> str:
        """The module.

        With a frame pointer the stack can be aligned to whole vectors after registers were chosen;
        without it spilled vectors would lie across cache lines. Calls that code generation makes by
        itself (conversions that the host lacks) go through a table of addresses: llvmlite's memory
        manager reserves that beforehand, but not the stubs of direct calls.
        """
        attributes = 'attributes #0 = { "frame-pointer"="all" }'
        calls = '!9 = !{i32 7, !"RtLibUseGOT", i32 1}\n!llvm.module.flags = !{!9}'
        weights = '!1 = !{!"branch_weights", i32 2000, i32 1}'
        past = "!3 = !{i32 1}"  # of stores past the caches
        notes = (attributes, "!0 = !{}", weights, past, calls)
        parts = (*self.helpers.values(), *self._functions, *notes)
        text = "\n".join((*parts, ""))
        return text if self._has_masks else _spread_masks(text)
