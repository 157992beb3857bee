"""A CUDA C++ source and how it is compiled, as plain data that can be compiled in other ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warplens.toolchain.nvrtc import Compiled, compile_source


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUnit:
    """A source and how to compile it."""

    text: str
    name: str
    sm: int
    options: tuple[str, ...]
    include_dirs: tuple[Path, ...]

    def compiled(self, expressions: Sequence[str] = ()) -> Compiled:
        """The cubin and PTX, with the given template instances."""
        return compile_source(
            self.text,
            name=self.name,
            sm=self.sm,
            options=self.options,
            include_dirs=self.include_dirs,
            name_expressions=expressions,
        )

    def with_options(self, options: Sequence[str]) -> SourceUnit:
        """The same source with further options."""
        return replace(self, options=(*self.options, *options))
