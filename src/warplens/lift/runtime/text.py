"""A function's body in LLVM IR under construction: lines, fresh names, blocks."""

from __future__ import annotations

from collections.abc import Sequence


def int_list(values: Sequence[int]) -> str:
    """A constant vector of i32, with its type."""
    return f"<{len(values)} x i32> <" + ", ".join(f"i32 {n}" for n in values) + ">"


class Text:
    """Lines under construction; called with an instruction, it gives the result's name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def __call__(self, text: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """A line without a result."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Opens a block."""
        self.lines.append(f"{name}:")
