"""Source lines of Triton's inline assembly.

Triton writes many loads and stores as inline assembly of several lines. From 3.9 on its compiler
counts the source line on with each of them, so that a load in line 6 is told to be in line 10.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

_INLINE = re.compile(r"// begin inline asm\n.*?// end inline asm", re.DOTALL)
_PLACE = re.compile(r"^[ \t]*\.loc[ \t].*$", re.MULTILINE)


def kept_lines(ptx: str) -> str:
    """PTX in which a piece of inline assembly has one source line: its first."""

    def mended(piece: re.Match[str]) -> str:
        first = _PLACE.search(piece[0])
        return piece[0] if first is None else _PLACE.sub(lambda _: first[0], piece[0])

    return _INLINE.sub(mended, ptx)


def keep_lines() -> None:
    """Makes Triton's compiler do so; kernels that it cached before are compiled again."""
    backend: Any = importlib.import_module("triton.backends.nvidia.compiler").CUDABackend
    make, digest = backend.make_ptx, backend.hash

    def make_ptx(self: Any, *given: Any) -> str:
        return kept_lines(make(self, *given))

    backend.make_ptx = make_ptx
    backend.hash = lambda self: f"{digest(self)}-lines"
